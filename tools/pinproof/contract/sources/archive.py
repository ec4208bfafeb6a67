"""The files of an archive on disk, a source archive or a wheel, read without unpacking it."""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from pinproof.errors import InputError

# No API is written in files larger than this, nor in more files; an archive that claims so is hostile.
_LARGEST = 8 * 1024 * 1024
_MOST = 20_000
_WHOLE = 256 * 1024 * 1024


class SourceArchive:
    """An sdist as pinproof.tree.Files; the folder that all its members lie in (and `src`) is left out.

    Raises:
        InputError: it is damaged, or claims more than a source archive can hold.
    """

    def __init__(self, path: Path) -> None:
        self._files: dict[str, bytes] = {}
        self._bytes = 0
        try:
            with tarfile.open(path, "r:gz") as archive:
                for member in archive:
                    self._take(archive, member)
        except (tarfile.TarError, EOFError, OSError, ValueError, zlib.error) as error:
            raise InputError(f"{path.name} is not a source archive: {error}") from error

    def _take(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        parts = member.name.split("/")[1:]
        if parts[:1] in (["src"], ["python"]):
            parts = parts[1:]
        if not member.isreg() or not parts or not member.name.endswith((".py", ".pyi")) or ".." in parts:
            return
        self._bytes += member.size
        if member.size > _LARGEST or len(self._files) > _MOST or self._bytes > _WHOLE:
            raise InputError(f"{member.name[:80]} is larger than any source file; not read")
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


class WheelArchive:
    """A wheel on disk as pinproof.tree.Files; a member is read when it is asked for.

    Raises:
        InputError: it is damaged.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError, RuntimeError) as error:
            raise InputError(f"{path.name} is not a wheel: {error}") from error
        self._sizes = {info.filename: info.file_size for info in self._zip.infolist() if not info.is_dir()}

    def read(self, path: str) -> bytes | None:
        """One member's bytes, None when there is none of this path.

        Raises:
            InputError: it is damaged, or larger than any source file.
        """
        if path not in self._sizes:
            return None
        if self._sizes[path] > _LARGEST:
            raise InputError(f"{path[:80]} is larger than any source file; not read")
        try:
            return self._zip.read(path)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError) as error:
            # RuntimeError: encrypted, or packed in a way that zipfile does not know
            raise InputError(f"{path[:80]} is damaged: {error}") from error

    def paths(self, under: str = "", suffix: str = "") -> Iterator[str]:
        """The members below `under` whose names end with `suffix`, sorted."""
        prefix = under.rstrip("/") + "/" if under else ""
        yield from sorted(p for p in self._sizes if p.startswith(prefix) and p.endswith(suffix))
