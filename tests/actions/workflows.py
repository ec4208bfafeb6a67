"""The workflows and actions of this repository, read as data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import REPO

WORKFLOWS = sorted((REPO / ".github/workflows").glob("*.yml"))
ACTIONS = sorted((REPO / ".github/actions").glob("*/action.yml"))


def load(path: Path) -> dict[str, Any]:
    """The file as YAML 1.2 reads it: `on` is a word, not a truth value."""
    found: dict[Any, Any] = yaml.safe_load(path.read_text("utf-8"))
    return {"on" if key is True else str(key): value for key, value in found.items()}


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    """The jobs of a workflow by id."""
    found: dict[str, dict[str, Any]] = load(path)["jobs"]
    return found


def steps(path: Path) -> Iterator[dict[str, Any]]:
    """Every step of a workflow or a composite action."""
    content = load(path)
    if "runs" in content:
        yield from content["runs"]["steps"]
    for job in content.get("jobs", {}).values():
        yield from job["steps"]
