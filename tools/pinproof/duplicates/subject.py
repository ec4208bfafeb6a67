"""What the scan knows of the patch: everything is derived from the patch file and its header."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

import msgspec

from pinproof.duplicates import tokens
from pinproof.duplicates.diffs import DiffFacts, facts_of_patch
from pinproof.errors import InputError
from pinproof.patchset.patchfile import Patch

# The older half of known pairs was closed up to five months before the newer was written, and some later
# ones a year; titles and diffs of closed ones cost little by git.
LOOK_BACK = timedelta(days=365)
# A name that a change is about stands in its text and on its changed lines; most names on the lines
# are there only because every change of that file has them.
TOLD_AND_CHANGED, TOLD, CHANGED, KEPT = 1.0, 0.7, 0.4, 0.2
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of the patch that is looked for.

    `names` weighs each code name: 1 when the text names it and the change has it, less when it stands in
    one of the two only. `own` are the pull requests that the patch was submitted as
    (Upstream-Status: Submitted), `origin` those that it was taken from (Origin).
    """

    title: str
    files: tuple[str, ...]
    diff: DiffFacts
    names: dict[str, float]
    pins: frozenset[str]
    errors: tuple[tuple[str, str], ...]
    closes: frozenset[int]
    mentions: frozenset[int]
    base: str
    """The branch that it is meant for; "" when that is not known."""
    undoes: frozenset[str]
    own: frozenset[int]
    origin: frozenset[int]
    words: tuple[str, ...]
    title_parts: tuple[str, ...]
    date: datetime
    since: datetime


def describe(patch: Patch, repo: str, *, since: datetime | None = None, base: str = "main") -> Subject:
    """The facts of a patch.

    Args:
        patch: the parsed patch.
        repo: owner/name of the repository whose numbers its text means.
        since: from when on merged and closed pull requests are looked at; default is a year before
            the patch's own date.
        base: the branch that it is meant for.

    Raises:
        InputError: the patch's Date header is not a date.
    """
    date = _date(patch)
    text = f"{patch.subject}\n\n{patch.prose}"
    links = "\n".join(value for values in patch.fields.values() for value in values)
    named = tokens.references(f"{text}\n{links}", repo)
    diff = facts_of_patch(patch.diffs)
    title = tokens.strip_tags(patch.subject)
    return Subject(
        title=title, files=patch.paths(), diff=diff, names=_names(diff, title, patch.prose),
        pins=frozenset(tokens.pinned_values(f"{text}\n{links}") | diff.pins),
        errors=tuple(tokens.errors(patch.prose)), closes=named.closes, mentions=named.mentions,
        base=base, undoes=tokens.undone(patch.subject, patch.prose, repo),
        own=_linked(patch, "Upstream-Status", repo), origin=_linked(patch, "Origin", repo),
        words=tuple(tokens.words(f"{title}\n{patch.prose}")), title_parts=tuple(tokens.parts(title)),
        date=date, since=since or date - LOOK_BACK,
    )  # fmt: skip


def _linked(patch: Patch, field: str, repo: str) -> frozenset[int]:
    return tokens.references(" ".join(patch.fields.get(field, [])), repo).mentions


def _names(diff: DiffFacts, title: str, prose: str) -> dict[str, float]:
    told = tokens.names_in_prose(f"{title}\n{prose}")
    changed = (diff.removed | diff.added) - diff.pins
    weights = dict.fromkeys(diff.kept, KEPT)
    weights.update(dict.fromkeys({place.scope for place in diff.places if place.scope}, KEPT))
    weights.update(dict.fromkeys(changed, CHANGED))
    weights.update(dict.fromkeys(told, TOLD))
    told |= tokens.compounds(f"{title}\n{prose}")
    weights.update(dict.fromkeys(told & (changed | diff.kept), TOLD_AND_CHANGED))
    return weights


def _date(patch: Patch) -> datetime:
    try:
        date = parsedate_to_datetime(patch.date)
    except ValueError as error:
        raise InputError(f"{patch.name}: its Date: {patch.date!r} is not a date") from error
    return date if date.tzinfo else date.replace(tzinfo=timezone.utc)


def parse_day(text: str) -> datetime:
    """A day as YYYY-MM-DD, at midnight UTC.

    Raises:
        InputError: it is none.
    """
    try:
        if not _DAY.fullmatch(text):
            raise ValueError(text)
        return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
    except ValueError as error:
        raise InputError(f"{text!r} is not a day", hint="write it as 2026-08-01") from error
