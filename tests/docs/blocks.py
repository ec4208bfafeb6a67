"""The command blocks of the documentation: find them, run them, compare what they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

REPO = Path(__file__).resolve().parents[2]
CUT = "[...]"
_LONGEST_S = 300.0


class Step(NamedTuple):
    """A command and what it prints; `[...]` stands for any text, on a line of its own for any lines."""

    line: int
    command: str
    expected: tuple[str, ...]


class Block(NamedTuple):
    """A fenced block of a page: its language, the other words of its info string, its steps."""

    page: str
    language: str
    marks: tuple[str, ...]
    steps: tuple[Step, ...]


def pages() -> list[Path]:
    """Every page of the documentation."""
    docs, github = (REPO / "docs").rglob("*.md"), (REPO / ".github").glob("*.md")
    return [REPO / "README.md", *sorted(docs), *sorted(github)]


def blocks(page: Path) -> Iterator[Block]:
    """The `console` blocks of a page: lines that begin with `$ ` are commands, the others what they print."""
    for token in MarkdownIt("commonmark").parse(page.read_text("utf-8")):
        words = token.info.split()
        if token.type == "fence" and words[:1] == ["console"]:
            name = page.relative_to(REPO).as_posix()
            first = token.map[0] + 2 if token.map else 1
            yield Block(name, words[0], tuple(words[1:]), tuple(_steps(token.content, first)))


def _steps(text: str, first: int) -> Iterator[Step]:
    command, at, printed = "", first, list[str]()
    for number, line in enumerate(text.rstrip("\n").split("\n"), first):
        if line.startswith("$ "):
            if command:
                yield Step(at, command, tuple(printed))
            command, at, printed = line[2:], number, []
        elif line.startswith("> ") and not printed:
            command += "\n" + line[2:]
        else:
            printed.append(line)
    if command:
        yield Step(at, command, tuple(printed))


def run(step: Step, folder: Path) -> str:
    """What a command prints to standard output, in a folder, with this checkout's pinproof."""
    program = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{program}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("COLUMNS", None)  # as into a file: a sentence stays on its line
    done = subprocess.run(
        ["bash", "-c", step.command], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=_LONGEST_S, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.stdout if done.stdout or done.returncode == 0 else done.stdout + done.stderr


def fits(expected: tuple[str, ...], printed: str) -> bool:
    """Whether a text is what a page shows; spaces at the ends of lines do not count."""
    lines = [line.rstrip() for line in printed.rstrip().splitlines()]
    pattern = ""
    for line in expected:
        if line.strip() == CUT:
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.rstrip().split(CUT)) + r"\n"
    return re.fullmatch(pattern.rstrip() or r"\n?", "".join(f"{line}\n" for line in lines)) is not None
