"""One scan from patch to gate result: index, searches, ranking, a closer look at the best, verdicts."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from pinproof.duplicates import decisions, queries, searches
from pinproof.duplicates.auth import api_url, find_token, graphql_url
from pinproof.duplicates.client import Client, Stopped, TooHeavy
from pinproof.duplicates.diffs import facts_of_files
from pinproof.duplicates.index import Index, check_repo, index_path, open_index, writing
from pinproof.duplicates.ranking import Scored, rank
from pinproof.duplicates.recall import candidates, rarity
from pinproof.duplicates.result import DEFAULT_REPO, Seen, gate_result
from pinproof.duplicates.subject import Subject, describe
from pinproof.duplicates.verdicts import judge
from pinproof.duplicates.walk import Walk, Walker, load
from pinproof.errors import CannotCheck, PinproofError
from pinproof.gate import GateResult
from pinproof.patchset.patchfile import Patch
from pinproof.progress import progress

CLOSER_LOOK = 40
"""How many of the best candidates have their diffs fetched and compared."""


def duplicates_gate(
    patch: Patch,
    repo: str = DEFAULT_REPO,
    *,
    offline: bool = False,
    since: datetime | None = None,
    queries: Sequence[str] = (),
    folder: Path | None = None,
) -> GateResult:
    """Search a repository for a pull request that already does what the patch does.

    Args:
        patch: the patch.
        repo: owner/name on GitHub.
        offline: use the local index as it is; such a scan never passes, it only warns or fails.
        since: how far back merged and closed pull requests are looked at; default 30 days before the
            patch's date.
        queries: further searches among the open pull requests, in GitHub's search syntax.
        folder: the patch folder whose decisions.json holds the human's reasons.

    Returns:
        pass: everything was seen and nothing stands against the patch; fail: a pull request does the
        same; skip: not everything could be seen. `details` is described in docs/duplicates.md.

    Raises:
        InputError: no such repository, an unreadable decisions file or index.
        Refused: another scan has been filling the index for half an hour.
    """
    started = time.monotonic()
    subject = describe(patch, check_repo(repo), since=since)
    reasons = decisions.load(folder) if folder else []
    index = open_index(index_path(repo, api_url()))
    try:
        ranked, seen = _look(index, subject, repo, offline=offline, extra=queries)
        hits = [judge(subject, scored) for scored in ranked]
        coverage = _coverage(index, subject, seen)
    except sqlite3.DatabaseError as error:
        raise CannotCheck(f"the index cannot be used ({error})", hint=f"rm {index.path}") from error
    finally:
        index.db.close()
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
    with writing(index.path), _client() as client:
        seen = Seen(authenticated=client.authenticated)
        _update(index, subject, repo, client, seen)
        _search(index, subject, repo, client, seen, extra)
        _look_closer(index, _ranked(index, subject), repo, client, seen)
        seen.requests, seen.cost = client.requests, client.cost
    return _ranked(index, subject), seen


@contextlib.contextmanager
def _client() -> Iterator[Client]:
    client = Client(api_url(), graphql_url(), find_token())
    try:
        yield client
    finally:
        client.close()


def _ranked(index: Index, subject: Subject) -> list[Scored]:
    rare = rarity(index, subject)
    return rank(subject, candidates(index, subject, rare), rare)


def walk_name(which: str, *, authenticated: bool) -> str:
    """The name of a walk in the index: the two APIs have cursors of their own."""
    return f"{which}/{'graphql' if authenticated else 'rest'}"


def iso(moment: datetime) -> str:
    """A time as GitHub writes it."""
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _update(index: Index, subject: Subject, repo: str, client: Client, seen: Seen) -> None:
    """Walk both lists; what stops a walk becomes a gap, and the scan goes on with what there is."""
    get = queries.graphql_page if client.authenticated else queries.rest_page
    with progress("reading pull requests") as bar:
        for which, since in (("open", ""), ("closed", iso(subject.since))):
            name = walk_name(which, authenticated=client.authenticated)
            on_page: Callable[[int], None] = bar.advance
            try:
                walk = Walker(index, name, partial(get, client, repo, which), on_page).run(since)
            except Stopped as stop:
                _gap(seen, f"{which} pull requests not read to the end: {stop.message}", stop.hint)
                continue
            if which == "open":
                seen.open_total = walk.total
    if not client.authenticated:
        _gap(
            seen, "without a token GitHub does not tell which files the pull requests touch", "gh auth login"
        )
    if not seen.gaps:
        index.remember("scanned", iso(datetime.now(timezone.utc)))


def _gap(seen: Seen, text: str, hint: str | None = None) -> None:
    seen.gaps.append(f"{text} ({hint})" if hint else text)


def _search(
    index: Index, subject: Subject, repo: str, client: Client, seen: Seen, extra: Sequence[str]
) -> None:
    planned = searches.plan(subject, repo, rarity(index, subject), extra)
    try:
        outcome = searches.run(client, repo, planned)
    except (Stopped, TooHeavy) as stop:
        text = stop.message if isinstance(stop, Stopped) else "GitHub gave up on them"
        _gap(seen, f"searches not run: {text}")
        seen.searches = searches.not_run(repo, planned, text)
        return
    index.store(pull for pull in outcome.found if not index.has(pull))
    seen.searches, seen.named = outcome.searches, outcome.named_in_issues
    seen.open_total = outcome.open_total if outcome.open_total is not None else seen.open_total


def _look_closer(index: Index, ranked: list[Scored], repo: str, client: Client, seen: Seen) -> None:
    """Fetch the diffs of the best candidates, unless they are known for the same commit."""
    best = [scored.candidate for scored in ranked if scored.candidate.kind == "pr"][:CLOSER_LOOK]
    missing = [candidate for candidate in best if candidate.diff is None]
    with progress("comparing diffs", total=len(missing)) as bar:
        for candidate in missing:
            try:
                files, whole = queries.changed_files(client, repo, candidate.number)
            except PinproofError as stop:
                _gap(seen, f"diffs not compared from #{candidate.number} on: {stop.message}", stop.hint)
                return
            facts = facts_of_files(files, whole=whole)
            index.store_diff(candidate.number, candidate.head or "", facts, [path for path, _ in files])
            bar.advance()


def _coverage(index: Index, subject: Subject, seen: Seen) -> dict[str, Any]:
    """How much was inspected, and gaps that only the counts show."""
    since = iso(subject.since)
    opened = index.count(states=("open",))
    if seen.open_total is not None and opened < seen.open_total and not seen.gaps:
        seen.gaps.append(f"{seen.open_total} pull requests are open, {opened} were seen")
    walks = {which: _best_walk(index, which) for which in ("open", "closed")}
    if not walks["closed"].reaches(since) and not seen.gaps:
        seen.gaps.append(f"closed pull requests are known back to {walks['closed'].floor or 'none'} only")
    cut = index.db.execute("SELECT count(*) FROM pull WHERE files_total > files_seen").fetchone()[0]
    return {
        "open": opened, "open_total": seen.open_total,
        "merged": index.count(states=("merged",), since=since),
        "closed_unmerged": index.count(states=("closed",), since=since),
        "since": since, "issues": index.count("issue", ("open", "closed")), "cut_file_lists": cut,
    }  # fmt: skip


def _best_walk(index: Index, which: str) -> Walk:
    walks = [load(index, walk_name(which, authenticated=known)) for known in (True, False)]
    return max(walks, key=lambda walk: (bool(walk.high), walk.tail is None))


def looked_at(repo: str, number: int) -> tuple[bool, str | None]:
    """Whether a pull request is in the index, and the commit it had."""
    index = open_index(index_path(repo, api_url()))
    try:
        row = index.db.execute("SELECT head FROM pull WHERE number = ?", (number,)).fetchone()
    finally:
        index.db.close()
    return row is not None, row[0] if row else None
