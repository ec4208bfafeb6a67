"""One scan from patch to gate result: index, searches, ranking, verdicts."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pinproof.duplicates import beside, decisions, searches
from pinproof.duplicates.auth import api_url, find_token, graphql_url
from pinproof.duplicates.client import Client, Stopped, TooHeavy
from pinproof.duplicates.index.opening import check_repo, index_path, open_index, writing
from pinproof.duplicates.index.store import Index
from pinproof.duplicates.ranking import Scored, rank
from pinproof.duplicates.recall import candidates, rarity
from pinproof.duplicates.result import DEFAULT_REPO, Seen, gap, gate_result
from pinproof.duplicates.subject import Subject, describe
from pinproof.duplicates.update import changed_files, iso, look_closer, update
from pinproof.duplicates.verdicts import judge
from pinproof.errors import CannotCheck, InputError
from pinproof.gate import GateResult
from pinproof.patchset.patchfile import Patch


def duplicates_gate(
    patch: Patch,
    repo: str = DEFAULT_REPO,
    *,
    offline: bool = False,
    since: datetime | None = None,
    queries: Sequence[str] = (),
    folder: Path | None = None,
    base: str = "main",
) -> GateResult:
    """Search a repository for a pull request that already does what the patch does.

    Args:
        patch: the patch.
        repo: owner/name on GitHub.
        offline: use the local index as it is; such a scan never passes, it only warns or fails.
        since: how far back merged and closed pull requests are looked at; default a year before the
            patch's date.
        queries: further searches among the open pull requests, in GitHub's search syntax.
        folder: the patch folder whose decisions.json holds the human's reasons.
        base: the branch that the patch is meant for.

    Returns:
        pass: everything was seen and nothing stands against the patch; fail: a pull request does the
        same; skip: not everything could be seen. `details` is described in docs/duplicates.md.

    Raises:
        InputError: no such repository, an unreadable decisions file or index.
        Refused: another scan has been filling the index for half an hour.
    """
    started = time.monotonic()
    subject = describe(patch, check_repo(repo), since=since, base=base)
    reasons = decisions.load(folder) if folder else []
    index = open_index(index_path(repo, api_url()))
    try:
        ranked, seen = _look(index, subject, repo, offline=offline, extra=queries)
        hits = [judge(subject, scored) for scored in ranked]
        coverage = _coverage(index, subject, seen)
    except sqlite3.DatabaseError as error:
        raise CannotCheck(f"the index cannot be used ({error})", hint=f"rm {index.path}") from error
    finally:
        index.close()
    return gate_result(patch, subject, repo, hits, seen, coverage, reasons, time.monotonic() - started)


def _look(
    index: Index, subject: Subject, repo: str, *, offline: bool, extra: Sequence[str]
) -> tuple[list[Scored], Seen]:
    if offline:
        age = index.fact("scanned")
        seen = Seen(gaps=[f"offline: the index is of {age}" if age else "offline, and there is no index yet"])
        planned = searches.plan(subject, repo, rarity(index, subject), extra)
        seen.searches = searches.not_run(repo, planned, "offline")
        return _ranked(index, subject), seen
    token = find_token()
    with writing(index.path), _client(token) as client:
        seen = Seen(authenticated=client.authenticated)
        update(index, repo, client, token, iso(subject.since), seen)
        _search(index, subject, repo, client, seen, extra)
        ranked = _ranked(index, subject)
        if seen.git != "used":
            look_closer(index, ranked, repo, client, seen)
            ranked = _ranked(index, subject)
        seen.requests, seen.cost = client.requests, client.cost
    return ranked, seen


@contextlib.contextmanager
def _client(token: str | None) -> Iterator[Client]:
    client = Client(api_url(), graphql_url(), token)
    try:
        yield client
    finally:
        client.close()


def _ranked(index: Index, subject: Subject) -> list[Scored]:
    rare = rarity(index, subject)
    return rank(subject, candidates(index, subject, rare), rare)


def _search(
    index: Index, subject: Subject, repo: str, client: Client, seen: Seen, extra: Sequence[str]
) -> None:
    planned = searches.plan(subject, repo, rarity(index, subject), extra)
    try:
        outcome = searches.run(client, repo, planned)
    except (Stopped, TooHeavy) as stop:
        text = stop.message if isinstance(stop, Stopped) else "GitHub gave up on them"
        gap(seen, f"searches not run: {text}")
        seen.searches = searches.not_run(repo, planned, text)
        return
    index.store(pull for pull in outcome.found if not index.has(pull))
    seen.searches, seen.named = outcome.searches, outcome.named_in_issues
    seen.open_total = outcome.open_total if outcome.open_total is not None else seen.open_total


def _coverage(index: Index, subject: Subject, seen: Seen) -> dict[str, Any]:
    """How much was inspected, and gaps that only the counts show."""
    since = iso(subject.since)
    opened = index.count(states=("open",))
    if seen.open_total is not None and opened < seen.open_total and not seen.gaps:
        seen.gaps.append(f"{seen.open_total} pull requests are open, {opened} were seen")
    return {
        "open": opened, "open_total": seen.open_total,
        "merged": index.count(states=("merged",), since=since),
        "closed_unmerged": index.count(states=("closed",), since=since),
        "since": since, "issues": index.count("issue", ("open", "closed")),
        "cut_file_lists": index.cut_file_lists(),
        "diffs": index.diffs(), "git": seen.git, "git_bytes": seen.git_bytes, "unread_diffs": seen.unread,
    }  # fmt: skip


def looked_at(repo: str, number: int) -> tuple[bool, str | None]:
    """Whether a pull request is in the index, and the commit it had."""
    index = open_index(index_path(repo, api_url()))
    try:
        return index.head(number)
    finally:
        index.close()


def compare(patch: Patch, repo: str, number: int) -> None:
    """Print a patch and a pull request side by side.

    Raises:
        InputError: no scan has seen it.
    """
    index = open_index(index_path(repo, api_url()))
    try:
        waiting = index.waiting(number)
    finally:
        index.close()
    if waiting is None:
        raise InputError(f"no scan has seen pull request #{number} of {repo}", hint="pinproof duplicates")
    files = changed_files(repo, waiting, find_token())
    beside.show(beside.matched(beside.of_patch(patch.diffs), beside.of_files(files)), patch.number, number)
