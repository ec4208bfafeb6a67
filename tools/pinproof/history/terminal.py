"""A history in the terminal: parameters down, releases across, in blocks that fit the width."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from pinproof.console import clean, say, stdout
from pinproof.history.model import Column, History, State
from pinproof.history.story import changes, outcome, state

_SIGNS: dict[State, tuple[str, str, str]] = {
    "none": ("", "", ""),
    "declared": ("○", "d", "dim"),
    "required": ("◇", "r", "dim"),
    "passed": ("●", "P", "green"),
    "conditional": ("~", "~", "dim"),
    "guarded": ("◐", "g", "yellow"),
    "left-out": ("!", "!", "bold red"),
    "breaks": ("✗", "X", "bold red"),
}
_MEANS: dict[State, str] = {
    "passed": "passed by keyword",
    "declared": "declared, with a default",
    "required": "required, given by position",
    "conditional": "passed only where another function is called",
    "guarded": "not declared, behind a guard",
    "left-out": "required and left out",
    "breaks": "passed and not declared",
}
_OFF_TERMINAL = 200


def show(history: History) -> None:
    """Print a history: the table, what the signs mean, and what changed."""
    console = stdout()
    width = console.width if console.is_terminal else _OFF_TERMINAL
    say(f"{history.callee} ({history.library}), {history.project} releases")
    for block in _blocks(history, width):
        say()
        _table(history, block, width)
    if history.rows:
        _legend(history)
    lines = list(changes(history))
    if lines:
        say()
        for line in lines:
            say(line)


def _legend(history: History) -> None:
    say()
    shown = {state(column, name) for column in history.columns for name in history.rows}
    say("  ".join(f"{_sign(s)} {_MEANS[s]}" for s in _MEANS if s in shown))


def _sign(one: State) -> str:
    fancy, plain, _ = _SIGNS[one]
    return fancy if _can_print(fancy) else plain


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _heading(column: Column) -> tuple[str, str, str]:
    return column.label, (column.library or "-")[:11], outcome(column)


def _blocks(history: History, width: int) -> Iterator[list[Column]]:
    """The columns in groups that fit beside the names."""
    left = width - max((len(name) for name in history.rows), default=0) - 3
    block: list[Column] = []
    used = 0
    for column in history.columns:
        wide = _column_width(column) + 3
        if block and used + wide > left:
            yield block
            block, used = [], 0
        block.append(column)
        used += wide
    yield block


def _column_width(column: Column) -> int:
    label, library, words = _heading(column)
    return max(len(label), len(library), *(len(word) for word in words.split(", ")))


def _table(history: History, block: Sequence[Column], width: int) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    view = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    view.add_column(history.library, no_wrap=True, vertical="bottom")
    for column in block:
        label, library, words = _heading(column)
        style = "bold red" if column.broken else ""
        text = "\n".join((label, library, *words.split(", ")))
        view.add_column(Text(clean(text), style=style, justify="center"), justify="center", no_wrap=True)
    for name in history.rows:
        cells = [state(column, name) for column in block]
        view.add_row(clean(name), *(Text(_sign(cell), style=_SIGNS[cell][2]) for cell in cells))
    console = stdout()
    if console.is_terminal:
        console.print(view)
        return
    console.width = max(width, 80)
    with console.capture() as captured:
        console.print(view)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
