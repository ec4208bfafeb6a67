"""Run the real pre-commit once, follow it hook by hook, and end it when a hook hangs."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Literal

import msgspec

from pinproof.environment import without_secrets
from pinproof.errors import CannotCheck
from pinproof.gates.precommit.plan import Plan
from pinproof.gates.precommit.reach import TRANSPORT
from pinproof.git import git_env

# `python -m pre_commit`, but with the tree kept off sys.path: -m would put the current folder, which is
# the tree under check, before the standard library.
_PRE_COMMIT = (
    "import os, sys; sys.path[:] = [p for p in sys.path if p not in ('', os.getcwd())]; "
    "from pre_commit.main import main; raise SystemExit(main())"
)
# A first run makes the hooks' environments: vLLM's take 40 s here, minutes on a slow link.
INSTALL_LIMIT_S = 1800.0
_MOST_OUTPUT = 64 * 1024
_NUMBER = re.compile(r"-?[0-9]{1,9}(\.[0-9]{1,9})?")

Watch = Callable[[str, int, str], None]
"""Called with ("start", hook index, ""), ("end", hook index, status) or ("note", -1, a line)."""


class HookRun(msgspec.Struct):
    """What pre-commit said of one hook: its status word, and what stands below it."""

    status: Literal["Passed", "Failed", "Skipped"]
    output: str = ""
    exit_code: int = 0
    duration_s: float = 0.0
    modified: bool = False


class Session(msgspec.Struct):
    """One run of pre-commit: how far it came.

    `ended` is "done", "hang" (the hook `at` ran out of time) or "broken" (pre-commit gave up: before any
    hook when `at` is None, else in that hook); `said` is then the end of what it printed.
    """

    runs: dict[int, HookRun]
    ended: Literal["done", "hang", "broken"]
    at: int | None = None
    said: str = ""


def run_pre_commit(
    plans: Sequence[Plan],
    settings: dict[str, Any],
    *,
    root: Path,
    home: Path,
    arguments: Sequence[str],
    hook_limit_s: float,
    watch: Watch,
) -> Session:
    """Give pre-commit a config with these hooks, run it in `root`, and read what it prints.

    Args:
        plans: the hooks, in order.
        settings: the tree's config without its repos.
        root: the git repository to run in.
        home: pre-commit's cache folder; the config is written there.
        arguments: for `pre-commit run`: stage and files.
        hook_limit_s: how long one hook may take.
        watch: told what happens.

    Raises:
        CannotCheck: pre-commit could not be started.
    """
    # A fresh prefix in each hook's name: no hook's output can be taken for pre-commit's own lines.
    nonce = secrets.token_hex(8)
    config = home / f"run-{nonce}.yaml"
    options = ["--config", str(config), "--verbose", "--color", "never"]
    command = [sys.executable, "-c", _PRE_COMMIT, "run", *options, *arguments]
    config.write_bytes(_config(plans, settings, nonce))
    try:
        process = subprocess.Popen(
            command, cwd=root, env=_environment(root, home), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise CannotCheck(f"pre-commit could not be started: {error}") from error
    with contextlib.ExitStack() as undo:
        undo.callback(config.unlink, missing_ok=True)
        undo.callback(_end, process)
        reader = Reader(nonce, watch)
        assert process.stdout is not None
        hung = _follow(process.stdout, reader, hook_limit_s)
        if not hung:
            process.wait()
        return reader.session(None if hung else process.returncode)


def _config(plans: Sequence[Plan], settings: dict[str, Any], nonce: str) -> bytes:
    import yaml

    repos = []
    for plan in plans:
        spec = {**plan.spec, "name": f"{nonce}-{plan.hook.index}", "fail_fast": False}
        revision = {} if plan.repo in ("local", "meta") else {"rev": plan.hook.rev}
        repos.append({"repo": plan.repo, **revision, "hooks": [spec]})
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text = yaml.dump({**settings, "fail_fast": False, "repos": repos}, Dumper=dumper, sort_keys=False)
    return str(text).encode()


def _environment(root: Path, home: Path) -> dict[str, str]:
    env = {
        key: value
        for key, value in without_secrets(git_env()).items()
        # SKIP would skip hooks behind the gate's back; the others change what pre-commit does
        if key != "SKIP"
        and not key.startswith(("PRE_COMMIT", "_PRE_COMMIT", "GIT_AUTHOR_", "GIT_COMMITTER_"))
    }
    env.pop("GIT_NO_LAZY_FETCH", None)
    fence = {"GIT_CEILING_DIRECTORIES": str(root.parent), "GIT_ALLOW_PROTOCOL": TRANSPORT}
    return {**env, **fence, "PRE_COMMIT_HOME": str(home)}


def _follow(stream: IO[bytes], reader: Reader, hook_limit_s: float) -> bool:
    """Feed the reader until pre-commit closes its output; whether the time ran out first."""
    started, now = reader.current, time.monotonic()
    deadline = now + INSTALL_LIMIT_S
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                return True
            chunk = os.read(stream.fileno(), 1 << 16)
            if not chunk:
                return False
            reader.feed(chunk)
            if reader.current != started:
                started, deadline = reader.current, time.monotonic() + hook_limit_s


def _end(process: subprocess.Popen[bytes]) -> None:
    """End pre-commit and every hook it started; they share its process group."""
    if process.stdout is not None:
        process.stdout.close()
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=2)


class Reader:
    """Reads `pre-commit run --verbose`: a line per hook, then `- key: value` lines and its output."""

    def __init__(self, nonce: str, watch: Watch) -> None:
        self._started = re.compile(rf"{nonce}-(\d+)\.+")
        self._ended = re.compile(rf"{nonce}-(\d+)\.+(?:\(no files to check\))?(Passed|Failed|Skipped)")
        self._watch = watch
        self._nonce = nonce.encode()
        self._kept = 0
        self._dropped: dict[int | None, int] = {}
        self._partial = b""
        self._bodies: dict[int, list[str]] = {}
        self._status: dict[int, Literal["Passed", "Failed", "Skipped"]] = {}
        self._preamble: list[str] = []
        self._last: int | None = None
        self.current: int | None = None

    def feed(self, chunk: bytes) -> None:
        """Take in what was printed next."""
        text = self._partial + chunk
        if self._kept > _MOST_OUTPUT and self._nonce not in text:  # a hook that prints without end
            self._partial = text[text.rfind(b"\n") + 1 :][:_MOST_OUTPUT]
            self._dropped[self._last] = self._dropped.get(self._last, 0) + len(text) - len(self._partial)
            return
        *lines, self._partial = text.split(b"\n")
        if len(self._partial) > _MOST_OUTPUT:
            lines.append(self._partial)
            self._partial = b""
        for line in lines:
            self._line(line.decode(errors="replace"))
        start = self._started.fullmatch(self._partial.decode(errors="replace"))
        if start and int(start[1]) != self.current:
            self.current = int(start[1])
            self._watch("start", self.current, "")

    def _line(self, line: str) -> None:
        end = self._ended.fullmatch(line)
        if end is None:
            (self._preamble if self._last is None else self._bodies[self._last]).append(line)
            self._kept += len(line) + 1
            if self._last is None and line.startswith("[INFO]"):
                self._watch("note", -1, line.removeprefix("[INFO]").strip())
            return
        self._last, self.current, self._kept = int(end[1]), None, 0
        self._status[self._last] = end[2]  # type: ignore[assignment]
        self._bodies[self._last] = []
        self._watch("end", self._last, end[2])

    def session(self, exit_code: int | None) -> Session:
        """What was learned, given pre-commit's exit code; None when it had to be ended."""
        broken = exit_code not in (0, 1) or self.current is not None or (exit_code == 1 and not self._status)
        ended: Literal["done", "hang", "broken"] = (
            "hang" if exit_code is None else "broken" if broken else "done"
        )
        last = self._preamble if self._last is None else self._bodies[self._last]
        said = "\n".join([*last[-60:], self._partial.decode(errors="replace")]).strip() if broken else ""
        runs = {index: _hook_run(status, self._bodies[index], self._dropped.get(index, 0))
                for index, status in self._status.items()}  # fmt: skip
        return Session(runs, ended, self.current, said)


def _hook_run(status: Literal["Passed", "Failed", "Skipped"], body: list[str], dropped: int = 0) -> HookRun:
    """A hook's run from the lines below its status; `dropped` characters of its output were not kept."""
    run = HookRun(status)
    at = 0
    for line in body:
        if not line.startswith("- "):
            break
        at += 1
        key, _, value = line[2:].partition(": ")
        if key == "duration" and _NUMBER.fullmatch(value.removesuffix("s")):  # a hook's id may hold lines
            run.duration_s = float(value.removesuffix("s"))
        elif key == "exit code" and _NUMBER.fullmatch(value):
            run.exit_code = int(float(value))
        elif line == "- files were modified by this hook":
            run.modified = True
    output = "\n".join(body[at:]).strip("\n")
    cut = len(output) + dropped - _MOST_OUTPUT
    run.output = output if cut <= 0 else f"{output[:_MOST_OUTPUT]}\n[{cut} more characters]"
    return run
