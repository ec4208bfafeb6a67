"""Rung bind: does the real forward's call arrive at the pinned wrapper, with the right values? No GPU."""

from __future__ import annotations

import importlib
import math
import os
import sys
import types
from typing import Any

from ....child.report import Job, describe, run, say, step, watching

STAND_INS = (
    "DeepGEMM's compiled extension (a recorder)",
    "the symmetric buffer",
    "Triton's prepare_megamoe_inputs",
    "the SM100 guard",
    "transform_sf_into_required_layout (a torch version)",
    "the first-launch barrier",
)


def buffer_on_cpu(torch: Any, experts: Any) -> Any:
    """What the forward and the wrapper read of a symmetric buffer."""
    empty = torch.empty(experts.TOKENS, 1)
    return types.SimpleNamespace(
        x=empty, x_sf=empty, topk_idx=empty, topk_weights=empty, buffer=empty,
        handle=types.SimpleNamespace(buffer_ptrs=[0]), group=types.SimpleNamespace(rank=lambda: 0),
        num_max_tokens_per_rank=experts.TOKENS, num_experts=experts.EXPERTS, num_topk=experts.TOP_K,
        num_ring_tokens=experts.TOKENS,
    )  # fmt: skip


def prepare(experts: Any, torch: Any) -> tuple[Any, Any, Any]:
    """The recorder, the library and a callable that runs the real forward."""
    os.environ.setdefault("CUDA_HOME", os.devnull)  # the library only wants it named
    name = experts.library_name()
    recorder = experts.Recorder(f"{name}._C")
    for part in ("_C", "_C.locality_domain"):  # from vLLM 0.33 on the library imports from below it, too
        sys.modules[f"{name}.{part}"] = recorder
    library = importlib.import_module(name)
    module, cls = experts.experts_class()
    experts.step_past_guard(cls)
    if hasattr(module, "current_platform"):  # the shared class asks it where its weights go
        module.current_platform = types.SimpleNamespace(device_type="cpu")
    instance = experts.build(cls, experts.random_weights(), 0, "cpu")
    module.prepare_megamoe_inputs = experts.nothing
    instance.synchronize_first_launch = instance._synchronize_first_launch = experts.nothing
    instance.get_symm_buffer = lambda: buffer_on_cpu(torch, experts)
    tokens = experts.random_tokens(1)
    return recorder, library, lambda: experts.forward(instance, tokens)


def findings(experts: Any, recorder: Any, library: Any) -> list[str]:
    """What is wrong with the values that arrived; empty when all is right."""
    arrived = recorder.arrived
    if arrived is None:
        return ["the forward returned, but the wrapper never called the extension"]
    names = experts.scale_names(getattr(library, experts.WRAPPER))
    if names is None:
        return [f"{experts.WRAPPER} declares no pair of tanh scales that is known here"]
    wrong = []
    for name, wanted in zip(names, (experts.BETA, experts.LINEAR_BETA), strict=True):
        value = arrived[name]
        if value != wanted:
            wrong.append(f"{name} arrived as {value!r}, not {wanted}")
        elif not (math.isfinite(value) and value > 0):
            wrong.append(f"{name} must be finite and positive, not {value!r}")
        elif value not in [part for part in recorder.positional if isinstance(part, float)]:
            wrong.append(f"{name} was not passed on to the extension")
    if arrived.get("activation") != "situ":
        wrong.append(f"activation arrived as {arrived.get('activation')!r}, not 'situ'")
    if arrived.get("activation_clamp") is not None:
        wrong.append("activation_clamp must be absent with situ")
    return wrong


def main(job: Job) -> None:
    """Import the tree's model, run its forward, report what arrived or where it broke."""
    with step("importing torch"):
        import torch
    with step("importing vllm and the model"):
        from . import experts

        _, cls = experts.experts_class()
    if cls is None:
        say("absent", what=f"{experts.OWN_CLASS} and no {experts.SHARED_CLASS}")
        return
    with step("running the real forward"):
        recorder, library, forward = prepare(experts, torch)
        say("library", name=library.__name__, version=getattr(library, "__version__", None))
        try:
            with watching(job):
                forward()
        except Exception as error:
            say("raised", where=experts.where(error), error=describe(error))
            return
    arrived = recorder.arrived or {}
    plain = {k: v for k, v in arrived.items() if v is None or isinstance(v, (bool, int, float, str))}
    say("arrived", values=plain, wrong=findings(experts, recorder, library), stand_ins=STAND_INS)


if __name__ == "__main__":
    run(main)
