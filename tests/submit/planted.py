"""Gate results of the shapes the gates give, for a small tree: contract and compile really run on it."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256

from pinproof.gate import GateName, GateResult
from pinproof.mainjob import run_main_job
from pinproof.patchset.patchfile import Patch
from pinproof.submit.evidence import record
from pinproof.submit.keys import sides
from pinproof.submit.store import Store, save
from pinproof.tree import Tree

from tests.submit.conftest import MODEL, NOW

HOOKS = [
    {"hook": "ruff-check", "stage": "pre-commit", "outcome": "pass", "reason": None, "duration_s": 0.1,
     "note": "ruff 0.14.0 from PyPI instead of its repository", "output": "", "modified": False},
    {"hook": "clang-format", "stage": "pre-commit", "outcome": "skip", "reason": "no touched file is for it",
     "note": None, "output": "", "duration_s": 0.0, "modified": False},
    {"hook": "mypy-3.12", "stage": "manual", "outcome": "pass", "reason": None, "note": None,
     "output": "Success", "duration_s": 9.0, "modified": False},
]  # fmt: skip
HIT = {
    "number": 42844, "kind": "pr", "state": "merged", "title": "[Kernel] DeepSeek-V4 MegaMoE", "author": "x",
    "created": "2026-07-20", "head": "c" * 40, "score": 31.0, "verdict": "related",
    "reason": "same function, other call", "signals": {"names": 0.4}, "diff_seen": True, "declared": False,
    "named_in_issue": False, "because": None, "decided_by": None, "blocks": False,
}  # fmt: skip


_JOBS: dict[bytes, dict[GateName, GateResult]] = {}


def planted(after: dict[str, str]) -> dict[GateName, GateResult]:
    """pre-commit, duplicates and smoke results that pass; `after` are the hashes of the patched files."""
    return {
        "pre-commit": GateResult(
            gate="pre-commit",
            outcome="pass",
            summary="2 hooks passed; 1 have no touched file",
            duration_s=12.0,
            details={
                "hooks": HOOKS,
                "files": [MODEL],
                "replaced": 1,
                "config_sha256": "0" * 64,
                "diff": "",
                "fixed": [],
            },
        ),
        "duplicates": GateResult(
            gate="duplicates",
            outcome="pass",
            duration_s=3.0,
            summary="no pull request does this; 1204 open, 310 merged, 95 closed looked at",
            details={
                "repo": "vllm-project/vllm",
                "patch": "0001",
                "patch_sha256": "0" * 64,
                "change": "0" * 40,
                "date": "2026-11-30",
                "compared": 24,
                "hits": [HIT],
                "gaps": [],
                "requests": 40,
                "graphql_cost": 60,
                "authenticated": True,
                "queries": [
                    {
                        "purpose": "keywords",
                        "command": "gh pr list --search 'fp8_fp4_mega_moe'",
                        "count": 2,
                        "note": None,
                    }
                ],
                "inspected": {
                    "open": 1204,
                    "open_total": 1204,
                    "merged": 310,
                    "closed_unmerged": 95,
                    "since": "2026-07-16T00:00:00Z",
                    "issues": 12,
                    "cut_file_lists": 0,
                },
            },
        ),
        "smoke": GateResult(
            gate="smoke",
            outcome="pass",
            summary="bind pass, kernel skip; reached bind",
            duration_s=21.0,
            details={
                "schema": "pinproof.smoke/2",
                "at": "2026-11-30T11:00:00Z",
                "tree": "vllm 0.28.0",
                "tree_kind": "git",
                "files": after,
                "patch": {"name": "0001-kimi-k3-megamoe-situ-kwargs.patch", "sha256": "0" * 64},
                "probe": "kimi_k3_megamoe",
                "exercised": [{"file": MODEL, "first": 482, "last": 492, "scope": "f", "calls": ["g"]}],
                "versions": {"python": "3.12.3", "torch": "2.13.0"},
                "gpu": None,
                "nproc": 1,
                "asked": "auto",
                "reached": "bind",
                "numerics": "not run",
                "sm100_numerics": "not run",
                "warm": None,
                "duration_s": 21.0,
                "rungs": [
                    {
                        "rung": "bind",
                        "outcome": "pass",
                        "summary": "the call arrives",
                        "reason": None,
                        "clear": None,
                        "duration_s": 9.0,
                        "details": {},
                        "log_sha256": "0" * 64,
                    },
                    {
                        "rung": "kernel",
                        "outcome": "skip",
                        "summary": "no CUDA GPU",
                        "reason": "no CUDA GPU",
                        "clear": None,
                        "duration_s": 0.0,
                        "details": {},
                        "log_sha256": None,
                    },
                ],
            },
        ),
    }


def proved(patch: Patch, tree: Tree) -> dict[GateName, GateResult]:
    """All five gates' results: contract and compile run once a tree, the others are planted."""
    key = patch.raw + (tree.read(MODEL) or b"")
    if key not in _JOBS:
        job = run_main_job(patch, tree, series=[patch], dry_run=True)
        _JOBS[key] = {"contract": job.contract, "compile": job.compile}
    after = {path: sha256(data or b"").hexdigest() for path, (_, data) in sides(patch, tree).items()}
    return {**_JOBS[key], **planted(after)}


def store_all(store: Store, patch: Patch, tree: Tree, now: datetime = NOW) -> None:
    """Record all five gates as passed."""
    for result in proved(patch, tree).values():
        save(store, patch, record(patch, tree, result, now))
