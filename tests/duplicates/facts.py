"""The known duplicates as facts per pull request, and which pairs they form."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec

DATA = Path(__file__).parent.parent / "data" / "duplicates.json"
_COMMIT = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{7,40}")


class Facts(msgspec.Struct):
    """What is known of one real pull request; what is None was never seen."""

    number: int
    title: str | None = None
    date: str | None = None
    state: str | None = None
    files: list[str] = []
    names: list[str] = []
    closes: set[int] = set()
    place: int | None = None
    """Pull requests with the same value are known to change the same place."""


class Known(msgspec.Struct):
    """All facts: pull requests by number, (duplicate, original) pairs, and pairs that are none."""

    pulls: dict[int, Facts]
    pairs: list[tuple[int, int]]
    without_facts: list[tuple[int, int]]
    negatives: list[tuple[int, int]]


def load_known(path: Path = DATA) -> Known:
    """Read the facts.

    A pair's files and names count for both sides, but a commit for one: two bumps that set different
    commits are told by them (the first listed is the duplicate's, the last the original's). An issue
    counts for both sides where both were seen to name it, else for the duplicate alone.
    """
    source: dict[str, Any] = json.loads(path.read_text())
    known = Known({}, [], [], [])
    for pair in source["pairs"]:
        ends = pair["dup_pr"], pair["original_pr"]
        (known.pairs if pair["files"] or pair["identifiers"] else known.without_facts).append(ends)
        dup, original = (known.pulls.setdefault(number, Facts(number)) for number in ends)
        _merge(dup, pair["dup_title"], pair["dup_date"], pair["dup_state"])
        _merge(original, pair["orig_title"], pair["orig_date"], pair["orig_state"])
        _share(dup, original, pair["files"], pair["identifiers"])
        if pair["shared_issue"]:
            dup.closes.add(pair["shared_issue"])
            if pair.get("issue_on_both"):
                original.closes.add(pair["shared_issue"])
        if pair["evidence_level"] == "same_issue":
            dup.place = original.place = dup.place or original.place or original.number
    for pair in source["hard_negatives"]:
        ends = pair["pr"], pair["other_pr"]
        known.negatives.append(ends)
        one, other = (known.pulls.setdefault(number, Facts(number)) for number in ends)
        _share(one, other, pair["files"], pair["identifiers"])
    return known


def _merge(facts: Facts, title: str | None, date: str | None, state: str | None) -> None:
    facts.title = facts.title or title
    facts.date = facts.date or date
    facts.state = facts.state or state


def _share(dup: Facts, original: Facts, files: list[str], names: list[str]) -> None:
    commits = [name for name in names if _COMMIT.fullmatch(name)]
    for facts, own in ((dup, commits[:1]), (original, commits[1:][-1:])):
        facts.files += [path for path in map(_plain, files) if path not in facts.files]
        facts.names += [name for name in names if name not in commits and name not in facts.names]
        facts.names += [name for name in own if name not in facts.names]


def _plain(path: str) -> str:
    """A path without remarks; a folder stands for a file in it."""
    path = path.split(" (")[0]
    return path + "__init__.py" if path.endswith("/") else path
