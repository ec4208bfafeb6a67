"""List which version or commit of each library a tree pins, and the file and line that says so.

Two places that pin one library differently are reported, and the exit code is 1.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pinproof.commands.common import add_json
from pinproof.console import emit_json, say, table

if TYPE_CHECKING:
    from pinproof.pins import Pin


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tree", nargs="?", metavar="TREE", help="a vLLM tree on disk")
    parser.add_argument("--release", metavar="RELEASE", help="a release on PyPI instead, e.g. vllm==0.28.0")
    parser.add_argument("--all", action="store_true", help="every requirement, not only exact pins")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    import msgspec

    from pinproof.commands.common import tree_or_release
    from pinproof.pins import disagreements, read_pins

    tree = tree_or_release(args.tree, args.release)
    pins = read_pins(tree)
    torn = disagreements(pins)
    if args.json:
        builtin = {"pins": msgspec.to_builtins(pins), "disagreements": msgspec.to_builtins(torn)}
        emit_json("pinproof.pins/1", {"tree": tree.name, **builtin})
        return int(bool(torn))
    shown = [pin for pin in pins if pin.exact or args.all]
    table(("library", "pin", "where", "when"), [_row(pin) for pin in shown])
    if len(shown) < len(pins):
        say(f"{len(pins) - len(shown)} open requirements not shown (--all shows them)")
    for split in torn:
        say(f"DISAGREE  {split.library}: {split.sentence()}; {split.pins[0].where} decides")
    return int(bool(torn))


def _row(pin: Pin) -> tuple[str, str, str, str]:
    return pin.library, pin.spec, pin.where, pin.when or ""
