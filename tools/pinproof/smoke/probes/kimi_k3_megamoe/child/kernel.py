"""Rung kernel: the real experts with the real library on a CUDA GPU, one process a GPU."""

from __future__ import annotations

import os
from typing import Any

import torch

from ....child.report import Job, describe, rank, run, say, step, watching
from . import experts, numerics, reference

BETAS = (experts.BETA, experts.LINEAR_BETA)
SEED = 1


def machine() -> dict[str, Any]:
    """What the record says of this GPU and its software; no host name."""
    import triton

    return {
        "gpu": torch.cuda.get_device_name(),
        "capability": list(torch.cuda.get_device_capability()),
        "memory_gib": round(torch.cuda.get_device_properties(0).total_memory / 2**30, 1),
        "gpus": torch.cuda.device_count(), "torch": torch.__version__, "cuda": torch.version.cuda,
        "triton": triton.__version__,
    }  # fmt: skip


def start_groups(nproc: int) -> None:
    """vLLM's own process groups, expert parallel over all ranks, on the loopback address."""
    from vllm.config import ParallelConfig, VllmConfig, set_current_vllm_config
    from vllm.distributed import init_distributed_environment, initialize_model_parallel

    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "0")
    torch.cuda.set_device(rank())
    config = VllmConfig(
        parallel_config=ParallelConfig(tensor_parallel_size=nproc, enable_expert_parallel=nproc > 1)
    )
    with set_current_vllm_config(config):
        init_distributed_environment(nproc, rank(), "env://", rank())
        initialize_model_parallel(nproc)


def local_slice(weights: dict[str, Any], nproc: int) -> tuple[dict[str, Any], int]:
    """This rank's experts and the index of the first."""
    count = experts.EXPERTS // nproc
    first = rank() * count
    return {name: part[first : first + count] for name, part in weights.items()}, first


def build(cls: Any, weights: dict[str, Any], first: int) -> Any:
    """The experts on this GPU; the shared class refuses another architecture when it is made."""
    try:
        return experts.build(cls, weights, first, "cuda")
    except Exception as error:
        if experts.where(error) != "guard":
            raise
        say("stepped past", where="guard", error=describe(error))
    experts.step_past_guard(cls)
    return experts.build(cls, weights, first, "cuda")


def attempt(instance: Any, library: Any, tokens: tuple[Any, Any, Any]) -> tuple[Any, Exception | None]:
    """Run the real forward; step past a refusal of this architecture before the kernel, and say so."""
    error: Exception | None = None
    for _ in range(3):
        try:
            out = experts.forward(instance, tokens)
            torch.cuda.synchronize()
            return out, None
        except Exception as caught:
            error = caught
        place = experts.where(error)
        if place == "guard":
            experts.step_past_guard(instance)
        elif place == "scales":
            library.transform_sf_into_required_layout = experts.pack_scales
        else:
            break
        say("stepped past", where=place, error=describe(error))
    return None, error


def check_parts(tokens: tuple[Any, Any, Any], weights: dict[str, Any], staged: dict[str, Any]) -> None:
    """What can be compared on any GPU: the staged inputs, SituAndMul, the reference itself."""
    there = {name: part.cuda() for name, part in weights.items()}
    x, shares, ids = (part.cuda() for part in tokens)

    def forward(beta: float, linear_beta: float | None) -> Any:
        return reference.experts_forward(x, shares, ids, there, beta, linear_beta)

    say(
        "parts",
        staging=numerics.staging_differences(staged, tokens),
        situ_and_mul=numerics.activation_error(*BETAS, "cuda"),
        situ_and_mul_tolerance=numerics.ACTIVATION_TOLERANCE,
        loop64=numerics.loop_error(weights, tokens, BETAS, "cuda"),
        loop64_tolerance=numerics.LOOP_TOLERANCE,
        wrong_scales=numerics.wrong_scales(forward, BETAS),
        kernel_tolerance=numerics.KERNEL_TOLERANCE,
    )


def compare(out: Any, tokens: tuple[Any, Any, Any], weights: dict[str, Any]) -> None:
    """The kernel's output against the reference, and against the reference with wrong scales."""
    there = {name: part.cuda() for name, part in weights.items()}
    x, shares, ids = (part.cuda() for part in tokens)

    def error(beta: float, linear_beta: float | None) -> float:
        return reference.relative_error(
            out, reference.experts_forward(x, shares, ids, there, beta, linear_beta)
        )

    beta, linear_beta = BETAS
    wrong = {
        "swapped": error(linear_beta, beta),
        "beta lost": error(1.0, linear_beta),
        "linear beta lost": error(beta, None),
    }
    finite = bool(torch.isfinite(out).all())
    say("ran", finite=finite, error=error(*BETAS), tolerance=numerics.KERNEL_TOLERANCE, against_wrong=wrong)


def main(job: Job) -> None:
    """One forward of the real experts on this rank's tokens, then the comparisons."""
    if not torch.cuda.is_available():
        say(
            "no cuda",
            reason="torch.cuda.is_available() is false: no GPU, or the driver is older than torch's CUDA",
        )
        return
    nproc = int(job["nproc"])
    say("machine", nproc=nproc, **machine())
    with step("importing vllm and the model"):
        _, cls = experts.experts_class()
    if cls is None:
        say("absent", what=f"{experts.OWN_CLASS} and no {experts.SHARED_CLASS}")
        return
    with step("starting the process group"):
        start_groups(nproc)
    from vllm.utils.deep_gemm import _import_deep_gemm

    library = _import_deep_gemm()
    if library is None:
        say(
            "crashed",
            error={"type": "ImportError", "message": "no usable deep_gemm", "frames": []},
            missing="deep_gemm",
        )
        return
    say("library", name=library.__name__, version=getattr(library, "__version__", None))
    weights, tokens = experts.random_weights(), experts.random_tokens(SEED + rank())
    local, first = local_slice(weights, nproc)
    instance = build(cls, local, first)
    with step("running the real forward"), watching(job):
        out, error = attempt(instance, library, tuple(part.cuda() for part in tokens))
    if error is not None:
        place = experts.where(error)
        say("raised", where=place, error=describe(error))
        if place == "elsewhere":
            return  # after a GPU fault nothing more can be asked of this process
    else:
        compare(out, tokens, weights)
    with step("comparing the parts with the reference"):
        buffer = instance.get_symm_buffer()
        staged = {
            name: getattr(buffer, name)[: experts.TOKENS]
            for name in ("x", "x_sf", "topk_idx", "topk_weights")
        }
        check_parts(tokens, weights, staged)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    run(main)
