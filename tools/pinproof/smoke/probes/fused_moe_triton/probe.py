"""The definition of this probe, and its rungs."""

from __future__ import annotations

from collections.abc import Sequence

from pinproof.smoke.layout import metadata
from pinproof.smoke.probe import CallSite, Probe
from pinproof.smoke.probes.fused_moe_triton import verdicts
from pinproof.smoke.process import Child
from pinproof.smoke.record import Rung, RungResult
from pinproof.smoke.rungs import BIND_TIMEOUT_S, KERNEL_TIMEOUT_S, absent, no_gpu, run_on
from pinproof.smoke.session import Session

FILE = "vllm/model_executor/layers/fused_moe/fused_moe.py"
CHILD = "probes.fused_moe_triton.child"
COMPILE_TIMEOUT_S = 240.0


def run_bind(session: Session, below: Sequence[RungResult]) -> RungResult:
    """The real launcher, with a recorder where the kernel is."""
    child = _anywhere(session, "bind", BIND_TIMEOUT_S)
    return child if isinstance(child, RungResult) else verdicts.bind(child)


def run_compile(session: Session, below: Sequence[RungResult]) -> RungResult:
    """The kernel as the launcher specialises it, built by Triton for GPUs that need not be here."""
    child = _anywhere(session, "compile", COMPILE_TIMEOUT_S)
    return child if isinstance(child, RungResult) else verdicts.compiled(child)


def _anywhere(session: Session, rung: Rung, timeout_s: float) -> Child | RungResult:
    """Run the rung's child with or without a GPU; where there is one, vLLM wants its compiled parts."""
    compiled = session.gpu is not None
    return absent(session, rung, FILE) or run_on(
        session, rung, f"{CHILD}.{rung}", compiled=compiled, timeout_s=timeout_s,
        more={} if compiled else metadata(session.tree),
    )  # fmt: skip


def run_kernel(session: Session, below: Sequence[RungResult]) -> RungResult:
    """vLLM's fused experts on the GPU against a float64 reference."""
    child = absent(session, "kernel", FILE) or no_gpu(session, "kernel") or run_on(
        session, "kernel", f"{CHILD}.kernel", compiled=True, timeout_s=KERNEL_TIMEOUT_S
    )  # fmt: skip
    return child if isinstance(child, RungResult) else verdicts.kernel(child)


PROBE = Probe(
    name="fused_moe_triton",
    about="the launch of vLLM's fused MoE Triton kernel in bf16; any CUDA GPU compares its numbers",
    calls=(CallSite(FILE, "invoke_fused_moe_triton_kernel", "fused_moe_kernel"),),
    rungs={"bind": run_bind, "compile": run_compile, "kernel": run_kernel},
    imports=("torch", "vllm.model_executor.layers.fused_moe.fused_moe"),
)
