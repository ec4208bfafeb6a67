"""Apply patches where they are needed; --revert undoes it.

The verdict decides, not the text: a patch is written when the call is broken on this tree and the patch
fixes it; "already applied" writes nothing and is a success; anything else is refused with the reason.
All files change or none does. A git tree is changed through git (index and worktree agree); a plain
folder or an installed package through a journal, so that even a killed run leaves every file whole.

  pinproof apply TREE              the whole series, where needed
  pinproof apply 0001 TREE         one patch
  pinproof apply --dry-run TREE    show the diff, write nothing
  pinproof apply --revert TREE     take the series out again
  pinproof apply --installed --if-needed
                                   in an image: 0 also when nothing is to be done
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pinproof.commands.common import (
    add_installed,
    add_json,
    add_libraries,
    add_patch_and_tree,
    asks_for_installed,
    libraries,
    patch_and_tree,
)
from pinproof.console import emit_json, note, say, say_text
from pinproof.errors import CannotCheck, Conflict

if TYPE_CHECKING:
    from pinproof.patchset.apply import Plan
    from pinproof.patchset.patchfile import Patch
    from pinproof.tree import Tree


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_patch_and_tree(parser)
    add_installed(parser)
    parser.add_argument("--revert", action="store_true", help="take the patches out, last first")
    parser.add_argument("--dry-run", action="store_true", help="show the diff and write nothing")
    parser.add_argument(
        "--if-needed", action="store_true",
        help="succeed also when the tree does not want it: not-needed, obsolete, absent",
    )  # fmt: skip
    parser.add_argument(
        "--3way", dest="three_way", action="store_true", help="merge where the text does not apply"
    )
    parser.add_argument(
        "--force", action="store_true", help="write although the verdict is against it (says what breaks)"
    )
    add_libraries(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from pinproof.patchset.apply import unified_diff
    from pinproof.patchset.installed import since_then
    from pinproof.patchset.journal import tree_lock

    patches, tree = patch_and_tree(args)
    if (history := since_then(tree)) is not None:
        note(f"note: {history}")
    if args.dry_run:
        plan = _plan(patches, tree, args)
        _show(plan, tree, args, unified_diff(plan, tree))
        return 0
    with tree_lock(tree.disk_root()):
        plan = _change(patches, tree, args)
    _show(plan, tree, args, "")
    return 0


def _change(patches: list[Patch], tree: Tree, args: argparse.Namespace) -> Plan:
    from pinproof.patchset.apply import carry_out, settle_tree
    from pinproof.patchset.series import load_series

    if done := settle_tree(tree):
        note(f"pinproof apply: {done}")
    plan = _plan(patches, tree, args)
    if plan.contents:
        carry_out(plan, tree, series=load_series(args.patches) if _named(args) else patches)
    return plan


def _named(args: argparse.Namespace) -> bool:
    """Whether the user named one patch."""
    return len(args.targets) == (1 if asks_for_installed(args) else 2)


def _plan(patches: list[Patch], tree: Tree, args: argparse.Namespace) -> Plan:
    from pinproof.patchset.apply import plan_apply, plan_revert

    named = _named(args)
    if args.revert:
        return plan_revert(patches, tree, named=named)
    try:
        return plan_apply(
            patches, tree, named=named, force=args.force, three_way=args.three_way,
            if_needed=args.if_needed, libraries=libraries(args),
        )  # fmt: skip
    except Conflict as error:
        raise Conflict(error.message, hint=error.hint or _where_it_applies(patches, tree)) from error


def _where_it_applies(patches: list[Patch], tree: Tree) -> str | None:
    """What a person needs next: the base the patch was made on, and the nearest release that takes it."""
    from pinproof.patchset.timemachine import closest_release

    base = ", ".join(f"{diff.path} blob {(diff.old_id or '?')[:12]}" for diff in patches[0].diffs)
    try:
        release = closest_release(patches[0], tree.version)
    except CannotCheck as error:
        return f"made on {base}; nearest release unknown: {error.message}"
    where = f"the nearest release it applies to is {release}" if release else "no release near takes it"
    return f"made on {base}; {where}; --3way tries a merge"


def _show(plan: Plan, tree: Tree, args: argparse.Namespace, diff: str) -> None:
    import msgspec

    if args.json:
        steps = msgspec.to_builtins(plan.steps)
        emit_json("pinproof.apply/1", {
            "tree": tree.name, "dry_run": args.dry_run, "revert": args.revert, "steps": steps,
            "files": sorted(plan.contents) if not args.dry_run else [], "diff": diff,
        })  # fmt: skip
        return
    for step in plan.steps:
        would = "would be " if args.dry_run and step.action == "write" else ""
        say_text(f"{step.patch}: {would}{step.note}")
    if diff:
        say(diff.rstrip("\n"))
    elif plan.contents:
        say_text(f"changed in {tree.name}: {', '.join(sorted(plan.contents))}")
