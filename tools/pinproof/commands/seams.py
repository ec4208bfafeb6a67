"""Check where a plugin overrides or patches its engine: is it there, and does it fit? Nothing is imported.

  pinproof seams .                              against the version that the plugin pins
  pinproof seams . --with vllm==0.29.0          what would break there, and which patches to read again
  pinproof seams --release vllm-omni==0.28.0 --with 0.29.0

Codes: KC301 to KC306 for overrides, KC401 to KC406 for runtime patches and text anchors. A change under a
patch (KC403, KC404, KC405) is for a person to read and fails nothing.

Exit codes: 0 every seam fits; 1 one is broken; 2 bad input; 5 the engine's version cannot be told or read.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pinproof.commands.common import add_json
from pinproof.console import emit_json, say
from pinproof.errors import Exit

if TYPE_CHECKING:
    from pinproof.seams.model import Seam, Seams

_SHOWN_DIFF = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add = parser.add_argument
    add("tree", nargs="?", metavar="TREE", help="a plugin's checkout, unpacked sdist or package folder")
    add("--release", metavar="NAME==V", help="a release on the package index, e.g. vllm-ascend==0.28.0rc1")
    add(
        "--library",
        dest="engine",
        metavar="NAME=SPEC",
        help="the engine to hold it against: vllm=0.28.0, or vllm=FOLDER",
    )
    add(
        "--with",
        dest="moved",
        metavar="NAME==V",
        help="what would break there, e.g. vllm==0.29.0",
    )
    add("--include-guarded", action="store_true", help="show what a version test keeps from running too")
    add("--diff", action="store_true", help="show what has changed under each patch")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Examine the seams and show what was found."""
    from pinproof.seams.sides import open_sides

    found = open_sides(args.tree, args.release, args.engine, args.moved)
    if args.json:
        import msgspec

        shown = [seam for seam in found.found if args.include_guarded or seam.guard is None]
        body = msgspec.to_builtins(msgspec.structs.replace(found, found=tuple(shown)))
        emit_json("pinproof.seams/1", body)
    else:
        _people(found, guarded=args.include_guarded, diff=args.diff)
    return Exit.FAILED if found.failing else Exit.OK


def _people(found: Seams, *, guarded: bool, diff: bool) -> None:
    for seam in found.found:
        if seam.guard is None or guarded:
            _one(seam, diff=diff)
    counts = found.counts
    say(
        f"{found.plugin} with {found.engine}: {counts.files} files; {counts.overrides} overrides in "
        f"{counts.classes} classes, {counts.patches} patches of {counts.targets} targets, "
        f"{counts.anchors} text anchors"
    )
    behind = sum(seam.guard is not None for seam in found.found)
    review = sum(seam.level == "review" and seam.guard is None for seam in found.found)
    tail = f"; {behind} behind a test that does not hold there" if behind else ""
    say(f"{len(found.failing)} broken, {review} to read again{tail}")


def _one(seam: Seam, *, diff: bool) -> None:
    say(f"{seam.file}:{seam.line}: {seam.code} {seam.message}")
    for line in seam.evidence:
        say(f"    {line}")
    if seam.guard is not None:
        say(f"    guarded: {seam.guard} does not hold there")
    for line in seam.diff[:_SHOWN_DIFF] if diff else ():
        say(f"    {line}")
    if diff and len(seam.diff) > _SHOWN_DIFF:
        say(f"    ... {len(seam.diff) - _SHOWN_DIFF} lines more")
