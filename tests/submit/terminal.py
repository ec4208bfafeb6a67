"""Drive a command as a person would: at a terminal, one typed answer after each question."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Answer = tuple[str, str | Callable[[], str]]


@dataclass(frozen=True)
class Session:
    """What a command showed at the terminal, and its exit code."""

    output: str
    returncode: int


def at_terminal(command: Sequence[str], answers: Sequence[Answer], *, limit_s: float = 60) -> Session:
    """Run `pinproof COMMAND` at a terminal.

    Args:
        command: the arguments after `pinproof`.
        answers: for each question, words of it and what to type, or what to do before typing it.
        limit_s: when to give up.
    """
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "pinproof", *command], stdin=child, stdout=child, stderr=child,
        env={**os.environ, "TERM": "dumb", "COLUMNS": "200"},
    )  # fmt: skip
    os.close(child)
    output, waiting, deadline = "", list(answers), time.monotonic() + limit_s
    seen = 0
    try:
        while time.monotonic() < deadline:
            if not select.select([parent], [], [], 0.2)[0]:
                continue
            try:
                data = os.read(parent, 65536)
            except OSError:  # the terminal is gone: the process has ended
                break
            if not data:
                break
            output += data.decode(errors="replace")
            if waiting and waiting[0][0] in output[seen:]:
                seen = len(output)
                answer = waiting.pop(0)[1]
                os.write(parent, (answer if isinstance(answer, str) else answer()).encode() + b"\n")
        else:
            process.kill()
    finally:
        os.close(parent)
    returncode = process.wait()
    assert not waiting, f"never asked: {waiting[0][0]!r}\n{output}"
    return Session(output, returncode)
