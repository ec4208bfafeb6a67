"""Which files a hook is for is decided exactly as pre-commit decides it."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pinproof.errors import InputError
from pinproof.gates.precommit.select import matching
from pre_commit.commands.run import Classifier

FILES = {
    "vllm/a.py": b"x = 1\n",
    "vllm/b.pyi": b"x: int\n",
    "csrc/k.cu": b"int x;\n",
    "docs/index.md": b"# t\n",
    ".github/workflows/w.yml": b"on: push\n",
    "run": b"#!/usr/bin/env bash\n",
    "logo.png": b"\x89PNG\r\n\x1a\n\0",
    "empty": b"",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("files")
    for name, data in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    (root / "run").chmod(0o755)
    (root / "link").symlink_to("vllm/a.py")
    return root


def by_pre_commit(spec: dict[str, Any], config: dict[str, Any], root: Path, paths: list[str]) -> list[str]:
    before = Path.cwd()
    os.chdir(root)
    try:
        classifier = Classifier.from_config(paths, config.get("files", ""), config.get("exclude", "^$"))
        keys = {"files": "", "exclude": "^$", "types": ["file"], "types_or": [], "exclude_types": []}
        return list(classifier.filenames_for_hook(SimpleNamespace(**{**keys, **spec})))
    finally:
        os.chdir(before)


_TAGS = st.sampled_from(["file", "text", "python", "pyi", "c++", "cuda", "yaml", "shell", "png"])
_TYPES = st.lists(_TAGS, min_size=1, max_size=2)
_REGEX = st.sampled_from([r"\.py$", "^vllm/", "(^|/)index", "^$", "^.github/workflows/", "a|k"])
_PATHS = {"files": _REGEX, "exclude": _REGEX}
_HOOK = {**_PATHS, "types": _TYPES, "types_or": _TYPES, "exclude_types": _TYPES}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(spec=st.fixed_dictionaries({}, optional=_HOOK), config=st.fixed_dictionaries({}, optional=_PATHS))
def test_it_picks_what_pre_commit_picks(root: Path, spec: dict[str, Any], config: dict[str, Any]) -> None:
    paths = [*FILES, "link", "gone.py"]
    assert matching(spec, config, root, paths) == by_pre_commit(spec, config, root, paths)


def test_a_pattern_that_is_no_regular_expression_is_refused(root: Path) -> None:
    with pytest.raises(InputError, match="is not a regular expression"):
        matching({"files": "("}, {}, root, ["vllm/a.py"])
