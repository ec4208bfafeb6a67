"""How the scan does on real pull requests: ranks of known pairs, what random ones are asked, lazy copies."""

from __future__ import annotations

import random
import re
import statistics
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
from pinproof.duplicates.diffs import facts_of_files
from pinproof.duplicates.index.opening import open_index
from pinproof.duplicates.index.store import Index
from pinproof.duplicates.pulls import Pull, from_graphql
from pinproof.duplicates.ranking import rank
from pinproof.duplicates.recall import candidates, rarity
from pinproof.duplicates.result import asks
from pinproof.duplicates.subject import Subject, describe
from pinproof.duplicates.verdicts import Hit, judge
from pinproof.patchset.patchfile import FileDiff, Hunk, Patch

from tests.duplicates.real import Real, stamp

_SAYS = re.compile(
    r"(?:supersed\w+|replac(?:es|ing|ement (?:for|of))|duplicate[sd]?(?: of| with)?|tak(?:es|ing) over|"
    r"continu(?:es|ation of|ing)|re-?submi\w+(?: of)?|re-?open\w*(?: of)?)\b[^\n#]{0,40}?"
    r"(?:https://github\.com/[\w.-]+/[\w.-]+/pull/|#)(\d{1,6})\b",
    re.IGNORECASE,
)
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$")


def said_pairs(pulls: list[Real]) -> list[tuple[int, int]]:
    """(the earlier, the later) where the later's text says that it replaces or repeats the earlier."""
    known = {pull.number: pull for pull in pulls}
    found = []
    for pull in pulls:
        for number in {int(number) for number in _SAYS.findall(f"{pull.title}\n{pull.body}")}:
            other = known.get(number)
            if other and other.number < pull.number and other.state != "merged" and _touch(other, pull):
                found.append((number, pull.number))
    return sorted(found)


def _touch(one: Real, other: Real) -> bool:
    """Whether two change a file in common: a number in a text is often another repository's."""
    return bool({path for path, _ in one.files} & {path for path, _ in other.files})


def fill(pulls: list[Real], path: Path, repo: str) -> Index:
    """An index with these pull requests and their diffs, as a scan by git fills it."""
    index = open_index(path)
    for at in range(0, len(pulls), 200):
        index.store(as_pull(pull, repo) for pull in pulls[at : at + 200])
    for pull in pulls:
        index.store_diff(pull.number, pull.head, facts_of_files(pull.files), [path for path, _ in pull.files])
    return index


def as_pull(pull: Real, repo: str) -> Pull:
    """The pull request as GraphQL tells it."""
    return from_graphql(
        {
            "__typename": "PullRequest", "number": pull.number, "title": pull.title, "body": pull.body,
            "state": pull.state.upper(), "isDraft": False, "baseRefName": pull.base,
            "createdAt": stamp(pull.opened), "updatedAt": stamp(pull.ended),
            "closedAt": None if pull.state == "open" else stamp(pull.ended), "headRefOid": pull.head,
            "mergeCommit": {"oid": pull.head} if pull.state == "merged" else None,
            "author": {"login": pull.author}, "closingIssuesReferences": {"nodes": []},
        },
        repo,
    )  # fmt: skip


def as_patch(pull: Real, *, unsaid: tuple[int, ...] = (), **changed: str) -> Patch:
    """The pull request as a patch file's contents; the numbers in `unsaid` are taken out of its text."""
    body = changed.get("body", pull.body)
    for number in unsaid:
        body = re.sub(rf"(?:#|pull/){number}\b", "", body)
    date = datetime.fromtimestamp(pull.opened, timezone.utc)
    if days := changed.get("days"):
        date += timedelta(days=int(days))
    return Patch(
        name=f"{pull.number}.patch", raw=b"", subject=changed.get("title", pull.title), author=pull.author,
        date=date.strftime("%a, %d %b %Y %H:%M:%S +0000"), prose=body, fields={}, problems=(),
        diffs=tuple(_file_diff(path, text) for path, text in pull.files if text),
    )  # fmt: skip


def _file_diff(path: str, text: str) -> FileDiff:
    held: list[tuple[re.Match[str], list[bytes]]] = []
    for line in text.split("\n"):
        if match := _HUNK.match(line):
            held.append((match, []))
        elif held and line[:1] in (" ", "+", "-"):
            held[-1][1].append(line.encode() + b"\n")
    hunks = [
        Hunk(int(head[1]), int(head[2] or 1), int(head[3]), int(head[4] or 1), head[5].encode(), tuple(lines))
        for head, lines in held
    ]
    return FileDiff(path, "modify", None, None, None, tuple(hunks))


class Answer(msgspec.Struct):
    """A scan's hits in order, and the seconds that ranking took."""

    hits: list[Hit]
    seconds: float

    def place(self, number: int, ignored: set[int]) -> int:
        """The rank of a pull request, some others left out."""
        order = [hit.number for hit in self.hits if hit.number == number or hit.number not in ignored]
        return order.index(number) + 1 if number in order else 10_000

    def verdict(self, number: int) -> str:
        """What the scan says of a pull request."""
        return next((hit.verdict for hit in self.hits if hit.number == number), "not seen")

    def asking(self, ignored: set[int]) -> list[Hit]:
        """The hits that must be answered."""
        return [hit for hit in self.hits if asks(hit) and hit.number not in ignored]


def ask(index: Index, patch: Patch, repo: str, own: int, base: str) -> Answer:
    """Rank and judge all others against a patch."""
    subject = describe(patch, repo, base=base)
    started = time.perf_counter()
    hits = _judged(index, subject, own)
    return Answer(hits, time.perf_counter() - started)


def _judged(index: Index, subject: Subject, own: int) -> list[Hit]:
    rare = rarity(index, subject)
    found = [candidate for candidate in candidates(index, subject, rare) if candidate.number != own]
    return [judge(subject, scored) for scored in rank(subject, found, rare)]


class Figures(msgspec.Struct):
    """Ranks of one side of each pair when the other is asked, and whether the pair was stopped."""

    ranks: list[int]
    stopped: list[bool]
    misses: list[str]

    def recall(self, at: int) -> float:
        """The share of pairs found among the first `at`."""
        return sum(rank <= at for rank in self.ranks) / len(self.ranks)

    def mrr(self) -> float:
        """The mean reciprocal rank."""
        return statistics.mean(1 / rank for rank in self.ranks)

    def told(self) -> str:
        """One line."""
        return (
            f"{len(self.ranks)} queries: recall@1 {self.recall(1):.3f}, @5 {self.recall(5):.3f}, "
            f"MRR {self.mrr():.3f}, stopped {statistics.mean(self.stopped):.3f}"
        )


def pairs(index: Index, pulls: dict[int, Real], known: list[tuple[int, int]], repo: str) -> Figures:
    """Ask each side of each pair for the other, the other's number taken out of its text."""
    figures = Figures([], [], [])
    groups = _groups(known)
    for one, other in [*known, *((later, earlier) for earlier, later in known)]:
        unsaid = tuple(groups[one])
        answer = ask(index, as_patch(pulls[one], unsaid=unsaid), repo, one, pulls[one].base)
        place = answer.place(other, groups[one] - {other})
        figures.ranks.append(place)
        verdict = answer.verdict(other)
        figures.stopped.append(any(asks(hit) for hit in answer.hits if hit.number == other))
        if place > 1 or not figures.stopped[-1]:
            first = answer.hits[0] if answer.hits else None
            figures.misses.append(
                f"{one} -> {other}: rank {place}, {verdict}; first {first and (first.number, first.verdict)}"
            )
    return figures


def _groups(known: list[tuple[int, int]]) -> dict[int, set[int]]:
    """All pull requests that known pairs join, however indirectly."""
    groups: dict[int, set[int]] = {}
    for one, other in known:
        joined = groups.get(one, {one}) | groups.get(other, {other})
        groups.update(dict.fromkeys(joined, joined))
    return groups


def randomly(pulls: list[Real], count: int, seed: int) -> list[Real]:
    """Random merged pull requests that change some lines of text."""
    merged = [pull for pull in pulls if pull.state == "merged" and pull.lines]
    return random.Random(seed).sample(merged, min(count, len(merged)))


def lazy_copy(pull: Real) -> Patch:
    """The same change under another title, another text and another date."""
    return as_patch(pull, title="Improve a few things", body="Some work on the code.", days="200")
