"""Where each patch stands: over the releases, upstream, and in its records."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from pinproof.errors import PinproofError
from pinproof.gate import GATES
from pinproof.git import git_env
from pinproof.patchset.patchfile import Patch
from pinproof.submit.keys import patch_hash
from pinproof.submit.store import Store, load_evidence
from pinproof.tree import Tree

_GH_TIMEOUT_S = 30


class PatchStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One patch: its Upstream-Status, what upstream says now, a verdict per release, its records.

    `upstream` is None where there is nothing to ask; `verdicts` maps a release to the verdict, or to
    why it was not available; `evidence` maps a gate to its outcome, `edited` when the patch changed since.
    """

    patch: str
    stated: str
    upstream: str | None
    verdicts: dict[str, str]
    evidence: dict[str, str]


def patch_status(patch: Patch, releases: Sequence[Tree], store: Store, now: datetime) -> PatchStatus:
    """Everything about one patch; what cannot be reached says so in its place.

    Args:
        patch: the patch.
        releases: the trees to judge it on.
        store: where its records are.
        now: the time, timezone-aware.
    """
    stated = patch.field("Upstream-Status") or "not stated"
    return PatchStatus(
        patch=patch.name, stated=stated, upstream=_upstream(stated),
        verdicts={tree.name: _verdict(patch, tree) for tree in releases},
        evidence={gate: found for gate in GATES if (found := _evidence(patch, gate, store, now))},
    )  # fmt: skip


def _verdict(patch: Patch, tree: Tree) -> str:
    from pinproof.patchset.verdict import judge

    try:
        return judge(patch, tree).verdict
    except PinproofError as error:
        return f"not known: {error.message}"


def _evidence(patch: Patch, gate: Any, store: Store, now: datetime) -> str | None:
    try:
        made = load_evidence(store, patch, gate, now)
    except PinproofError:
        return "refused"
    if made is None:
        return None
    return made.outcome if made.keys.patch_sha256 == patch_hash(patch) else "edited"


def _upstream(stated: str) -> str | None:
    """What GitHub says about the pull request that the header names."""
    match = re.fullmatch(r"Submitted \[(https://[^\s\]]+)\]", stated)
    if match is None:
        return None
    if shutil.which("gh") is None:
        return "not asked: gh is not installed"
    command = ["gh", "pr", "view", match[1], "--json", "state,isDraft,reviewDecision,mergedAt"]
    try:
        done = subprocess.run(
            command, env=git_env({"GH_PROMPT_DISABLED": "1", "NO_COLOR": "1"}), capture_output=True,
            stdin=subprocess.DEVNULL, timeout=_GH_TIMEOUT_S, check=False,
        )  # fmt: skip
        return _said(json.loads(done.stdout)) if done.returncode == 0 else "not known: gh pr view failed"
    except (subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
        return "not known: gh gave no answer that can be read"


def _said(answer: dict[str, Any]) -> str:
    if answer["mergedAt"]:
        return f"merged {answer['mergedAt'][:10]}"
    parts = [answer["state"].lower(), "draft" if answer["isDraft"] else "", answer["reviewDecision"] or ""]
    return ", ".join(part.lower().replace("_", " ") for part in parts if part)
