"""The files of an sdist, read without unpacking it to disk."""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from pinproof.errors import InputError

# No source is written in files larger than this, nor in more files; an archive that claims so is hostile.
_LARGEST = 8 * 1024 * 1024
_MOST = 60_000
_WHOLE = 512 * 1024 * 1024
# What says something about the project: code, what it requires, what it is built on.
_READ = (".py", ".pyi", ".toml", ".cfg", ".txt", ".cmake", ".sh", ".yaml", ".yml", ".cpp", ".cu", ".h", ".cc")


class SdistFiles:
    """An sdist as pinproof.tree.Files, without the one folder that all its members lie in.

    Files that hold no code and no requirement (pictures, models, documents) are left out.

    Args:
        path: the .tar.gz.

    Raises:
        InputError: it is damaged, or claims more than a source archive can hold.
    """

    def __init__(self, path: Path) -> None:
        self._files: dict[str, bytes] = {}
        self._bytes = 0
        self._members = 0
        try:
            with tarfile.open(path, "r:gz") as archive:
                for member in archive:
                    self._take(archive, member)
        except (tarfile.TarError, EOFError, OSError, ValueError, zlib.error) as error:
            raise InputError(f"{path.name} is not a source archive: {error}") from error

    def _take(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        self._members += 1
        parts = member.name.split("/")[1:]
        if self._members > _MOST:
            raise InputError(f"the archive holds more than {_MOST} files; not read")
        if not member.isreg() or not parts or ".." in parts or not _is_read(parts[-1]):
            return
        self._bytes += member.size
        if self._bytes > _WHOLE:
            raise InputError(f"{member.name[:80]}: more than {_WHOLE >> 20} MiB of source; not read")
        if member.size > _LARGEST:
            return
        stream = archive.extractfile(member)
        if stream is not None:
            self._files["/".join(parts)] = stream.read()

    def read(self, path: str) -> bytes | None:
        """One file's bytes, None when the archive has none of this path."""
        return self._files.get(path)

    def paths(self, under: str = "", suffix: str = "") -> Iterator[str]:
        """The files below `under` whose names end with `suffix`, sorted."""
        prefix = under.rstrip("/") + "/" if under else ""
        yield from sorted(p for p in self._files if p.startswith(prefix) and p.endswith(suffix))


def _is_read(name: str) -> bool:
    return name.endswith(_READ) or name == "PKG-INFO" or "ockerfile" in name
