"""The files of an sdist, without unpacking it."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from pinproof.errors import InputError
from pinproof.sdistfiles import SdistFiles

from tests.index_server import sdist


def files_of(tmp_path: Path, members: dict[str, bytes] | list[tuple[tarfile.TarInfo, bytes]]) -> SdistFiles:
    path = tmp_path / "p.tar.gz"
    path.write_bytes(sdist(members))
    return SdistFiles(path)


def test_code_and_requirements_are_read_and_the_rest_is_left_out(tmp_path: Path) -> None:
    names = ["a/__init__.py", "pyproject.toml", "PKG-INFO", "docker/Dockerfile.npu", "logo.png", "README.md"]
    found = files_of(tmp_path, {f"p-1.0/{name}": name.encode() for name in names})
    assert list(found.paths()) == ["PKG-INFO", "a/__init__.py", "docker/Dockerfile.npu", "pyproject.toml"]
    assert found.read("a/__init__.py") == b"a/__init__.py"
    assert list(found.paths("a", ".py")) == ["a/__init__.py"]
    assert found.read("README.md") is None


def test_links_and_members_that_climb_out_are_not_read(tmp_path: Path) -> None:
    link = tarfile.TarInfo("p-1.0/link.py")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    found = files_of(tmp_path, [(link, b""), (tarfile.TarInfo("p-1.0/../../x.py"), b"1")])
    assert list(found.paths()) == []


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.tar.gz"
    path.write_bytes(b"not one")
    with pytest.raises(InputError, match="not a source archive"):
        SdistFiles(path)
