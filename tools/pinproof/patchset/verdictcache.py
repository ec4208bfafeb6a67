"""Verdicts on releases, remembered: neither a wheel nor a patch's bytes ever change."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from pinproof import stamp
from pinproof.patchset.patchfile import Patch
from pinproof.paths import atomic_write, cache_dir
from pinproof.tree import Tree

if TYPE_CHECKING:
    from pinproof.patchset.verdict import Verdict


def remembered(patch: Patch, tree: Tree, work: Callable[[], Verdict]) -> Verdict:
    """The verdict of a patch on a release's wheel, worked out once per patch, wheel and code.

    Args:
        patch: the patch.
        tree: any tree; only a release as the index holds it is remembered, nothing on disk and no overlay.
        work: works the verdict out.

    An unknown verdict is never kept: what was out of reach may be there next time.
    """
    wheel = getattr(tree.files, "sha256", None)
    if wheel is None:
        return work()
    from pinproof.patchset.verdict import Verdict

    path = cache_dir("verdicts") / f"{_key(patch, tree, wheel)}.json"
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(path.read_bytes(), type=Verdict)
    verdict = work()
    if verdict.verdict != "unknown":
        with contextlib.suppress(OSError):  # a full or read-only cache costs time, not the answer
            atomic_write(path, msgspec.json.encode(verdict))
    return verdict


def _key(patch: Patch, tree: Tree, wheel: str) -> str:
    parts = (stamp.content(), patch.name, patch.sha256, tree.name, wheel)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
