"""Keep what a command has proven about a patch: one record a gate, beside the patches."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from pinproof.console import note
from pinproof.errors import InputError
from pinproof.gate import GateResult
from pinproof.patchset.patchfile import Patch
from pinproof.patchset.series import patch_dir, read_series
from pinproof.tree import Tree


def keep_results(
    patch: Patch, tree: Tree | None, results: Sequence[GateResult], patches: Path | None
) -> None:
    """Record the results of gates that ran; a patch that is not in the series has no records.

    Args:
        patch: the patch.
        tree: the tree the gates looked at; None for duplicates.
        results: what the gates returned.
        patches: the patch folder the user gave, if any.
    """
    from pinproof.submit.store import keep

    try:
        folder = patch_dir(patches)
        mine = patch.name in read_series(folder) and (folder / patch.name).read_bytes() == patch.raw
    except (InputError, OSError):
        return
    if not mine:
        return
    for result in results:
        if result.outcome == "not-run":
            continue
        try:
            kept = keep(patch, tree, result, folder)
            place = os.path.relpath(kept.path)
            note(f"recorded {place}" if kept.written else f"kept {place}: {kept.why}")
        except OSError as error:  # an installed pinproof's own patches may belong to root
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            note(f"not recorded: {error.strerror}: {error.filename}")
