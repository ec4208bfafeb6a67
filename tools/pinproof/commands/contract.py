"""Check every call of a tree into its kernel libraries against the versions it pins. Nothing is imported.

  pinproof contract TREE
  pinproof contract --release vllm==0.33.0 --with flashinfer-python==0.7.4
  pinproof contract TREE --library deep_gemm=~/DeepGEMM --sarif > contract.sarif
  pinproof contract --files vllm/a.py vllm/b.py
  pinproof contract TREE --explain 24036506bf
  pinproof contract TREE --witness 24036506bf | python -
  pinproof contract TREE --github --output junit=report.xml --output markdown=summary.md

Exit codes: 0 every call that could be decided fits; 1 a call fails, and nothing else; 2 bad input; 5 no
call fails, but something that may matter was not looked at: signatures of a pinned library, a file, pins
that contradict each other, or not one call could be bound.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pinproof.commands.common import add_installed, asks_for_installed, installed
from pinproof.console import emit_json, note, say
from pinproof.contract.model import Report
from pinproof.contract.watch.watchlist import Watched
from pinproof.errors import CannotCheck, Exit, InputError
from pinproof.tree import Tree

if TYPE_CHECKING:
    from pinproof.contract.moved import Moved
    from pinproof.contract.output.findings import Finding
    from pinproof.contract.output.policy import Outcome


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
    add("--with", dest="moved", action="append", default=[], metavar="NAME==V",
        help="what would break if the pin moved to V; several move together")  # fmt: skip
    add("--watch", type=Path, metavar="FILE", help="a watch list (TOML) to add to the shipped one")
    add("--files", nargs="+", metavar="F", help="check the calls in these files only")
    add("--hook", nargs="*", metavar="F", help="the files of a commit: a pin file among them has the whole "
        "tree checked, and held against the pin of HEAD")  # fmt: skip
    add("--include-guarded", action="store_true", help="show drift behind a guard too")
    add("--explain", metavar="ID", help="tell all about one finding (with --json for machines)")
    add("--witness", metavar="ID", help="print a program that dies as the call of this finding will")
    add("--baseline", type=Path, metavar="FILE", help="show only what is not in FILE (an earlier --json)")
    add("--config", type=Path, metavar="FILE", help="settings instead of the tree's pinproof.toml")
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


def run(args: argparse.Namespace) -> int:
    """Check the tree and show what was found."""
    from pinproof.contract.syntax.parse import without_gc

    with without_gc():
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    from datetime import date

    from pinproof.commands.common import parse_libraries
    from pinproof.contract.check import check_tree
    from pinproof.contract.hook import moves
    from pinproof.contract.moved import move
    from pinproof.contract.output import formats
    from pinproof.contract.output.findings import findings
    from pinproof.contract.output.policy import outcome
    from pinproof.contract.watch.settings import load_settings
    from pinproof.contract.watch.watchlist import load, merged
    from pinproof.seams.learned import settle

    args.output = formats.wanted_files(args.output)
    tree = _tree(args)
    settings = load_settings(tree, args.config)
    watched = merged(load(args.watch), settings.library)
    overrides = parse_libraries(args.library, watched)
    wished = _moves(args.moved, watched)
    _resolve({**overrides, **wished}, watched)
    pins, files = _of_commit(args, tree)
    if files == [] and not pins:
        return Exit.OK  # the commit holds neither Python nor a pin
    baseline = formats.known_ids(args.baseline) if args.baseline else frozenset()
    moved = None
    if wished:
        moved = move(tree, wished, files=files, libraries=overrides, watched=watched,
                     cached=not args.no_cache, guarded=args.include_guarded,
                     settle=lambda report: settle(report, tree))  # fmt: skip
        report, found = moved.report, list(moved.broken)
    else:
        report = check_tree(tree, files=files, libraries=overrides, watched=watched, cached=not args.no_cache)
        report = settle(report, tree)
        found = findings(report.calls, guarded=args.include_guarded)
    if args.explain or args.witness:
        return _one(args, report, tree)
    whole = files is None and moved is None
    shifted = [move.sentence() for move in moves(tree, pins, found, watched)] if pins else []
    result = outcome(report, found, settings, baseline=baseline, today=date.today(), whole=whole)
    _show(args, report, result, tree, moved)
    for line in shifted:
        note(line)
    return result.exit


def _of_commit(args: argparse.Namespace, tree: Tree) -> tuple[list[str], list[str] | None]:
    """The pin files of the commit, and the files to check (None: all of the tree)."""
    if args.hook is None:
        return [], _files(args.files, tree) if args.files else None
    from pinproof.contract.hook import split

    pins, python = split(tree, _files(args.hook, tree))
    return pins, None if pins else python


def _form(args: argparse.Namespace) -> str | None:
    """The form that standard output is wanted in; None is a person's."""
    from pinproof.contract.output.formats import FORMS

    return next((form for form in FORMS if getattr(args, form)), None)


def _show(args: argparse.Namespace, report: Report, result: Outcome, tree: Tree, moved: Moved | None) -> None:
    """Print the run, and write the files that were asked for beside it."""
    import msgspec

    from pinproof.contract.output import render
    from pinproof.contract.output.formats import FORMS, SCHEMA
    from pinproof.paths import atomic_write
    from pinproof.runner import write_command

    form = _form(args)
    here = msgspec.structs.replace(result, shown=tuple(_from_here(list(result.shown), tree)))
    for name, path in args.output:
        content = FORMS[name](report, result if name == "json" else here)
        atomic_write(path, content.encode(errors="replace"))
    if form is None:
        render.people(report, result)
        for line in _difference(moved) if moved is not None else ():
            say(line)
    elif form == "json":
        data = render.machine(report, result)
        if moved is not None:
            data |= {
                "already": msgspec.to_builtins(moved.already), "mended": msgspec.to_builtins(moved.mended)
            }  # fmt: skip
        emit_json(SCHEMA, data)
    elif form == "github":
        for line in render.github(here):
            write_command(line)
    else:
        sys.stdout.write(FORMS[form](report, here))
    if form not in (None, "json"):
        for line in (*result.unproved, *result.notes):
            note(line)


def _difference(moved: Moved) -> Iterator[str]:
    """What does not break by the move, but is worth knowing."""
    if moved.already:
        yield f"{len(moved.already)} fail there too, and already as it is pinned now:"
        yield from (f"  {f.file}:{f.line}: {f.code} {f.message} ({f.id})" for f in moved.already)
    if moved.mended:
        yield f"{len(moved.mended)} fail as it is pinned now and would not then:"
        yield from (f"  {f.file}:{f.line}: {f.code} {f.message} ({f.id})" for f in moved.mended)


def _one(args: argparse.Namespace, report: Report, tree: Tree) -> int:
    """Tell all about one finding, or print its witness."""
    from pinproof.contract.output import render, witness
    from pinproof.contract.output.findings import numbered

    wanted = args.explain or args.witness
    if args.witness:
        for call, finding in numbered(report.calls):
            if finding.id == wanted:
                made, what = witness.failing(call, tree)
                if made is None:
                    raise CannotCheck(what)
                note(what)
                sys.stdout.write(made.program)
                return Exit.OK
    elif (told := render.explained(report, wanted)) is not None:
        if args.json:
            emit_json("pinproof.finding/1", told)
        else:
            render.explain(told)
        return Exit.OK
    raise InputError(f"no finding has the id {wanted!r} in this run")


def _tree(args: argparse.Namespace) -> Tree:
    from dataclasses import replace

    from pinproof.commands.common import engine_tree
    from pinproof.contract.watch.watchlist import engines
    from pinproof.opening import open_any
    from pinproof.releases import parse_release, release_tree

    if args.release:
        if args.tree:
            raise InputError("give a TREE or --release, not both")
        tree = release_tree(*parse_release(args.release))
        if args.package and tree.read(f"{args.package}/__init__.py") is None:
            raise InputError(f"{tree.name} holds no package {args.package}")
        return replace(tree, package=args.package) if args.package else tree
    if asks_for_installed(args):
        if args.tree:
            raise InputError("--installed is the tree: give no other")
        return _installed(args)
    path = args.tree or ("." if args.files or args.hook is not None else None)
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


def _moves(given: list[str], watched: tuple[Watched, ...]) -> dict[str, str]:
    from pinproof.contract.watch.watchlist import find

    found: dict[str, str] = {}
    for wish in given:
        name, _, version = wish.partition("==")
        if not version:
            raise InputError(f"--with {wish!r}: write NAME==V")
        library = find(watched, name).name
        if library in found:
            raise InputError(f"--with names {library} twice: {found[library]} and {version}")
        found[library] = version
    return found


def _resolve(given: Mapping[str, str], watched: tuple[Watched, ...]) -> None:
    """Look each wish of the user up before any work is done, so that a wrong one says so at once.

    Raises:
        InputError: there is no such version, file or folder. What is out of reach is no error here.
    """
    from pinproof.contract.sources import fetching
    from pinproof.contract.watch.watchlist import find

    for name, spec in given.items():
        with contextlib.suppress(CannotCheck):
            fetching.from_spec(find(watched, name), spec)


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


def _from_here(found: list[Finding], tree: Tree) -> list[Finding]:
    """Findings with paths from the working folder, where it holds the tree: what code scanning expects."""
    import msgspec

    here = Path.cwd()
    root = tree.root.resolve() if tree.root else here
    if root == here or not root.is_relative_to(here):
        return found
    below = root.relative_to(here)
    return [msgspec.structs.replace(item, file=(below / item.file).as_posix()) for item in found]
