"""Bring the index up to date: lists from GitHub's API, diffs from git, or from the API where git fails."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import datetime, timezone
from functools import partial

from pinproof.duplicates import gitway, queries
from pinproof.duplicates.auth import api_url, graphql_url
from pinproof.duplicates.client import Client, Stopped
from pinproof.duplicates.diffs import facts_of_files
from pinproof.duplicates.gitway import History
from pinproof.duplicates.history import Changed
from pinproof.duplicates.index.store import Index, Waiting
from pinproof.duplicates.mirror import Mirror, open_mirror, size
from pinproof.duplicates.ranking import Scored
from pinproof.duplicates.result import Seen, gap
from pinproof.duplicates.walk import Fetch, Walker, load
from pinproof.errors import InputError, PinproofError
from pinproof.progress import progress

CLOSER_LOOK = 40
"""How many of the best candidates have their diffs fetched one by one where git cannot be used."""

Way = tuple[Mirror, History]


def iso(moment: datetime) -> str:
    """A time as GitHub writes it."""
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def walk_name(which: str, *, authenticated: bool) -> str:
    """The name of a walk in the index: the two APIs have cursors of their own."""
    return f"{which}/{'graphql' if authenticated else 'rest'}"


def update(index: Index, repo: str, client: Client, token: str | None, since: str, seen: Seen) -> None:
    """Read both lists and all diffs; what stops a part becomes a gap, and the scan goes on with the rest."""
    way = _git(repo, token, seen)
    lists = ["open"] if way and not client.authenticated else ["open", "closed"]
    for which in lists:
        _walk(index, repo, client, which, "" if which == "open" else since, seen, files=way is None)
    if way is None:
        if not client.authenticated:
            gap(seen, "without a token and without git no files are known", "gh auth login")
    else:
        _by_git(index, repo, way, since, seen, closed="closed" not in lists)
    if not seen.gaps:
        index.remember("scanned", iso(datetime.now(timezone.utc)))


def _git(repo: str, token: str | None, seen: Seen) -> Way | None:
    """Our mirror with its trunk up to date; None where git does not reach the repository."""
    try:
        with progress("reading the trunk by git"):
            mirror = open_mirror(repo, token)
            history = gitway.read_trunk(mirror)
    except InputError as error:
        seen.git = f"not used: {_short(error)}"
        return None
    seen.git = "used"
    return mirror, history


def _short(error: InputError) -> str:
    """What git says, without the folder that it says it of."""
    return error.message.splitlines()[0].rpartition("fatal: ")[2][:90]


def _walk(
    index: Index, repo: str, client: Client, which: str, since: str, seen: Seen, *, files: bool
) -> None:
    name = walk_name(which, authenticated=client.authenticated)
    known = load(index, name)
    with progress(f"reading {which} pull requests", total=known.total) as bar:
        get: Fetch
        if client.authenticated:
            get = partial(queries.graphql_page, client, repo, which, files=files)
        else:
            get = partial(queries.rest_page, client, repo, which)
        on_page: Callable[[int], None] = bar.advance
        try:
            walk = Walker(index, name, get, on_page).run(since)
        except Stopped as stop:
            gap(seen, f"{which} pull requests not read to the end: {stop.message}", stop.hint)
            return
    if which == "open":
        seen.open_total = walk.total


def _by_git(index: Index, repo: str, way: Way, since: str, seen: Seen, *, closed: bool) -> None:
    """The diffs; and the merged and closed ones too where no list told them."""
    mirror, history = way
    try:
        if closed:
            with progress("reading merged and closed pull requests by git"):
                found = gitway.merged_and_closed(mirror, history, index.numbers("open"), since, repo)
                index.store(pull for pull in found if not index.has(pull))
        todo = len(index.without_diff(since))
        with progress("reading diffs by git", total=todo) as bar:
            seen.unread = gitway.bring_diffs(index, mirror, history, since, bar.advance)
    except InputError as error:
        gap(seen, f"not all diffs were read by git: {_short(error)}")
    seen.git_bytes = size(mirror)


def look_closer(index: Index, ranked: list[Scored], repo: str, client: Client, seen: Seen) -> None:
    """Fetch the diffs of the best candidates one by one, unless they are known for the same commit."""
    best = [scored.candidate for scored in ranked if scored.candidate.kind == "pr"][:CLOSER_LOOK]
    missing = [candidate for candidate in best if candidate.diff is None]
    with progress("comparing diffs", total=len(missing)) as bar:
        for candidate in missing:
            try:
                files, whole = queries.changed_files(client, repo, candidate.number)
            except PinproofError as stop:
                gap(seen, f"diffs not compared from #{candidate.number} on: {stop.message}", stop.hint)
                return
            facts = facts_of_files(files, whole=whole)
            index.store_diff(candidate.number, candidate.head or "", facts, [path for path, _ in files])
            bar.advance()


def changed_files(repo: str, waiting: Waiting, token: str | None) -> Changed:
    """The files of one pull request with their hunks: by git, or from the API.

    Raises:
        Stopped: neither can be reached.
        InputError: there is no such pull request.
    """
    with contextlib.suppress(InputError):
        mirror = open_mirror(repo, token)
        found = gitway.changed_by(mirror, gitway.read_trunk(mirror), waiting)
        if found is not None:
            return found
    client = Client(api_url(), graphql_url(), token)
    try:
        return queries.changed_files(client, repo, waiting[0])[0]
    finally:
        client.close()
