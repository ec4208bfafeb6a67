"""What the rungs of every probe share: skips, the GPU they need, and running a child on a laid-out tree."""

from __future__ import annotations

from collections.abc import Mapping

from pinproof.errors import CannotCheck
from pinproof.smoke.process import Child
from pinproof.smoke.record import Rung, RungResult, scrub
from pinproof.smoke.session import Session
from pinproof.tree import Tree

LEAST_FREE_GIB = 4

BIND_TIMEOUT_S = 300.0
KERNEL_TIMEOUT_S = 240.0
MODEL_TIMEOUT_S = 540.0


def skipped(rung: Rung, reason: str, clear: str | None = None) -> RungResult:
    """A rung that cannot be run here."""
    reason = scrub(reason)
    return RungResult(rung=rung, outcome="skip", summary=reason, reason=reason, clear=clear)


def absent(session: Session, rung: Rung, *paths: str) -> RungResult | None:
    """The skip for a tree that has none of these files, None when it has one."""
    if all(session.tree.read(path) is None for path in paths):
        return skipped(rung, f"this tree has no {' and no '.join(paths)}")
    return None


def no_gpu(session: Session, rung: Rung) -> RungResult | None:
    """The skip for a machine without enough GPUs, None when there are enough."""
    if session.gpu is None:
        driver = session.machine.get("driver")
        torch = session.machine["versions"].get("torch")
        if torch is None:
            return skipped(rung, "the interpreter has no torch", "give --python with torch and vLLM")
        return skipped(rung, f"no CUDA GPU: torch {torch} sees none" + (
            f", although driver {driver} is loaded (too old for this torch?)" if driver else ""))  # fmt: skip
    if session.gpu["count"] < session.nproc:
        return skipped(
            rung, f"--nproc {session.nproc} asks for more than the {session.gpu['count']} GPU here"
        )
    if session.gpu["free_gib"] < LEAST_FREE_GIB:
        return skipped(
            rung,
            f"too little GPU memory: {session.gpu['free_gib']} GiB free, {LEAST_FREE_GIB} needed",
        )
    return None


def run_on(
    session: Session,
    rung: Rung,
    module: str,
    *,
    compiled: bool,
    timeout_s: float,
    nproc: int = 1,
    tree: Tree | None = None,
    more: Mapping[str, bytes] | None = None,
) -> Child | RungResult:
    """Lay the tree out and run one child on it.

    Args:
        session: this run.
        rung: for the skip's name.
        module: the child's module below pinproof.smoke.
        compiled: whether it needs vLLM's compiled parts.
        timeout_s: unless the user gave a limit.
        nproc: processes.
        tree: the session's by default.
        more: files by path that a tree which was not built lacks.

    Returns:
        The child, or the skip when the tree cannot be laid out.
    """
    try:
        laid = session.lay(tree or session.tree, compiled=compiled, more=more)
    except CannotCheck as error:
        return skipped(rung, error.message, error.hint)
    return session.run(module, laid, timeout_s=timeout_s, nproc=nproc)
