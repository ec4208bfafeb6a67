"""Colour, letter and sentence of a verdict; colour of a gate's outcome; how old a record is."""

from __future__ import annotations

from datetime import datetime, timezone

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


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)
