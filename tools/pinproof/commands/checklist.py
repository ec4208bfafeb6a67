"""Print the reviewer's checklist of a patch, filled in from its records.

An item is ticked when a record proves it, with a link to the record; what only a person can answer stays
open. With a TREE the records are held against that tree; without one against the patch alone, and each
line names the tree that its record saw. Exit 1 while an item that a record can tick is open.

  pinproof checklist 0001
  pinproof checklist 0001 ../vllm
"""

from __future__ import annotations

import argparse

from pinproof.commands.common import add_json, add_patches
from pinproof.commands.submission import add_policy, located
from pinproof.console import emit_json
from pinproof.errors import Exit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("patch", metavar="PATCH", help="0001, its name or a path")
    parser.add_argument("tree", metavar="TREE", nargs="?", help="the tree to hold the records against")
    add_patches(parser)
    add_policy(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    import sys
    from datetime import datetime, timezone

    from pinproof.patchset.series import find_patch
    from pinproof.submit.checklist import as_markdown, fill
    from pinproof.submit.policy import load_policy
    from pinproof.tree import open_tree

    patch = find_patch(args.patch, args.patches)
    _, store = located(args.patch, patch, args.patches)
    tree = open_tree(args.tree) if args.tree else None
    filled = fill(patch, tree, load_policy(args.policy), store, datetime.now(timezone.utc))
    if args.json:
        import msgspec

        emit_json("pinproof.checklist/1", {"patch": patch.name, "items": msgspec.to_builtins(filled)})
    else:
        sys.stdout.write(as_markdown(filled, patch))
    left = [answer for answer in filled if not answer.ticked and answer.item.by != "person"]
    return Exit.FAILED if left else Exit.OK
