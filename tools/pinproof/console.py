"""The terminal: people's view through rich, JSON for machines, nothing hostile printed raw."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

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


_NARROWEST = 40
# Into a file or a pipe a table may be wider than a terminal, as no cell is to be folded without need.
_FILE_COLUMNS = 200


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
    return _console(stderr=False)


def stderr() -> Console:
    """The console for progress, warnings and errors (standard error)."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    """Colour as NO_COLOR, FORCE_COLOR, CLICOLOR and CLICOLOR_FORCE ask for (rich knows the first two)."""
    from rich.console import Console

    forced = os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0")
    off = os.environ.get("CLICOLOR") == "0" and not forced and not os.environ.get("FORCE_COLOR")
    return Console(
        stderr=stderr, highlight=False, soft_wrap=True, force_terminal=True if forced else None,
        no_color=True if off or os.environ.get("NO_COLOR") else None,
    )  # fmt: skip


def width(stream: TextIO) -> int | None:
    """How many columns there are: $COLUMNS, else the terminal's; None where lines may be of any length."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given) > 0:
        return max(int(given), _NARROWEST)
    if not stream.isatty():
        return None
    return max(shutil.get_terminal_size().columns, _NARROWEST)


def folded(text: str, stream: TextIO, *, first: str = "", rest: str = "") -> str:
    """`text` at the width of `stream`, its lines beginning with `first`, then `rest`.

    Away from a terminal a sentence stays on one line, where grep finds it.
    """
    columns = width(stream)
    if columns is None:
        return first + text
    return textwrap.fill(
        text, columns, initial_indent=first, subsequent_indent=rest,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def say(text: str = "") -> None:
    """Print one line of result, cleaned, without markup."""
    sys.stdout.write(clean(text) + "\n")


def say_text(text: str, indent: str = "") -> None:
    """Print a sentence of result, cleaned and folded to the terminal's width."""
    sys.stdout.write(clean(folded(text, sys.stdout, first=indent, rest=indent + "  ")) + "\n")


def typed(command: str) -> str:
    """A `pinproof ...` command as it can be typed here: by its path where it is not on PATH (a checkout)."""
    program = sys.argv[0]
    if not command.startswith("pinproof ") or program.rpartition(os.sep)[2] != "pinproof":
        return command
    found = shutil.which("pinproof")
    if found is not None and os.path.realpath(found) == os.path.realpath(program):
        return command
    return min(program, os.path.relpath(program), key=len) + command.removeprefix("pinproof")


def say_labelled(label: str, text: str) -> None:
    """Print `  label   text`; folded to the terminal's width, the label standing out to the left."""
    indent = f"  {label:9} "
    say(folded(text, sys.stdout, first=indent, rest=" " * len(indent)))


def note(text: str) -> None:
    """Print one line to standard error, cleaned: progress and warnings."""
    # A command to run next is left whole, to be copied.
    lines = [
        line if line.startswith("  -> ") else folded(line, sys.stderr, rest="  ")
        for line in clean(text).split("\n")
    ]
    sys.stderr.write("\n".join(lines) + "\n")
    sys.stderr.flush()


def emit_json(schema: str, payload: dict[str, Any]) -> None:
    """Print a machine's view: `payload` under a versioned `schema` name such as pinproof.verdict/1."""
    sys.stdout.write(json_text({"schema": schema, **payload}))


def json_text(value: Any) -> str:
    """A value as indented JSON with a final newline, in which nothing stands raw that clean() escapes."""
    import msgspec

    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:  # a path with bytes that are not UTF-8, as Python keeps them
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
    console.width = width(sys.stdout) or _FILE_COLUMNS
    with console.capture() as captured:
        console.print(view)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().split("\n")[:-1]))


_STYLES = {
    "pass": "green", "applied": "green", "needed": "yellow", "fail": "bold red", "error": "bold red",
    "conflict": "bold red", "skip": "yellow", "not run": "dim", "not-run": "dim",
}  # fmt: skip
