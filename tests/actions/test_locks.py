"""The locked requirements hold everything that pyproject.toml asks for, each with its hashes."""

from __future__ import annotations

import re
import sys

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.conftest import REPO

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((REPO / "pyproject.toml").read_text("utf-8"))["project"]
WANTED = {
    "run": PROJECT["dependencies"],
    "dev": [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]],
}


def locked(name: str) -> dict[str, list[Version]]:
    """The versions that a lock pins, by project; several where they differ by Python or platform."""
    found: dict[str, list[Version]] = {}
    for match in re.finditer(
        r"^([\w.-]+)==(\S+)", (REPO / f"tools/ci/requirements/{name}.txt").read_text(), re.MULTILINE
    ):
        found.setdefault(canonicalize_name(match[1]), []).append(Version(match[2]))
    return found


@pytest.mark.parametrize("name", ["run", "dev"])
def test_the_lock_satisfies_the_project(name: str) -> None:
    versions = locked(name)
    for text in WANTED[name]:
        wanted = Requirement(text)
        mine = versions.get(canonicalize_name(wanted.name), [])
        assert any(version in wanted.specifier for version in mine), f"{text}: run tools/ci/lock.sh"


@pytest.mark.parametrize("name", ["run", "dev"])
def test_every_pin_has_hashes_and_names_no_host(name: str) -> None:
    text = (REPO / f"tools/ci/requirements/{name}.txt").read_text()
    blocks = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert len(blocks) > 10
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", block) for block in blocks)
    assert "://" not in text


def test_both_locks_agree() -> None:
    run, dev = locked("run"), locked("dev")
    assert {name: versions for name, versions in dev.items() if name in run} == run
