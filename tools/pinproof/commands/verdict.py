"""Say whether a patch is needed on a tree or a release, and why: by content and contract.

  needed       the call is broken on this tree and the patch fixes it
  applied      the patch is in and the contract holds
  not-needed   the pinned library still takes the names that stand there; applying would break the call
  obsolete     the call was rewritten or has moved, and holds
  conflict     the call is broken and the patch does not fix it here
  absent       this tree has no such file
  unknown      the pinned library's signature is not available, so nothing decides

Exit code 0 when every verdict is needed or applied, 3 when one is not-needed, obsolete, absent or unknown,
4 on a conflict. With --releases, 0 when every release could be judged.

  pinproof verdict TREE
  pinproof verdict --installed --json
  pinproof verdict --release vllm==0.28.0
  pinproof verdict --releases 0.26.0..0.33.0
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pinproof.commands.common import add_installed, add_json, add_libraries, add_patches, installed, libraries
from pinproof.console import emit_json, note, say, say_text, table
from pinproof.errors import Exit, InputError
from pinproof.patchset.patchfile import Patch

if TYPE_CHECKING:
    from pinproof.patchset.verdict import Verdict
    from pinproof.tree import Tree

_FINE = ("needed", "applied")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "targets", nargs="*", metavar="[PATCH] [TREE]",
        help="a patch (0001, its name or a path; default: the whole series) and a tree",
    )  # fmt: skip
    add_installed(parser)
    parser.add_argument("--release", action="append", default=[], metavar="RELEASE", help="a release on PyPI")
    parser.add_argument("--releases", metavar="A..B", help="every final release from A to B")
    add_patches(parser)
    add_libraries(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from pinproof.patchset.installed import since_then

    patches, trees = _inputs(args)
    for history in filter(None, map(since_then, trees)):
        note(f"note: {history}")
    verdicts: list[Verdict] = []
    for tree in trees:
        for verdict in _judge_all(patches, tree, args):
            verdicts.append(verdict)
            if not args.json and len(trees) > 1:
                note(f"{verdict.tree}: {verdict.verdict}")
    if args.json:
        import msgspec

        emit_json("pinproof.verdict/1", {"verdicts": msgspec.to_builtins(verdicts)})
    else:
        _show(verdicts, many=len(trees) > 1)
    return _exit(verdicts, many=args.releases is not None)


def _judge_all(patches: list[Patch], tree: Tree, args: argparse.Namespace) -> Iterator[Verdict]:
    from pinproof.patchset.verdict import judge

    for patch in patches:
        yield judge(patch, tree, libraries(args))


def _inputs(args: argparse.Namespace) -> tuple[list[Patch], list[Tree]]:
    """Patches and trees from the arguments; a lone argument beside --release(s) is a tree or a patch."""
    from pinproof.patchset.series import find_patch, load_series
    from pinproof.tree import open_tree

    targets = list(args.targets)
    releases = _releases(args)
    if (here := installed(args)) is not None:
        releases.append(here)
    if len(targets) > 2 or not (targets or releases):
        raise InputError(
            "give a tree, --installed, --release X, or --releases A..B", hint="pinproof verdict --help"
        )
    patch_spec = targets.pop(0) if len(targets) == 2 else None
    if len(targets) == 1 and releases and not _is_dir(targets[0]):
        patch_spec = targets.pop()
    patches = [find_patch(patch_spec, args.patches)] if patch_spec else load_series(args.patches)
    return patches, [*releases, *(open_tree(path) for path in targets)]


def _is_dir(path: str) -> bool:
    from pathlib import Path

    return Path(path).is_dir()


def _releases(args: argparse.Namespace) -> list[Tree]:
    from pinproof.releases import parse_release, release_tree, versions_between

    specs = [parse_release(spec) for spec in args.release]
    if args.releases:
        first, dots, last = args.releases.partition("..")
        if not dots:
            raise InputError(
                f"--releases {args.releases!r} is not A..B", hint="e.g. --releases 0.26.0..0.33.0"
            )
        project, first = parse_release(first)
        specs += [(project, version) for version in versions_between(project, first, parse_release(last)[1])]
    return [release_tree(project, version) for project, version in specs]


def _show(verdicts: list[Verdict], *, many: bool) -> None:
    if many:
        table(("tree", "verdict", "why"), [(v.tree, v.verdict, v.sentence) for v in verdicts])
    else:
        for verdict in verdicts:
            say(f"{verdict.patch}: {verdict.verdict}")
            say_text(verdict.sentence, "  ")
    for warning in dict.fromkeys(warning for verdict in verdicts for warning in verdict.warnings):
        say_text(f"warning: {warning}")


def _exit(verdicts: list[Verdict], *, many: bool) -> int:
    names = {verdict.verdict for verdict in verdicts}
    if many:
        return Exit.REFUSED if "unknown" in names else Exit.OK
    if "conflict" in names:
        return Exit.CONFLICT
    return Exit.OK if names <= set(_FINE) else Exit.REFUSED
