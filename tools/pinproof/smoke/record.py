"""The smoke record: what was run, on what, how far it got; it is GateResult.details of gate smoke."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Literal

import msgspec

from pinproof.gate import Outcome

Rung = Literal["bind", "compile", "kernel", "model"]
RUNGS: tuple[Rung, ...] = ("bind", "compile", "kernel", "model")
"""Lowest first. A rung that needs no probe goes to the front, and into `ladder.COMMON`."""

SCHEMA = "pinproof.smoke/2"

Numerics = Literal["not run", "pass", "fail"]

_PATH = re.compile(r"(?<![\w./])/(?:[^/\s'\":]+/)+(?=[^/\s'\":])")


class Statement(msgspec.Struct, frozen=True):
    """A statement that a patch changes, as it stands in the tree under test.

    `first` and `last` are its lines, one-based; for a compound statement those of its header. `scope` is
    the dotted name of the class and function around it, empty at module level; `calls` what it calls, as
    written.
    """

    file: str
    first: int
    last: int
    scope: str
    calls: tuple[str, ...] = ()

    def __str__(self) -> str:
        what = f"{self.calls[0]}()" if self.calls else "no call"
        return f"{self.file}:{self.first} ({what}{f' in {self.scope}' if self.scope else ''})"


class RungResult(msgspec.Struct, frozen=True, kw_only=True):
    """One rung's outcome.

    `summary` is one line for people, `reason` says why it was skipped or could not be run, `clear` is
    what to do about it; `details` are the rung's measurements; `log_sha256` is the hash of what the
    child printed, None where there was no child.
    """

    rung: Rung
    outcome: Outcome
    summary: str
    reason: str | None = None
    clear: str | None = None
    duration_s: float = 0.0
    details: dict[str, Any] = msgspec.field(default_factory=dict)
    log_sha256: str | None = None


class SmokeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Everything needed to judge a smoke run later; no host name, no path outside the tree.

    `tree` is `vllm 0.28.0` or the folder's own name, `files` the sha256 of the files under test,
    `patch` the patch's file name and sha256 where one was given, `probe` what was run, `exercised` the
    statements that the patch changes and that this run went through. `versions` holds python, vllm (of
    the interpreter), torch, triton, deep_gemm (an external one), deep_gemm_library (what the tree's
    wrapper says it is), deep_gemm_commit (what the tree pins), cuda, driver, nvcc; None is "not
    there". `reached` is the highest rung that passed. `numerics` says whether the
    kernel's numbers were compared with a reference, `sm100_numerics` the same for a kernel that runs on
    SM100 only, None for one that runs elsewhere too. `warm` says how many modules were
    compiled ahead of the first rung, and in how many seconds.
    """

    schema: str = SCHEMA
    at: str
    tree: str
    tree_kind: str
    files: dict[str, str]
    patch: dict[str, str] | None
    probe: str
    exercised: tuple[Statement, ...]
    versions: dict[str, str | None]
    gpu: dict[str, Any] | None
    nproc: int
    asked: str
    reached: Rung | None
    numerics: Numerics
    sm100_numerics: Numerics | None
    warm: dict[str, Any] | None
    rungs: tuple[RungResult, ...]
    duration_s: float


def sha256(data: bytes) -> str:
    """The hex digest of some bytes."""
    return hashlib.sha256(data).hexdigest()


def scrub(value: Any) -> Any:
    """`value` with the folders of absolute paths replaced by `…/`, in every string it holds."""
    if isinstance(value, str):
        return _PATH.sub("…/", value)
    if isinstance(value, dict):
        return {key: scrub(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [scrub(part) for part in value]
    return value
