"""Real vLLM source trees for the check gate, kept in the cache so that hook and mypy caches stay warm."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Sequence

import pytest
from pinproof.errors import CannotCheck
from pinproof.fetch import fetch_release
from pinproof.patchset.patchfile import Patch
from pinproof.paths import cache_dir
from pinproof.releases import download_sdist
from pinproof.tree import Tree, open_tree


def real_tree(version: str, without: Sequence[Patch] = ()) -> Tree:
    """A release as a git tree, fetched once; the test is skipped where the registry is out of reach."""
    name = "-without-".join([version, *(patch.number for patch in without)])
    target = cache_dir("test-trees") / name
    try:
        return open_tree(target) if target.exists() else fetch_release("vllm", version, target, without)
    except CannotCheck as error:
        pytest.skip(f"needs the package index: {error.message}")


def member(version: str, name: str) -> bytes:
    """One file of a release's sdist, without unpacking the rest."""
    try:
        archive = download_sdist("vllm", version)
    except CannotCheck as error:
        pytest.skip(f"needs the package index: {error.message}")
    with tarfile.open(archive) as tar:
        for item in tar:
            if re.fullmatch(rf"[^/]+/{re.escape(name)}", item.name):
                stream = tar.extractfile(item)
                assert stream is not None
                return stream.read()
    raise AssertionError(f"vllm {version} has no {name}")
