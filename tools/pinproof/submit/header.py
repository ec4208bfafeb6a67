"""Write into a patch's header where it was submitted; no other byte of the file changes."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

from pinproof.errors import Refused
from pinproof.patchset.patchfile import LARGEST, Patch, parse_patch
from pinproof.paths import atomic_write, read_regular
from pinproof.submit.keys import patch_hash, split_raw


def record_submission(source: Path, patch: Patch, url: str, today: date) -> Patch:
    """Set `Upstream-Status: Submitted [url]` and `Last-Update:` in the patch file.

    Evidence stays fresh: these two fields are no part of what it hangs on.

    Args:
        source: the patch file.
        patch: the patch that was sent.
        url: the pull request.
        today: the date to write.

    Returns:
        The patch as it is in the file now.

    Raises:
        Refused: the file is no longer the patch that was sent; it is left alone.
    """
    now = parse_patch(read_regular(source, LARGEST), source.name)
    if patch_hash(now) != patch_hash(patch):
        raise Refused(
            f"{source.name} was edited since it was sent; it was left alone",
            hint=f"write into it: Upstream-Status: Submitted [{url}]",
        )
    before, fields, after = split_raw(now.raw)
    fields = _set(fields, "Upstream-Status", f"Submitted [{url}]")
    fields = _set(fields, "Last-Update", today.isoformat())
    sent = parse_patch(before + fields + after, source.name)
    if sent.raw != now.raw:
        atomic_write(source, sent.raw)
    return sent


def _set(fields: bytes, name: str, value: str) -> bytes:
    line = f"{name}: {value}".encode()
    return re.sub(rf"^{name}:.*$".encode(), lambda _: line, fields, flags=re.MULTILINE)
