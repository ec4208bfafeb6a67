"""A whole wheel, downloaded once to hold it against the hash that the package index gives."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pinproof.errors import InputError
from pinproof.index.trouble import TIMEOUT_S
from pinproof.paths import cache_dir
from pinproof.progress import progress

if TYPE_CHECKING:
    import requests

# The largest wheel on PyPI that pins matter for, vLLM's own, has 0.6 GB.
_LARGEST = 4 << 30


def is_asked_for() -> bool:
    """Whether every wheel is to be verified whole: `--verify`, or PINPROOF_VERIFY=1."""
    return os.environ.get("PINPROOF_VERIFY", "") not in ("", "0")


@contextlib.contextmanager
def verified_wheel(
    session: requests.Session, url: str, filename: str, sha256: str
) -> Iterator[zipfile.ZipFile]:
    """The wheel as a zip, after its bytes were found to have this hash; nothing is kept of it.

    Raises:
        InputError: the bytes have another hash, or are no zip.
        requests.RequestException: the download fails.
    """
    with tempfile.TemporaryDirectory(dir=cache_dir("wheels")) as folder:
        path = Path(folder) / "wheel"
        found = _download(session, url, filename, path)
        if found != sha256:
            raise InputError(f"{filename} has sha256 {found}, the index says {sha256}: not used")
        try:
            with zipfile.ZipFile(path) as opened:
                yield opened
        except zipfile.BadZipFile as error:
            raise InputError(f"{filename} is damaged: {error}") from error


def _download(session: requests.Session, url: str, filename: str, path: Path) -> str:
    from pinproof.index.bounds import deadline, time_for

    seen, size = hashlib.sha256(), 0
    with session.get(url, stream=True, timeout=TIMEOUT_S, headers={"Accept-Encoding": "identity"}) as reply:
        reply.raise_for_status()
        length = reply.headers.get("Content-Length", "")
        total = int(length) if length.isascii() and length.isdigit() else None
        with (
            path.open("wb") as out,
            progress(f"verifying {filename}", total, unit="bytes") as bar,
            deadline(time_for(min(total or _LARGEST, _LARGEST)), filename),
        ):
            for chunk in reply.iter_content(1 << 18):
                size += len(chunk)
                if size > _LARGEST:
                    raise InputError(f"{filename} is larger than {_LARGEST >> 30} GiB: not used")
                seen.update(chunk)
                out.write(chunk)
                bar.advance(len(chunk))
    return seen.hexdigest()
