"""Check every call of a tree into its kernel libraries against the versions it pins. Nothing is imported.

  pinproof contract TREE
  pinproof contract --release vllm==0.33.0 --with flashinfer-python==0.7.4
  pinproof contract TREE --library deep_gemm=~/DeepGEMM --sarif > contract.sarif
  pinproof contract --files vllm/a.py vllm/b.py
  pinproof contract TREE --github --output junit=report.xml --output markdown=summary.md

Exit codes: 0 every call that could be decided fits; 1 a call fails; 2 bad input; 5 a pinned library's
signatures were not available, so its calls were not checked.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pinproof.commands.common import add_installed, asks_for_installed, installed
from pinproof.console import note
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
    add_installed(parser)
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
    add("--explain", metavar="ID", help="show everything about one finding")
    add("--no-cache", action="store_true", help="decide everything anew")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON for machines")
    form.add_argument("--sarif", action="store_true", help="print SARIF 2.1.0")
    form.add_argument("--github", action="store_true", help="print GitHub annotations")
    form.add_argument("--gitlab", action="store_true", help="print a GitLab code quality report")
    form.add_argument("--junit", action="store_true", help="print JUnit XML")
    form.add_argument("--markdown", action="store_true", help="print a job summary in Markdown")
    add("--output", action="append", default=[], metavar="FORMAT=FILE",
        help="also write json, sarif, github, gitlab, junit or markdown to a file (repeatable)")  # fmt: skip
    add("--baseline", type=Path, metavar="FILE",
        help="the JSON of an earlier run: its findings are known and do not fail this one")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Check the tree and show what was found."""
    from pinproof.contract.syntax.parse import without_gc

    with without_gc():
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    from pinproof.contract.check import check_tree
    from pinproof.contract.output import formats, render
    from pinproof.contract.output.findings import findings
    from pinproof.contract.watch.watchlist import load
    from pinproof.seams.learned import settle

    args.output = formats.wanted_files(args.output)
    watched = load(args.watch)
    tree = _tree(args)
    overrides = _overrides(args.library, watched)
    files = _files(args.files, tree) if args.files else None
    report = check_tree(tree, files=files, libraries=overrides, watched=watched, cached=not args.no_cache)
    report = settle(report, tree)
    if args.moved:
        report = _moved(args.moved, report, tree, watched, overrides, files, cached=not args.no_cache)
    known = formats.known_ids(args.baseline) if args.baseline else frozenset()
    every = findings(report.calls, guarded=True)
    found = [f for f in every if f.id not in known and (args.include_guarded or f.guard is None)]
    if args.explain:
        if not render.explain(report, args.explain):
            raise InputError(f"no finding has the id {args.explain!r} in this run")
        return Exit.OK
    _show(args, report, found, tree, known=len({f.id for f in every} & known))
    return _exit_code(
        report, failing=any(f.guard is None for f in found), quiet=_form(args) in (None, "json")
    )


def _form(args: argparse.Namespace) -> str | None:
    """The form that standard output is wanted in; None is a person's."""
    from pinproof.contract.output.formats import FORMS

    return next((form for form in FORMS if getattr(args, form)), None)


def _show(args: argparse.Namespace, report: Report, found: list[Finding], tree: Tree, *, known: int) -> None:
    """Print the run, and write the files that were asked for beside it."""
    import sys

    from pinproof.contract.output import render
    from pinproof.contract.output.formats import FORMS
    from pinproof.paths import atomic_write
    from pinproof.runner import write_command

    form, here = _form(args), _from_here(found, tree)
    for name, path in args.output:
        content = FORMS[name](report, found if name == "json" else here)
        atomic_write(path, content.encode(errors="replace"))
    if form is None:
        render.people(report, found)
    elif form == "github":
        for line in render.github(here):
            write_command(line)
    else:
        sys.stdout.write(FORMS[form](report, found if form == "json" else here))
    if known:
        note(f"{known} known finding(s) of {args.baseline} not shown")


def _exit_code(report: Report, *, failing: bool, quiet: bool) -> int:
    missing = [u for u in report.unchecked if u.pinned]
    if not quiet:
        for unchecked in missing:
            note(f"cannot check {unchecked.library}: {unchecked.reason}\n  -> {unchecked.hint}")
    if failing:
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
    if asks_for_installed(args):
        if args.tree:
            raise InputError("--installed is the tree: give no other")
        return _installed(args)
    path = args.tree or ("." if args.files else None)
    if path is None:
        raise InputError("which tree?", hint="pinproof contract TREE, or --release vllm==0.33.0")
    if args.package:
        return engine_tree(path, args.package)
    return open_any(path, engines())


def _installed(args: argparse.Namespace) -> Tree:
    """The first engine that the interpreter has."""
    from pinproof.contract.watch.watchlist import engines

    packages = [args.package] if args.package else list(engines())
    for package in packages[:-1]:
        with contextlib.suppress(InputError):
            if (tree := installed(args, package)) is not None:
                return tree
    tree = installed(args, packages[-1])
    assert tree is not None
    return tree


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
            raise InputError(f"{name} is not a file of {tree.name}")
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
    from pinproof.seams.learned import settle

    name, _, version = wish.partition("==")
    if not version:
        raise InputError(f"--with {wish!r}: write NAME==V")
    library = find(watched, name).name
    then = check_tree(
        tree, files=files, libraries={**overrides, library: version}, watched=watched, cached=cached
    )
    then = settle(then, tree)
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
