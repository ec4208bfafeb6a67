"""Bring the index up to date: walk the lists from the latest update down, stop and resume anywhere."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pinproof.duplicates.client import BadCursor, Stopped, TooHeavy
from pinproof.duplicates.index.store import Index
from pinproof.duplicates.queries import FIRST_PAGE, PAGE, Page

_SMALLEST_PAGE = 5
# Far more than any repository has; a list that goes on beyond is not a list.
_MOST_PAGES = 5000

Fetch = Callable[[str | None, int], Page]
"""Gets a page of a list after a cursor, with at most so many items; latest update first."""


class Walk(msgspec.Struct):
    """How far a list is known: everything updated between `floor` and `high` is in the index.

    `tail` is the cursor below `floor`, None when the list's end was reached (or nothing is known).
    `head` and `head_top` are where an interrupted look at the news stands.
    """

    high: str = ""
    floor: str = ""
    tail: str | None = None
    head: str | None = None
    head_top: str = ""
    total: int | None = None
    size: int = FIRST_PAGE
    """The page size that GitHub last answered to."""
    limit: int = PAGE
    """One above which it gave up."""

    def reaches(self, since: str) -> bool:
        """Whether everything updated since then is known."""
        return bool(self.high) and (self.tail is None or self.floor < since)


def load(index: Index, name: str) -> Walk:
    """The stored state of a walk, or a fresh one."""
    state = index.walk(name)
    return msgspec.json.decode(state, type=Walk) if state else Walk()


class Walker:
    """One run over one list.

    Args:
        index: where the pages go; each is stored together with the state of the walk.
        name: the walk's name in the index.
        fetch: gets a page.
        on_page: told after each page how many items it had.
    """

    def __init__(self, index: Index, name: str, fetch: Fetch, on_page: Callable[[int], None]) -> None:
        self._index = index
        self._name = name
        self._fetch = fetch
        self._on_page = on_page
        self._pages = 0
        self.walk = load(index, name)

    def run(self, since: str) -> Walk:
        """Walk until everything updated since then is known ("" for the whole list).

        Raises:
            Stopped: GitHub cannot be asked further; the pages so far are kept and so is the place.
        """
        for attempt in range(3):
            try:
                self._news()
                self._past(since)
                return self.walk
            except BadCursor:
                # Cursors expire. The news start again from the top; a lost tail means a new walk.
                if self.walk.head is not None and attempt == 0:
                    self.walk.head = None
                else:
                    self.walk = Walk(size=self.walk.size, limit=self.walk.limit)
        raise Stopped("GitHub does not accept its own cursors; what was fetched is kept")

    def _news(self) -> None:
        """From the top down to what is known; twice when an interrupted look is continued."""
        walk = self.walk
        if not walk.high:
            return
        continued = walk.head is not None
        while True:
            page = self._get(walk.head)
            walk.head_top = walk.head_top or _top(page)
            joined = page.after is None or any(pull.updated < walk.high for pull in page.pulls)
            if joined:
                walk.high, walk.head, walk.head_top = max(walk.high, walk.head_top), None, ""
            else:
                walk.head = page.after
            self._keep(page)
            if joined and not continued:
                return
            continued = continued and not joined

    def _past(self, since: str) -> None:
        """From the floor of what is known down to `since`; the first walk begins here."""
        walk = self.walk
        started_fresh = not walk.high
        pages = 0
        while not walk.reaches(since):
            page = self._get(walk.tail)
            walk.high = walk.high or _top(page) or since or "0"
            walk.floor = page.pulls[-1].updated if page.pulls else ""
            walk.tail = page.after
            self._keep(page)
            pages += 1
        if started_fresh and pages > 1:
            # The list moved on while it was walked.
            self._news()

    def _keep(self, page: Page) -> None:
        if page.total is not None:
            self.walk.total = page.total
        self._index.store(page.pulls, (self._name, msgspec.json.encode(self.walk)))
        self._on_page(len(page.pulls))

    def _get(self, after: str | None) -> Page:
        self._pages += 1
        while True:
            try:
                page = self._fetch(after, self.walk.size)
                if (after is not None and page.after == after) or self._pages > _MOST_PAGES:
                    raise Stopped("GitHub's list goes in circles; what was fetched is kept")
                self.walk.size = min(self.walk.size * 2, self.walk.limit)
                return page
            except TooHeavy:
                if self.walk.size <= _SMALLEST_PAGE:
                    raise Stopped(
                        "GitHub cannot answer even small queries now; what was fetched is kept",
                        hint="run the same command again later",
                    ) from None
                self.walk.limit = self.walk.size = max(self.walk.size // 2, _SMALLEST_PAGE)


def _top(page: Page) -> str:
    return page.pulls[0].updated if page.pulls else ""
