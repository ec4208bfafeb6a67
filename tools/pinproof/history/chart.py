"""A history as SVG: a bar while a parameter is declared, a dot where it is passed, a cross for a break."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from pinproof.history.model import History
from pinproof.history.story import changes, outcome, state

if TYPE_CHECKING:
    from jinja2 import Template

_NAME_CHARACTER = 7.3  # the width of a monospace character at 12 px, rounded up
_ROW, _COLUMN, _TOP, _EDGE = 24, 84, 108, 18


@dataclass(frozen=True)
class Bar:
    """A parameter's unbroken stretch of releases, as a rectangle."""

    x: float
    y: float
    width: float
    required: bool


@dataclass(frozen=True)
class Mark:
    """A dot (passed), ring (guarded, conditional) or cross (breaks) in one cell."""

    x: float
    y: float
    kind: str


def svg(history: History, *, standalone: bool = True) -> str:
    """The chart.

    Args:
        history: what to draw.
        standalone: bring colours for light and dark along; inside a page they come from the page.
    """
    left = max((len(name) for name in history.rows), default=8) * _NAME_CHARACTER + 2 * _EDGE
    xs = [left + _COLUMN * (index + 0.5) for index in range(len(history.columns))]
    ys = {name: _TOP + _ROW * (index + 0.5) for index, name in enumerate(history.rows)}
    return _template().render(
        history=history, standalone=standalone, left=left, xs=xs, ys=ys, row=_ROW, column=_COLUMN, top=_TOP,
        width=left + _COLUMN * len(xs) + _EDGE, bottom=_TOP + _ROW * len(ys), outcome=outcome,
        bars=list(_bars(history, xs, ys)), marks=list(_marks(history, xs, ys)),
        moved=list(_moved(history, xs)), told="; ".join(changes(history)),
    )  # fmt: skip


def _bars(history: History, xs: list[float], ys: dict[str, float]) -> Iterator[Bar]:
    half = _COLUMN / 2 - 1
    for name in history.rows:
        start: int | None = None
        for index in range(len(history.columns) + 1):
            column = history.columns[index] if index < len(xs) else None
            there = column is not None and name in column.names
            if there and start is None:
                start = index
            if not there and start is not None:
                last = history.columns[index - 1]
                required = any(p.name == name and not p.default for p in last.parameters or ())
                span = xs[index - 1] - xs[start]
                yield Bar(xs[start] - half, ys[name] - 7, span + 2 * half, required)
                start = None


def _marks(history: History, xs: list[float], ys: dict[str, float]) -> Iterator[Mark]:
    for column, x in zip(history.columns, xs, strict=True):
        for name, y in ys.items():
            kind = state(column, name)
            if kind not in ("none", "declared", "required"):
                yield Mark(x, y, kind)


def _moved(history: History, xs: list[float]) -> Iterator[float]:
    """Where the signature changes: the middle between two columns."""
    for index in range(1, len(xs)):
        before, after = history.columns[index - 1], history.columns[index]
        if before.parameters != after.parameters:
            yield (xs[index - 1] + xs[index]) / 2


@lru_cache(maxsize=1)
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("pinproof.history", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("history.svg.jinja")
