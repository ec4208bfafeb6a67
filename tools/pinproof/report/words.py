"""Colour, letter and sentence of a verdict; colour of a gate's outcome; how old a record is."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinproof.report.model import PluginFact

_VERDICTS = {
    "needed": ("N", "warn", "the call is broken and the patch repairs it"),
    "applied": ("A", "ok", "the patch is in and the contract holds"),
    "not-needed": ("W", "info", "the call works without it; the patch would break it"),
    "obsolete": ("O", "mute", "the call was rewritten or has moved, and holds"),
    "conflict": ("C", "bad", "the call is broken and the patch does not repair it here"),
    "absent": ("–", "mute", "the release has no such file"),  # noqa: RUF001 - a dash
    "unknown": ("?", "bad", "the signature is not available, so nothing decides"),
}
VERDICTS = tuple(_VERDICTS)
_OUTCOMES = {"pass": "ok", "fail": "bad", "error": "bad", "refused": "bad", "skip": "warn", "edited": "warn"}


def letter(verdict: str) -> str:
    """The letter that stands for a verdict."""
    return _VERDICTS[verdict][0]


def tone(verdict: str) -> str:
    """The colour class of a verdict."""
    return _VERDICTS[verdict][1]


def meaning(verdict: str) -> str:
    """What a verdict means, in one clause."""
    return _VERDICTS[verdict][2]


def gate_tone(outcome: str) -> str:
    """The colour class of a gate's outcome; what was not run is never green."""
    return _OUTCOMES.get(outcome, "mute")


def age(when: str, now: str) -> str:
    """The time between two moments (ISO 8601), in whole days or hours."""
    seconds = (_moment(now) - _moment(when)).total_seconds()
    if seconds < 3600:
        return "under 1 h"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 86_400:.0f} days"


def works(plugin: PluginFact) -> str:
    """With which releases a plugin works: the unbroken stretch around its pin, in a few words."""
    pin = next((index for index, cell in enumerate(plugin.cells) if cell.release == plugin.engine), None)
    if pin is None:
        return "its pin is not among these releases"
    if plugin.cells[pin].broken:
        return "seams are broken at its own pin"
    first = last = pin
    while first > 0 and not plugin.cells[first - 1].broken:
        first -= 1
    while last + 1 < len(plugin.cells) and not plugin.cells[last + 1].broken:
        last += 1
    ends = [plugin.cells[index].release.partition("==")[2] for index in (first, last)]
    return f"works with {ends[0]}" if first == last else f"works with {ends[0]} to {ends[1]}"


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)
