"""Arguments that review, submit, evidence and checklist share: one patch, its file, its records, a policy."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pinproof.commands.common import patch_and_tree
from pinproof.errors import InputError

if TYPE_CHECKING:
    from pinproof.patchset.patchfile import Patch
    from pinproof.submit.store import Store
    from pinproof.tree import Tree


def add_policy(parser: argparse.ArgumentParser) -> None:
    """Add `--policy`."""
    parser.add_argument(
        "--policy", default="vllm", metavar="NAME", help="what upstream asks: a name or a .toml file"
    )


def one_patch(args: argparse.Namespace) -> tuple[Path, Patch, Tree, Store]:
    """The one patch that the arguments name: its file, what it holds, the tree, and its records.

    Raises:
        InputError: the series has several patches and none was named.
    """
    patches, tree = patch_and_tree(args)
    if len(patches) != 1:
        names = ", ".join(patch.number for patch in patches)
        raise InputError(f"which patch? the series has {names}", hint="give one, e.g. 0001")
    spec = args.targets[0] if len(args.targets) == 2 else patches[0].name
    source, store = located(spec, patches[0], args.patches)
    return source, patches[0], tree, store


def located(spec: str, patch: Patch, folder: Path | None) -> tuple[Path, Store]:
    """The file of a patch, and the records beside it."""
    from pinproof.patchset.series import patch_dir
    from pinproof.submit.store import Store

    given_by_path = "/" in spec or (spec.endswith(".patch") and Path(spec).is_file())
    source = Path(spec) if given_by_path else patch_dir(folder) / patch.name
    return source, Store(source.parent / "evidence")
