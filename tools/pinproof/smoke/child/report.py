"""How a child tells its parent what it saw: one JSON object a line, appended to a file."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

Job = dict[str, Any]

_path: Path | None = None


def say(event: str, **fields: Any) -> None:
    """Append one event; a line is one write, so that several ranks may share the file."""
    if _path is not None:
        line = json.dumps({"event": event, "rank": rank(), **fields}, default=str)
        with _path.open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")


def rank() -> int:
    """This process's rank; 0 when it is the only one."""
    return int(os.environ.get("RANK", "0"))


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """Announce a step and how long it took; the last one announced is where a crash happened."""
    say("step", name=name)
    start = time.monotonic()
    yield
    say("done", name=name, seconds=round(time.monotonic() - start, 3))


@contextlib.contextmanager
def watching(job: Job) -> Iterator[None]:
    """Note which of the lines that the job names are run inside, and report them as event `ran lines`.

    Only functions of the named files are traced, so the rest runs at full speed.
    """
    root = job.get("tree") or ""
    ranges = {os.path.join(root, path): (path, spans) for path, spans in (job.get("watch") or {}).items()}  # noqa: PTH118
    seen: dict[str, set[int]] = {path: set() for path, _ in ranges.values()}

    def enter(frame: FrameType, event: str, arg: Any) -> Any:
        return inside if frame.f_code.co_filename in ranges else None

    def inside(frame: FrameType, event: str, arg: Any) -> Any:
        path, spans = ranges[frame.f_code.co_filename]
        if any(first <= frame.f_lineno <= last for first, last in spans):
            seen[path].add(frame.f_lineno)
        return inside

    before = sys.gettrace()
    sys.settrace(enter if ranges else before)
    try:
        yield
    finally:
        sys.settrace(before)
        say("ran lines", lines={path: sorted(lines) for path, lines in seen.items()})


def frames(error: BaseException) -> list[dict[str, Any]]:
    """Where an exception was raised, outermost first: module path inside its package, line, function."""
    found = []
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = frame.f_globals.get("__name__", "?")
        found.append({"module": name, "line": line, "function": frame.f_code.co_name})
    return found


def describe(error: BaseException) -> dict[str, Any]:
    """An exception as JSON: class, message and frames, without those of torch and of this package."""
    path = frames(error)
    ours = ("__main__", "pinproof_smoke.", "torch.")
    kept = [frame for frame in path[:-1] if not frame["module"].startswith(ours)] + path[-1:]
    return {"type": type(error).__name__, "message": str(error)[:2000], "frames": kept}


def run(body: Callable[[Job], None]) -> None:
    """Read the job named on the command line and run `body` on it, with a watchdog that dumps all stacks.

    Any exception ends up in the report as event `crashed`; the exit code then is 1.
    """
    global _path
    job: Job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    _path = Path(job["report"])
    faulthandler.enable()
    faulthandler.dump_traceback_later(float(job["timeout_s"]), exit=True)
    try:
        body(job)
    except Exception as error:
        traceback.print_exc()
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        say("crashed", error=describe(error), missing=missing)
        sys.exit(1)
    say("finished")
