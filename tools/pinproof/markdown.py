"""Markdown in which outside text stays text: no mention, link, tag, image or heading comes out of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pinproof.console import clean

# What reads best, and is safest, as code: spans that were code already; words with an underscore or a
# slash; and whatever GitHub would turn into a mention, a reference or a link (inside code it does not).
# A span must stand alone: two code spans side by side would run into one.
_SPAN = re.compile(r"(?<!\S)`([^`]+)`(?=[,.;:!?)]*(?:\s|$))")
_WORD = re.compile(r"""(\s+|^)([(\["']*)(\S+?)([,.;:!?"'\])]*)(?=\s|$)""")
_AS_CODE = re.compile(r"\w_|_\w|\w/\w|@|#\d|GH-\d|://|www\.", re.IGNORECASE)
_PUNCTUATION = re.compile(r"([\\`*_\[\]~|$])")
# Signs that begin a heading, a list or a setext underline when a line starts with them.
_LINE_START = re.compile(r"^(?:([#+=-])|(\d+)([.)]))")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_HTML_SIGN = re.compile("[&<>]")


def text(raw: str) -> str:
    """Outside text as one line of plain text; identifiers and whatever could link become code."""
    flat = " ".join(clean(raw).split())
    parts, at = [], 0
    for span in _SPAN.finditer(flat):
        parts += [_WORD.sub(_word, flat[at : span.start()]), code(span[1])]
        at = span.end()
    parts.append(_WORD.sub(_word, flat[at:]))
    return _LINE_START.sub(lambda start: f"{start[2] or ''}\\{start[1] or start[3]}", "".join(parts))


def _word(match: re.Match[str]) -> str:
    """One word with the blanks before it: as code where it must be, else escaped."""
    blanks, before, core, after = match.groups()
    if "(" in core and after.startswith(")"):  # the brackets of a call belong to it
        core, after = core + ")", after[1:]
    shown = code(core) if _AS_CODE.search(core) else _plain(core)
    return f"{blanks}{_plain(before)}{shown}{_plain(after)}"


def code(raw: str) -> str:
    """Outside text as a code span, whatever backticks it holds (CommonMark 6.1)."""
    flat = " ".join(clean(raw).split()) or " "
    fence = "`" * (_longest_run(flat) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def codes(raws: Sequence[str]) -> str:
    """Several texts as code spans, separated by commas; a dash for none."""
    return ", ".join(code(raw) for raw in raws) or "-"


def fence(raw: str, language: str = "") -> str:
    """Outside text as a fenced block, whatever backticks it holds (CommonMark 4.5)."""
    lines = "\n".join(clean(line) for line in raw.rstrip("\n").split("\n"))
    ticks = "`" * max(3, _longest_run(lines) + 1)
    return f"{ticks}{language}\n{lines}\n{ticks}"


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are Markdown already (GFM 4.10: a pipe is escaped even inside code)."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def folded(summary: str, inside: str) -> str:
    """A closed <details> block; `summary` is ours, `inside` is Markdown."""
    return f"<details>\n<summary>{summary}</summary>\n\n{inside}\n\n</details>"


def _cell(raw: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\|", raw)


def _plain(raw: str) -> str:
    escaped = _PUNCTUATION.sub(r"\\\1", raw)
    return _HTML_SIGN.sub(lambda match: _HTML[match.group()], escaped)


def _longest_run(raw: str) -> int:
    return max((len(run) for run in re.findall(r"`+", raw)), default=0)
