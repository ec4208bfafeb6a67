"""What must not leave this machine in a record: its paths, tokens, and megabytes of output."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pinproof.submit.records import Log
from pinproof.tree import Tree

_T = TypeVar("_T")

_HEAD, _TAIL = 2500, 1500

# GitHub's token prefixes (classic, OAuth, app, refresh, fine-grained), bearer headers, and the
# credentials of a URL.
_TOKEN = re.compile(
    r"\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,}|hf_[A-Za-z0-9]{20,})"
    r"|(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{16,}"
    r"|(?<=://)[^/\s@]{1,200}(?=@)"
)


def without_tokens(text: str) -> str:
    """`text` with access tokens and the credentials of URLs replaced."""
    return _TOKEN.sub("[removed]", text)


def scrubbed(value: _T, tree: Tree | None) -> _T:
    """A JSON-able value with this machine's paths named by what they are, and tokens removed."""
    places = _places(tree)

    def text(raw: str) -> str:
        for place, name in places:
            raw = re.sub(re.escape(place) + r"(?![\w.-])", name, raw)
        return without_tokens(raw)

    return _map_texts(value, text)  # type: ignore[no-any-return]


def _places(tree: Tree | None) -> list[tuple[str, str]]:
    """Folders of this machine and how a record calls them, the longest first."""
    named: dict[str, str] = {}
    for path, name in (
        (tempfile.gettempdir(), "TMP"), (str(Path.home()), "~"), (str(Path.cwd()), "."),
        (sys.prefix, "PYTHON"), (str(tree.root) if tree and tree.root else "", "TREE"),
    ):  # fmt: skip
        for spelling in (path, os.path.realpath(path) if path else ""):
            if spelling.startswith("/") and len(spelling) > 1:
                named[spelling] = name
    return sorted(named.items(), key=lambda item: -len(item[0]))


def trimmed(details: dict[str, Any]) -> tuple[dict[str, Any], list[Log]]:
    """`details` with long texts cut in the middle, and for each what it was: place, hash, size."""
    logs: list[Log] = []

    def cut(raw: str, at: str) -> str:
        if len(raw) <= _HEAD + _TAIL:
            return raw
        data = raw.encode("utf-8", errors="surrogatepass")
        logs.append(Log(at=at, sha256=hashlib.sha256(data).hexdigest(), size=len(data)))
        left_out = len(raw) - _HEAD - _TAIL
        return f"{raw[:_HEAD]}\n[... {left_out} characters left out ...]\n{raw[-_TAIL:]}"

    return _walk(details, cut, ""), logs


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    return _walk(value, lambda raw, _at: change(raw), "")


def _walk(value: Any, change: Callable[[str, str], str], at: str) -> Any:
    """A JSON-able value with every text (keys too) changed; `at` is its JSON pointer."""
    if isinstance(value, str):
        return change(value, at)
    if isinstance(value, dict):
        return {change(str(key), at): _walk(item, change, f"{at}/{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_walk(item, change, f"{at}/{index}") for index, item in enumerate(value)]
    return value
