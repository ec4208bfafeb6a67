"""Which of the touched files a hook is for, by pre-commit's rules."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pinproof.errors import InputError


def matching(spec: dict[str, Any], settings: dict[str, Any], root: Path, paths: Sequence[str]) -> list[str]:
    """The paths a hook would be given (pre-commit: run.Classifier).

    Args:
        spec: the hook's keys, with those that its repository declares.
        settings: the config's top level, with its own `files` and `exclude`.
        root: the folder that the paths are relative to; file types are read from there.
        paths: the touched files; those that do not exist match nothing.

    Raises:
        InputError: a `files` or `exclude` is not a regular expression, or a type is unknown to identify.
    """
    from identify.identify import tags_from_path

    found = [path for path in paths if os.path.lexists(root / path)]
    for rules in (settings, spec):
        include, exclude = _regex(rules.get("files") or ""), _regex(rules.get("exclude") or "^$")
        found = [path for path in found if include.search(path) and not exclude.search(path)]
    every, some = set(spec.get("types") or ["file"]), set(spec.get("types_or") or ())
    none = set(spec.get("exclude_types") or ())

    def fits(path: str) -> bool:
        tags = tags_from_path(str(root / path))
        return tags >= every and (not some or bool(tags & some)) and not tags & none

    return [path for path in found if fits(path)]


def _regex(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InputError(
            f".pre-commit-config.yaml: {pattern!r} is not a regular expression: {error}"
        ) from error
