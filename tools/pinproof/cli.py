"""Command line: names, groups and dispatch; a command's module is imported only when it runs."""

from __future__ import annotations

import io
import sys

from pinproof import __version__
from pinproof.commands.registry import EVERYDAY, PLUMBING
from pinproof.runner import guarded_output


def main(argv: list[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the arguments after the program's name; the process's own by default.

    Returns:
        The exit code (see pinproof.errors.Exit).
    """
    arguments = sys.argv[1:] if argv is None else argv
    for stream in (sys.stdout, sys.stderr):  # a terminal that lacks a character shows its escape
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with guarded_output():
            code = _dispatch(arguments)
            sys.stdout.flush()  # here, where a reader that has gone away is still caught
        return code
    except BrokenPipeError:
        return _broken_pipe()


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_overview())
        return 0 if arguments else 2
    name, rest = arguments[0], arguments[1:]
    if name in ("-V", "--version"):
        print(f"pinproof {__version__}")
        return 0
    if name not in EVERYDAY and name not in PLUMBING:
        return _unknown(name)
    return _run(name, rest)


def _run(name: str, arguments: list[str]) -> int:
    from pinproof.console import note, typed
    from pinproof.errors import PinproofError
    from pinproof.signals import Terminated

    try:
        return _parse_and_run(name, arguments)
    except PinproofError as error:
        note(f"pinproof {name}: {error.message}")
        if error.hint:
            note(f"  -> {typed(error.hint)}")
        return int(error.exit_code)
    except Terminated as signal:
        note(f"pinproof {name}: ended by signal {signal.number}")
        return 128 + signal.number
    except KeyboardInterrupt:
        note(f"pinproof {name}: interrupted")
        return 130
    except BrokenPipeError:
        raise
    except OSError as error:
        place = f": {error.filename}" if error.filename else ""
        note(f"pinproof {name}: {error.strerror or error}{place}")
        return 2
    except Exception as error:
        from pinproof.crash import report_crash

        return report_crash(name, arguments, error)


def _parse_and_run(name: str, arguments: list[str]) -> int:
    import gc

    from pinproof.commands import network
    from pinproof.commands.registry import load, parser_of
    from pinproof.progress import heartbeat

    # A short run that builds syntax trees: collecting every 700 objects costs it a tenth of its time.
    gc.set_threshold(100_000, 20, 20)
    command = load(name)
    parser = parser_of(name, command)
    # Intermixed, so that `PATCH --json TREE` reads as people write it.
    options = parser.parse_intermixed_args(arguments)
    with network.adopted(options), heartbeat(name):
        return int(command.run(options))


def _broken_pipe() -> int:
    """The reader went away (`| head`): quiet, and no second complaint when Python flushes at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


def _unknown(name: str) -> int:
    import difflib

    from pinproof.console import note

    close = difflib.get_close_matches(name, [*EVERYDAY, *PLUMBING], 1)
    note(f"pinproof: no command {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
    note("  -> pinproof --help")
    return 2


def _overview() -> str:
    width = max(map(len, [*EVERYDAY, *PLUMBING]))
    lines = [
        "usage: pinproof COMMAND [ARGUMENTS]",
        "",
        "Prove vLLM patches against the pinned kernel libraries.",
        "",
    ]
    for title, group in (("everyday", EVERYDAY), ("plumbing", PLUMBING)):
        lines.append(f"{title}:")
        lines.extend(f"  {name:{width}}  {text}" for name, text in group.items())
        lines.append("")
    lines.append(
        "`pinproof COMMAND --help` has the details. Exit codes: 0 done, 1 a gate failed, 2 bad input,"
    )
    lines.append(
        "3 refused, 4 conflict, 5 a required proof could not be run here, 70 a fault of pinproof's own."
    )
    return "\n".join(lines)
