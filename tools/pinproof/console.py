"""The terminal: people's view through rich, JSON for machines, nothing hostile printed raw."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

# What does not show, or makes a text read as something else (CVE-2021-42574): controls but for tab and
# newline; format characters (bidi, zero-width, tags that carry hidden text); line and paragraph separators,
# which some readers take for line ends; fillers that are blank; surrogates, which stand for odd bytes of a
# file's name. General categories Cc, Cf, Cs, Zl, Zp of Unicode 16, and the fillers.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160"
    "\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb"
    "\ud800-\udfff\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)


def clean(text: str) -> str:
    """`text` with everything that does not show as itself as JSON's escapes: safe on a terminal.

    Tabs and newlines stay; what must be one line goes through one_line().
    """
    return _UNSAFE.sub(_escape, text)


def one_line(text: str) -> str:
    """`text` cleaned, and on one line: newlines and tabs are shown as escapes too."""
    return clean(text).replace("\n", "\\n").replace("\t", "\\t")


def _escape(match: re.Match[str]) -> str:
    """One character as JSON escapes it: UTF-16 code units (RFC 8259, section 7)."""
    units = match.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def stdout() -> Console:
    """The console for results (standard output); no colour when it is not a terminal."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def stderr() -> Console:
    """The console for progress, warnings and errors (standard error)."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str = "") -> None:
    """Print one line of result, cleaned, without markup."""
    sys.stdout.write(clean(text) + "\n")


def typed(command: str) -> str:
    """A `pinproof ...` command as it can be typed here: by its path where it is not on PATH (a checkout)."""
    import os
    import shutil

    program = sys.argv[0]
    if not command.startswith("pinproof ") or program.rpartition(os.sep)[2] != "pinproof":
        return command
    found = shutil.which("pinproof")
    if found is not None and os.path.realpath(found) == os.path.realpath(program):
        return command
    return min(program, os.path.relpath(program), key=len) + command.removeprefix("pinproof")


def say_labelled(label: str, text: str) -> None:
    """Print `  label   text`; on a terminal wrapped to its width, the label standing out to the left."""
    indent = f"  {label:9} "
    if sys.stdout.isatty():
        import shutil
        import textwrap

        width = max(shutil.get_terminal_size().columns, 60)
        lines = textwrap.wrap(text, width - len(indent), break_long_words=False, break_on_hyphens=False)
        text = f"\n{' ' * len(indent)}".join(lines)
    say(indent + text)


def note(text: str) -> None:
    """Print one line to standard error, cleaned: progress and warnings."""
    sys.stderr.write(clean(text) + "\n")
    sys.stderr.flush()


def emit_json(schema: str, payload: dict[str, Any]) -> None:
    """Print a machine's view: `payload` under a versioned `schema` name such as pinproof.verdict/1."""
    sys.stdout.write(json_text({"schema": schema, **payload}))


def json_text(value: Any) -> str:
    """A value as indented JSON with a final newline, in which nothing stands raw that clean() escapes."""
    import msgspec

    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:  # a path with bytes that are no UTF-8, as Python keeps them
        import json

        text = json.dumps(msgspec.to_builtins(value), indent=2)
    return clean(text) + "\n"


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; cells are plain text of one line (cleaned, no markup). Wide cells fold on a terminal."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    view = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for header in headers:
        view.add_column(header, overflow="fold")
    for row in rows:
        view.add_row(*(Text(one_line(cell), style=_STYLES.get(cell, "")) for cell in row))
    console = stdout()
    if console.is_terminal:
        console.print(view)
        return
    console.width = 200
    with console.capture() as captured:
        console.print(view)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().split("\n")[:-1]))


_STYLES = {
    "pass": "green", "applied": "green", "needed": "yellow", "fail": "bold red", "error": "bold red",
    "conflict": "bold red", "skip": "yellow", "not run": "dim", "not-run": "dim",
}  # fmt: skip


@contextlib.contextmanager
def progress(description: str, total: float | None = None, *, unit: str = "items") -> Iterator[Bar]:
    """A progress bar on standard error; silent where that is no terminal.

    Args:
        description: what is going on, in a few words.
        total: how much there is to do, None when unknown.
        unit: "bytes" shows sizes and speed; anything else shows counts.
    """
    from rich import progress as rp

    columns: list[rp.ProgressColumn] = [rp.TextColumn("{task.description}"), rp.BarColumn()]
    if unit == "bytes":
        columns += [rp.DownloadColumn(), rp.TransferSpeedColumn()]
    else:
        columns += [rp.MofNCompleteColumn()]
    columns.append(rp.TimeElapsedColumn())
    console = stderr()
    with rp.Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as view:
        yield Bar(view, view.add_task(clean(description), total=total))


class Bar:
    """A running progress bar."""

    def __init__(self, view: Progress, task: Any) -> None:
        self._view = view
        self._task = task

    def advance(self, amount: float = 1) -> None:
        """Move the bar on by `amount`."""
        self._view.advance(self._task, amount)

    def describe(self, text: str) -> None:
        """Change the words before the bar."""
        self._view.update(self._task, description=clean(text))
