"""Say what a finding's code means, why it breaks and what to do; without a code, list them.

pinproof explain KC201
pinproof explain
"""

from __future__ import annotations

import argparse

from pinproof.commands.common import add_json
from pinproof.console import emit_json, say
from pinproof.errors import Exit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("code", nargs="?", metavar="CODE", help="e.g. KC201")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the page of a code, or the list of codes."""
    from pinproof.contract.output.codes import codes, page, page_uri

    if args.code is None:
        if args.json:
            emit_json("pinproof.codes/1", {"codes": codes()})
            return Exit.OK
        for code, title in codes().items():
            say(f"{code}  {title.removeprefix(code).lstrip(': ')}")
        return Exit.OK
    code = args.code.upper()
    text = page(code)
    if args.json:
        emit_json("pinproof.code/1", {"code": code, "text": text, "uri": page_uri(code)})
    else:
        for line in text.rstrip().splitlines():
            say(line)
    return Exit.OK
