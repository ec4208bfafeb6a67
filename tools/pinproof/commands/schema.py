"""Print the JSON Schema of a command's JSON, or write all of them.

pinproof schema                 the names
pinproof schema verdict         one schema
pinproof schema --write DIR     every schema, as docs/schemas holds them
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pinproof.console import json_text, say
from pinproof.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="a command whose --json it describes")
    parser.add_argument("--write", type=Path, metavar="DIR", help="write every schema to DIR/NAME.json")


def run(args: argparse.Namespace) -> int:
    """Print names, print one, or write all."""
    from pinproof.commands.outputs import OUTPUTS, schema

    if args.write is not None:
        args.write.mkdir(parents=True, exist_ok=True)
        for name in OUTPUTS:
            (args.write / f"{name}.json").write_text(json_text(schema(name)), encoding="utf-8")
        say(f"{len(OUTPUTS)} schemas in {args.write}")
    elif args.name is None:
        say("\n".join(OUTPUTS))
    elif args.name in OUTPUTS:
        say(json_text(schema(args.name)).rstrip("\n"))
    else:
        raise InputError(f"no schema {args.name!r}", hint="pinproof schema lists them")
    return 0
