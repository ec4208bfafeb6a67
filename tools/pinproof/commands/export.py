"""Regenerate the patches from a tree, byte for byte the same on every machine.

The tree may have the patches in or out. With all of them in, edits made on top go into the last patch
that touches the file: apply, edit, export refreshes a patch. Says which files changed; --check writes
nothing and exits 1 when one would.
"""

from __future__ import annotations

import argparse

from pinproof.commands.common import add_json, add_patches
from pinproof.console import emit_json, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tree", metavar="TREE", help="a vLLM tree on disk")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 when a patch would change"
    )
    add_patches(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from pinproof.patchset.export import export_series
    from pinproof.patchset.series import load_series, patch_dir
    from pinproof.paths import atomic_write
    from pinproof.tree import open_tree

    folder = patch_dir(args.patches)
    series = load_series(folder)
    made = export_series(series, open_tree(args.tree))
    changed = [patch.name for patch in series if made[patch.name] != patch.raw]
    if not args.check:
        for name in changed:
            atomic_write(folder / name, made[name])
    if args.json:
        emit_json("pinproof.export/1", {"patches": list(made), "changed": changed, "written": not args.check})
    else:
        verb = "would change" if args.check else "written"
        for name in made:
            say(f"{name}: {verb if name in changed else 'unchanged'}")
    return int(args.check and bool(changed))
