"""Check every call of a tree into its kernel libraries against the versions it pins. Nothing is imported.

  pinproof contract TREE
  pinproof contract --release vllm==0.33.0 --with flashinfer-python==0.7.4
  pinproof contract TREE --library deep_gemm=~/DeepGEMM --sarif > contract.sarif
  pinproof contract --files vllm/a.py vllm/b.py

Exit codes: 0 every call that could be decided fits; 1 a call fails; 2 bad input; 5 a pinned library's
signatures could not be had, so its calls were not checked.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pinproof.console import emit_json, note
from pinproof.contract.model import Report
from pinproof.contract.watch.watchlist import Watched
from pinproof.errors import Exit, InputError
from pinproof.tree import Tree

if TYPE_CHECKING:
    from pinproof.contract.output.findings import Finding


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add = parser.add_argument
    add(
        "tree",
        nargs="?",
        metavar="TREE",
        help="a checkout, an unpacked sdist, site-packages or the package folder",
    )
    add("--release", metavar="NAME==V", help="a release on the package index, e.g. vllm==0.33.0")
    add(
        "--package",
        metavar="NAME",
        help="the engine's import package (default: vllm or sglang, whichever is there)",
    )
    add("--library", action="append", default=[], metavar="NAME=SPEC",
        help="take this library from SPEC: a version, a folder, a wheel, a snapshot file, git+URL@COMMIT, "
        "or the engine release that vendors it (vllm==0.28.0)")  # fmt: skip
    add("--with", dest="moved", metavar="NAME==V", help="what would break if the pin moved to V")
    add("--watch", type=Path, metavar="FILE", help="a watch list (TOML) to add to the shipped one")
    add("--files", nargs="+", metavar="F", help="check the calls in these files only")
    add("--include-guarded", action="store_true", help="show drift behind a guard too")
    add("--explain", metavar="ID", help="tell all about one finding")
    add("--no-cache", action="store_true", help="decide everything anew")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON for machines")
    form.add_argument("--sarif", action="store_true", help="print SARIF 2.1.0")
    form.add_argument("--github", action="store_true", help="print GitHub annotations")


def run(args: argparse.Namespace) -> int:
    """Check the tree and show what was found."""
    from pinproof.contract.syntax.parse import without_gc

    with without_gc():
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    from pinproof.contract.check import check_tree
    from pinproof.contract.output import render
    from pinproof.contract.output.findings import findings
    from pinproof.contract.watch.watchlist import load

    watched = load(args.watch)
    tree = _tree(args)
    overrides = _overrides(args.library, watched)
    files = _files(args.files, tree) if args.files else None
    report = check_tree(tree, files=files, libraries=overrides, watched=watched, cached=not args.no_cache)
    if args.moved:
        report = _moved(args.moved, report, tree, watched, overrides, files, cached=not args.no_cache)
    found = findings(report.calls, guarded=args.include_guarded)
    if args.explain:
        if not render.explain(report, args.explain):
            raise InputError(f"no finding has the id {args.explain!r} in this run")
        return Exit.OK
    if args.json:
        emit_json("pinproof.contract/1", render.machine(report, found))
    elif args.sarif:
        _print_sarif(_from_here(found, tree))
    elif args.github:
        render.github(_from_here(found, tree))
    else:
        render.people(report, found)
    return _exit_code(report, quiet=not (args.sarif or args.github))


def _exit_code(report: Report, *, quiet: bool) -> int:
    missing = [u for u in report.unchecked if u.pinned]
    if not quiet:
        for unchecked in missing:
            note(f"cannot check {unchecked.library}: {unchecked.reason}\n  -> {unchecked.hint}")
    if report.failing:
        return Exit.FAILED
    return Exit.SKIPPED if missing else Exit.OK


def _tree(args: argparse.Namespace) -> Tree:
    from pinproof.commands.common import engine_tree
    from pinproof.contract.watch.watchlist import engines
    from pinproof.opening import open_any
    from pinproof.releases import parse_release, release_tree

    if args.release:
        if args.tree:
            raise InputError("give a TREE or --release, not both")
        return release_tree(*parse_release(args.release))
    path = args.tree or ("." if args.files else None)
    if path is None:
        raise InputError("which tree?", hint="pinproof contract TREE, or --release vllm==0.33.0")
    if args.package:
        return engine_tree(path, args.package)
    return open_any(path, engines())


def _overrides(given: list[str], watched: tuple[Watched, ...]) -> dict[str, str]:
    from pinproof.contract.watch.watchlist import find

    found: dict[str, str] = {}
    for item in given:
        name, _, spec = item.partition("=")
        if not spec:
            raise InputError(f"--library {item!r}: write NAME=SPEC")
        found[find(watched, name).name] = str(Path(spec).expanduser()) if spec.startswith("~") else spec
    return found


def _files(given: list[str], tree: Tree) -> list[str]:
    """Paths in the tree, from paths as a shell or pre-commit gives them; files outside it are left out."""
    found: list[str] = []
    for name in given:
        path = Path(name)
        if tree.root is not None and (path.is_absolute() or not (tree.root / path).is_file()):
            resolved, root = path.resolve(), tree.root.resolve()
            path = resolved.relative_to(root) if resolved.is_relative_to(root) else path
        if tree.read(path.as_posix()) is None:
            raise InputError(f"{name} is no file of {tree.name}")
        found.append(path.as_posix())
    return found


def _moved(
    wish: str,
    now: Report,
    tree: Tree,
    watched: tuple[Watched, ...],
    overrides: Mapping[str, str],
    files: list[str] | None,
    *,
    cached: bool,
) -> Report:
    """The report with one library moved, less what fails already."""
    import msgspec

    from pinproof.contract.check import check_tree
    from pinproof.contract.watch.watchlist import find

    name, _, version = wish.partition("==")
    if not version:
        raise InputError(f"--with {wish!r}: write NAME==V")
    library = find(watched, name).name
    then = check_tree(
        tree, files=files, libraries={**overrides, library: version}, watched=watched, cached=cached
    )
    already = {(c.file, c.line, c.col, c.callee) for c in now.failing}
    then.calls = [
        c for c in then.calls if c.library == library and (c.file, c.line, c.col, c.callee) not in already
    ]
    then.libraries = [
        msgspec.structs.replace(u, source="given as --with") for u in then.libraries if u.library == library
    ]
    then.unchecked = [u for u in then.unchecked if u.library == library]
    return then


def _from_here(found: list[Finding], tree: Tree) -> list[Finding]:
    """Findings with paths from the working folder, where it holds the tree: what code scanning expects."""
    import msgspec

    here = Path.cwd()
    root = tree.root.resolve() if tree.root else here
    if root == here or not root.is_relative_to(here):
        return found
    below = root.relative_to(here)
    return [msgspec.structs.replace(item, file=(below / item.file).as_posix()) for item in found]


def _print_sarif(found: list) -> None:  # type: ignore[type-arg]
    import sys

    from pinproof.console import json_text
    from pinproof.contract.output import sarif

    sys.stdout.write(json_text(sarif.log(found)))
