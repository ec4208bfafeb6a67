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
