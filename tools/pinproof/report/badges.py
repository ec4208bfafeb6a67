"""Badges: what the newest release says, as SVG. Their text is a fact of the report, nothing else."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pinproof.report.model import PatchFact, ReleaseFact, Report
from pinproof.report.words import tone

if TYPE_CHECKING:
    from jinja2 import Template

_COLOURS = {"ok": "#1a7f45", "warn": "#9a5b00", "bad": "#b3141f", "info": "#24528f", "mute": "#56616e"}
_CHARACTER, _PADDING = 6.6, 12


def badges(report: Report) -> dict[str, str]:
    """The badges by path: one for the contract gate, one a patch."""
    newest = report.releases[-1]
    found = {"badges/contract.svg": _contract(newest)}
    for patch in report.patches:
        found[f"badges/patch-{patch.number}.svg"] = _patch(patch, newest)
    return found


def _contract(newest: ReleaseFact) -> str:
    label = f"{newest.release.replace('==', ' ')} contract"
    if newest.failing:
        return badge(label, f"{newest.failing} failing", "bad")
    if newest.unchecked:
        return badge(label, f"{len(newest.unchecked)} libraries not checked", "warn")
    return badge(label, f"{newest.bound} calls hold", "ok")


def _patch(patch: PatchFact, newest: ReleaseFact) -> str:
    mine = [item for item in patch.verdicts if item.release == newest.release and not item.without]
    verdict = mine[0].verdict if mine else "unknown"
    return badge(f"{patch.number} on {newest.version}", verdict, tone(verdict))


def badge(label: str, value: str, kind: str) -> str:
    """One badge.

    Args:
        label: the left half.
        value: the right half.
        kind: ok, warn, bad, info or mute.
    """
    left, right = (round(len(text) * _CHARACTER + _PADDING) for text in (label, value))
    return _template().render(label=label, value=value, left=left, right=right, colour=_COLOURS[kind]) + "\n"


@lru_cache(maxsize=1)
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("pinproof.report", "templates")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    return environment.get_template("badge.svg.jinja")
