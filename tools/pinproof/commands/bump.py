"""Print the table of a bump: what a newer engine breaks in a plugin, what changed, what to adapt.

  pinproof bump vllm==0.29.0 .
  pinproof bump vllm==0.29.0 --release vllm-omni==0.28.0 -o bump.md
  pinproof bump vllm==newest .                      newest-pre: release candidates too
  pinproof bump vllm==0.29.0 . --clone ../vllm      with the commit that did it

The pin is what the plugin states; nothing is edited. Exit codes: 0 nothing breaks; 1 something does; 2 bad
input; 5 the pin cannot be told, or a version cannot be read.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pinproof.commands.common import add_json
from pinproof.console import emit_json, say
from pinproof.errors import Exit, InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add = parser.add_argument
    add("engine", metavar="NAME==V", help="the engine's version to move to, e.g. vllm==0.29.0")
    add("tree", nargs="?", metavar="TREE", help="a plugin's checkout, unpacked sdist or package folder")
    add("--release", metavar="NAME==V", help="a release on the package index, e.g. vllm-omni==0.28.0")
    add("--library", metavar="NAME=SPEC", help="the version it is on, over what the plugin states")
    add("--clone", type=Path, metavar="DIR", help="a clone of the engine: names the commits")
    add("-o", "--output", type=Path, metavar="FILE", help="write the Markdown there too")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Check both versions and print what differs."""
    from pinproof.seams import bump
    from pinproof.seams.sides import step

    name, equals, _ = args.engine.partition("==")
    if not equals:
        raise InputError(f"{args.engine!r}: write NAME==V", hint="e.g. pinproof bump vllm==0.29.0 .")
    done = step(args.tree, args.release, args.library, args.engine)
    found = bump.dated(done.rows, name, done.first, done.last)
    if args.clone is not None:
        found = bump.with_commits(found, args.clone, done.first, done.last)
    text = bump.markdown(found, done.plugin, name, done.first, done.last)
    if args.output is not None:
        from pinproof.paths import atomic_write

        atomic_write(args.output, text.encode())
    if args.json:
        import msgspec

        rows = msgspec.to_builtins(found)
        emit_json(
            "pinproof.bump/1", {"plugin": done.plugin, "from": done.first, "to": done.last, "rows": rows}
        )
    else:
        say(text.rstrip())
    return Exit.FAILED if any(row.sure != "to be read" for row in found) else Exit.OK
