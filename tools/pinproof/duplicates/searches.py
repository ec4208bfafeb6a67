"""The searches that vLLM's policy asks for, written from the patch, and what they found."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

import msgspec

from pinproof.duplicates.client import Client, TooHeavy
from pinproof.duplicates.pulls import Pull
from pinproof.duplicates.queries import Issue, graphql_searches, rest_issue, rest_search
from pinproof.duplicates.recall import Rarity
from pinproof.duplicates.subject import CHANGED, Subject
from pinproof.duplicates.tokens import PLAIN_WORDS

_NAMES = 4
_ISSUES = 3
# GitHub refuses longer searches.
_LONGEST = 200


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """A search as reports keep it: its purpose, the gh command with its exact text, what it counted.

    `count` is None when it was not run; `note` then says why, or adds what an issue's view showed.
    """

    purpose: str
    command: str
    count: int | None
    note: str | None = None


class Plan(msgspec.Struct, frozen=True):
    """The searches to run: the issues to view, and (purpose, command, query text of GitHub's search)."""

    issues: list[int]
    searches: list[tuple[str, str, str]]


class Outcome(msgspec.Struct, frozen=True):
    """What the searches brought: their record, the pull requests and issues found, the open count."""

    searches: list[Search]
    found: list[Pull]
    named_in_issues: frozenset[int]
    open_total: int | None


def plan(subject: Subject, repo: str, rare: Rarity, extra: Iterable[str]) -> Plan:
    """The searches for a patch; `extra` are the user's own, added to the open pull requests' searches."""
    issues = sorted(subject.closes or subject.mentions - subject.origin - subject.own)[:_ISSUES]
    searches = [_pulls(repo, "names the issue", f"{number} in:body") for number in issues]
    searches += [_pulls(repo, "area keywords", text) for text in keywords(subject, rare)]
    searches += [_pulls(repo, "asked for", " ".join(text.split())[:_LONGEST]) for text in extra]
    for _, message in subject.errors[:2]:
        phrase = re.sub(r'[\\"\x00-\x1f]', " ", message)[:_LONGEST].strip()
        searches.append(_issues(repo, "names the error", f'"{phrase}"'))
    return Plan(issues, searches)


def keywords(subject: Subject, rare: Rarity) -> list[str]:
    """The names that the patch is about, those it brings in first, and its title's three rarest words."""
    changed = [name for name, weight in subject.names.items() if weight >= CHANGED and len(name) >= 5]
    new = subject.diff.added
    changed.sort(key=lambda name: (-subject.names[name], name not in new, -rare.name(name), name))
    title = [
        word for word in dict.fromkeys(re.findall(r"[A-Za-z0-9_]+", subject.title))
        if word.lower() not in PLAIN_WORDS and not word.isdigit()
    ]  # fmt: skip
    title.sort(key=lambda word: -rare.name(word.lower()))
    return [*changed[:_NAMES], *([" ".join(title[:3])] if title else [])]


def _pulls(repo: str, purpose: str, text: str) -> tuple[str, str, str]:
    command = f"gh pr list --repo {repo} --state open --search {shlex.quote(text)}"
    return purpose, command, f"repo:{repo} is:pr is:open {text}"


def _issues(repo: str, purpose: str, text: str) -> tuple[str, str, str]:
    command = f"gh issue list --repo {repo} --state all --search {shlex.quote(text)}"
    return purpose, command, f"repo:{repo} is:issue {text}"


def run(client: Client, repo: str, planned: Plan) -> Outcome:
    """Run the searches, in one request where there is a token.

    Raises:
        Stopped, TooHeavy, InputError: see Client.
    """
    texts = [text for _, _, text in planned.searches]
    if client.authenticated:
        found, views, total = _in_parts(client, repo, texts, planned.issues)
    else:
        found = [rest_search(client, repo, text) for text in texts]
        views = [rest_issue(client, repo, number) for number in planned.issues]
        total = None
    searches = [_view(repo, number, view) for number, view in zip(planned.issues, views, strict=True)]
    searches += [
        Search(purpose=purpose, command=command, count=count)
        for (purpose, command, _), (count, _) in zip(planned.searches, found, strict=True)
    ]
    named = frozenset(number for view in views if view for number in view.named)
    pulls = {pull.number: pull for _, items in found for pull in items}
    return Outcome(_with_missing_issue(repo, planned, searches), list(pulls.values()), named, total)


def _in_parts(
    client: Client, repo: str, texts: list[str], issues: list[int]
) -> tuple[list[tuple[int, list[Pull]]], list[Issue | None], int]:
    """All in one request, or in halves when GitHub gives up on that.

    Raises:
        TooHeavy: even a single search is too much for it now.
    """
    try:
        return graphql_searches(client, repo, texts, issues)
    except TooHeavy:
        if len(texts) + len(issues) < 2:
            raise
    half, middle = (len(texts) + 1) // 2, len(issues) // 2
    first = _in_parts(client, repo, texts[:half], issues[:middle])
    second = _in_parts(client, repo, texts[half:], issues[middle:])
    return first[0] + second[0], first[1] + second[1], second[2]


def not_run(repo: str, planned: Plan, why: str) -> list[Search]:
    """The record of searches that could not be run."""
    searches = [_view(repo, number, None, why) for number in planned.issues]
    searches += [
        Search(purpose=purpose, command=command, count=None, note=why)
        for purpose, command, _ in planned.searches
    ]  # fmt: skip
    return _with_missing_issue(repo, planned, searches)


def _view(repo: str, number: int, view: Issue | None, why: str | None = None) -> Search:
    command = f"gh issue view {number} --repo {repo} --comments"
    if view is None:
        count = None if why else 0
        note = why or "nothing has this number"
        return Search(purpose="the issue itself", command=command, count=count, note=note)
    return Search(
        purpose="the issue itself",
        command=command,
        count=view.comments,
        note=f"{view.state}{' pull request' if view.kind != 'issue' else ''}, comments counted",
    )


def _with_missing_issue(repo: str, planned: Plan, searches: list[Search]) -> list[Search]:
    """Two of the three prescribed searches need an issue: say so where the patch names none."""
    if planned.issues:
        return searches
    command = f"gh issue view ISSUE --repo {repo} --comments"
    return [
        Search(purpose="the issue itself", command=command, count=None, note="the patch names no issue"),
        *searches,
    ]
