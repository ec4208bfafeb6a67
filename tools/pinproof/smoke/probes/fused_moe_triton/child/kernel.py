"""Rung kernel: vLLM's fused experts on this GPU against the float64 reference."""

from __future__ import annotations

from typing import Any

import torch

from ....child.report import Job, describe, run, say, step, watching
from . import launch, reference

CASES = (2, 48, 200)
"""Numbers of tokens: so few that tokens are not sorted by expert, some, and more than one block of them."""

TOLERANCE = 2.0**-7
"""bf16 keeps 8 bits: one rounding is at most 2 ** -9. Gate and up are rounded, their product is rounded, each
expert's output is rounded and the sum is: about five, so 2 ** -9 * sqrt(5) at most in the rms; doubled, and
to a power of two."""


def random_case(tokens: int, seed: int) -> dict[str, Any]:
    """Inputs on the CPU, the same on every machine: bf16, of unit size through both products."""
    generator = torch.Generator().manual_seed(seed)

    def noise(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator)

    scores, ids = torch.rand(tokens, launch.EXPERTS, generator=generator).topk(launch.TOP_K, dim=-1)
    return {
        "x": noise(tokens, launch.HIDDEN).bfloat16(),
        "w1": (noise(launch.EXPERTS, 2 * launch.INTERMEDIATE, launch.HIDDEN) / launch.HIDDEN**0.5).bfloat16(),
        "w2": (
            noise(launch.EXPERTS, launch.HIDDEN, launch.INTERMEDIATE) / launch.INTERMEDIATE**0.5
        ).bfloat16(),
        "weights": scores / scores.sum(-1, keepdim=True),
        "ids": ids.int(),
    }


def planted(case: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The same case with a mistake in it: each must be further from the output than the tolerance."""
    gate, up = case["w1"].chunk(2, dim=1)
    return {
        "gate and up swapped": {**case, "w1": torch.cat((up, gate), dim=1)},
        "routing weights lost": {**case, "weights": torch.full_like(case["weights"], 1 / launch.TOP_K)},
        "the next expert's weights": {**case, "ids": (case["ids"] + 1) % launch.EXPERTS},
    }


class Counted:
    """The real kernel, counting its launches: a fallback to another path must not pass for it."""

    def __init__(self, kernel: Any) -> None:
        self.kernel, self.count = kernel, 0

    def __getitem__(self, grid: Any) -> Any:
        self.count += 1
        return self.kernel[grid]


def forward(module: Any, case: dict[str, Any]) -> Any:
    """vLLM's public entry for fused experts without quantisation."""
    return module.fused_experts(
        hidden_states=case["x"].clone(), w1=case["w1"], w2=case["w2"], topk_weights=case["weights"],
        topk_ids=case["ids"],
    )  # fmt: skip


def compare(module: Any, tokens: int) -> None:
    """One case, and how far the output is from each planted mistake."""
    case = {name: part.cuda() for name, part in random_case(tokens, seed=tokens).items()}
    counted = Counted(getattr(module, launch.KERNEL))
    setattr(module, launch.KERNEL, counted)
    try:
        out = forward(module, case)
        torch.cuda.synchronize()
    finally:
        setattr(module, launch.KERNEL, counted.kernel)
    say(
        "ran",
        tokens=tokens,
        launches=counted.count,
        finite=bool(torch.isfinite(out).all()),
        error=reference.relative_error(out, reference.experts_forward(**case)),
        tolerance=TOLERANCE,
        against_wrong={
            name: reference.relative_error(out, reference.experts_forward(**wrong))
            for name, wrong in planted(case).items()
        },
    )


def main(job: Job) -> None:
    """Import the tree's module and run every case."""
    if not torch.cuda.is_available():
        say("no cuda", reason="torch.cuda.is_available() is false")
        return
    import triton

    say("machine", capability=list(torch.cuda.get_device_capability()), triton=triton.__version__)
    with step("importing vllm's fused MoE"):
        module = launch.load()
    if module is None:
        say("absent", what=f"{launch.LAUNCHER} and {launch.KERNEL} in {launch.MODULE}")
        return
    with step("running the fused experts"):
        try:
            from vllm.config import VllmConfig, set_current_vllm_config

            with set_current_vllm_config(VllmConfig()), watching(job):
                for tokens in CASES:
                    compare(module, tokens)
        except Exception as error:
            say("raised", where=launch.where(error), error=describe(error))


if __name__ == "__main__":
    run(main)
