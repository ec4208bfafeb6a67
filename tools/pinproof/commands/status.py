"""Show each patch's state: its Upstream-Status, what upstream says, the verdict per release, its records.

The verdicts are those of the newest three releases on PyPI, or of --releases A..B. A pull request that
the header names is asked about with gh where gh is installed. What cannot be reached is said in its
place; exit 5 then.

  pinproof status
  pinproof status 0001 --releases 0.26.0..0.33.0
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pinproof.commands.common import add_json, add_patches
from pinproof.console import emit_json, note, say, say_text, table
from pinproof.errors import CannotCheck, Exit, InputError

if TYPE_CHECKING:
    from pinproof.submit.status import PatchStatus
    from pinproof.tree import Tree

_NEWEST = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("patch", nargs="?", metavar="PATCH", help="one patch (default: the whole series)")
    parser.add_argument("--releases", metavar="A..B", help="every final release from A to B")
    add_patches(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from datetime import datetime, timezone

    from pinproof.patchset.series import find_patch, load_series
    from pinproof.submit.status import patch_status
    from pinproof.submit.store import open_store

    patches = [find_patch(args.patch, args.patches)] if args.patch else load_series(args.patches)
    try:
        releases, missing = _releases(args.releases), None
    except CannotCheck as error:
        releases, missing = [], error.message
    if releases:
        note(f"judging on {', '.join(tree.name for tree in releases)}")
    store, now = open_store(args.patches), datetime.now(timezone.utc)
    found = [patch_status(patch, releases, store, now) for patch in patches]
    if args.json:
        import msgspec

        emit_json("pinproof.status/1", {"patches": msgspec.to_builtins(found), "missing": missing})
    else:
        _show(found, missing)
    unknown = missing or any("not known" in verdict for one in found for verdict in one.verdicts.values())
    return Exit.SKIPPED if unknown else Exit.OK


def _releases(given: str | None) -> list[Tree]:
    from pinproof.releases import release_tree, versions, versions_between

    if given is None:
        return [release_tree("vllm", version) for version in versions("vllm")[-_NEWEST:]]
    first, dots, last = given.partition("..")
    if not dots:
        raise InputError(f"--releases {given!r} is not A..B", hint="e.g. --releases 0.26.0..0.33.0")
    return [release_tree("vllm", version) for version in versions_between("vllm", first, last)]


def _show(found: list[PatchStatus], missing: str | None) -> None:
    for one in found:
        say(one.patch)
        say(f"  upstream  {one.stated}" + (f" ({one.upstream})" if one.upstream else ""))
        records = ", ".join(f"{gate} {outcome}" for gate, outcome in one.evidence.items())
        say(f"  records   {records or 'none'}")
        if one.verdicts:
            table(("release", "verdict"), list(one.verdicts.items()))
    if missing:
        say_text(f"releases not looked at: {missing}")
