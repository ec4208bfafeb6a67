"""Arguments that several commands share: `[PATCH] TREE`, `--patches`, `--json`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from pinproof.errors import InputError
from pinproof.patchset.patchfile import Patch
from pinproof.patchset.series import find_patch, load_series
from pinproof.tree import Tree, open_tree


def add_patches(parser: argparse.ArgumentParser) -> None:
    """Add `--patches DIR`."""
    parser.add_argument(
        "--patches", type=Path, metavar="DIR", help="the patch folder (default: patches/vllm)"
    )


def add_installed(parser: argparse.ArgumentParser) -> None:
    """Add `--installed` and `--python PYTHON`; read them back with installed()."""
    parser.add_argument(
        "--installed", action="store_true",
        help="the tree is the vLLM that is installed for --python",
    )  # fmt: skip
    parser.add_argument(
        "--python", metavar="PYTHON",
        help="the interpreter that runs vLLM (default: the active environment's, else python3 on PATH); "
        "implies --installed",
    )  # fmt: skip


def asks_for_installed(args: argparse.Namespace) -> bool:
    """Whether the command takes --installed, and it (or --python) was given."""
    return "installed" in args and bool(args.installed or args.python)


def installed(args: argparse.Namespace, package: str = "vllm") -> Tree | None:
    """The installed tree, where the arguments ask for it."""
    if not asks_for_installed(args):
        return None
    from pinproof.interpreter import installed_tree

    return installed_tree(args.python, package=package)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON for machines")


def add_patch_and_tree(parser: argparse.ArgumentParser) -> None:
    """Add `[PATCH] TREE`; read them back with patch_and_tree()."""
    parser.add_argument(
        "targets", nargs="*", metavar="[PATCH] TREE",
        help="a patch (0001, its name or a path; default: the whole series) and a tree "
        "(a vLLM checkout, an unpacked sdist, site-packages, or the vllm folder)",
    )  # fmt: skip
    add_patches(parser)


def patch_and_tree(args: argparse.Namespace) -> tuple[list[Patch], Tree]:
    """The patches and the tree that the arguments name.

    Raises:
        InputError: there is no tree, or too much was given.
    """
    targets: list[str] = args.targets
    if (tree := installed(args)) is not None:
        if len(targets) > 1:
            raise InputError("--installed is the tree: give no other")
        patches = [find_patch(targets[0], args.patches)] if targets else load_series(args.patches)
        return patches, tree
    if not targets:
        raise InputError(
            "which tree?",
            hint="give a vLLM tree, --installed, or bring one: pinproof fetch vllm==0.28.0 DIR",
        )
    if len(targets) > 2:
        raise InputError(f"one patch and one tree, not {len(targets)} arguments: {' '.join(targets)}")
    tree = open_tree(targets[-1])
    patches = [find_patch(targets[0], args.patches)] if len(targets) == 2 else load_series(args.patches)
    return patches, tree


def tree_or_release(tree: str | None, release: str | None) -> Tree:
    """The tree on disk, of any known engine, or the release on PyPI, whichever was given.

    Raises:
        InputError: neither or both were given.
    """
    if (tree is None) == (release is None):
        raise InputError("give a tree or --release, one of them", hint="e.g. --release vllm==0.28.0")
    if release is not None:
        from pinproof.releases import parse_release, release_tree

        return release_tree(*parse_release(release))
    return engine_tree(str(tree))


def engine_tree(path: str | Path, package: str | None = None) -> Tree:
    """The tree at `path`, whichever known engine it holds; `package` names another import package.

    Raises:
        InputError: there is nothing there, or no engine in it.
    """
    if package is not None:
        return open_tree(path, package=package)
    from pinproof.contract.watch.watchlist import engines

    for name in engines():
        try:
            return open_tree(path, package=name)
        except InputError:
            if not Path(path).is_dir():
                raise
    known = " or ".join(engines())
    raise InputError(f"{path} is not a {known} tree", hint="--package NAME for another engine")


def add_libraries(parser: argparse.ArgumentParser) -> None:
    """Add `--library NAME=SPEC`; read it back with libraries()."""
    parser.add_argument(
        "--library", action="append", default=[], metavar="NAME=SPEC",
        help="take this library's signatures from a folder, a wheel, a version or a git URL at a commit",
    )  # fmt: skip


def libraries(args: argparse.Namespace) -> dict[str, str]:
    """The --library options as a mapping.

    Raises:
        InputError: one is not NAME=SPEC.
    """
    found: dict[str, str] = {}
    for text in args.library:
        name, equals, spec = text.partition("=")
        if not (name and equals and spec):
            raise InputError(
                f"--library {text!r} is not NAME=SPEC", hint="e.g. --library deep_gemm=../DeepGEMM"
            )
        found[name] = spec
    if found:
        _check_watched(found)
    return found


def _check_watched(names: Iterable[str]) -> None:
    """Refuse a library that is not watched: a typo would otherwise go unnoticed."""
    from pinproof.contract.watch.watchlist import shipped

    known = {watched.name for watched in shipped()}
    for name in names:
        if name not in known:
            hint = f"one of: {', '.join(sorted(known))}"
            raise InputError(f"--library: {name} is not a watched library", hint=hint)
