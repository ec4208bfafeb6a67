"""Lay a tree out for import, untouched: links to its files, a built vLLM below, changes on top."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from pinproof.tree import Tree, check_relative


def is_compiled(root: Path) -> bool:
    """Whether this source root holds vLLM's compiled extension."""
    return any(root.glob("vllm/_C*.so"))


def lay(
    dest: Path, tree: Tree, *, below: Path | None = None, more: Mapping[str, bytes] | None = None
) -> None:
    """Make `dest/vllm` importable as the tree's package.

    Every file is a link of its own, so that Python's caches land in `dest` and not in the tree.

    Args:
        dest: the folder to fill; what it held before goes.
        tree: the tree; must be on disk, its in-memory changes are written as files.
        below: the source root of a built vLLM whose files show through where the tree has none.
        more: further files by path, for what neither holds.
    """
    if dest.exists():
        _drop_links(dest)
    dest.mkdir(parents=True, exist_ok=True)
    root = tree.disk_root().resolve()
    if below is not None and below.resolve() != root:
        _link_all(below.resolve(), dest)
    _link_all(root, dest)
    for path, data in {**(more or {}), **_changes(tree)}.items():
        _write(dest / check_relative(path), data)


def _write(target: Path, data: bytes) -> None:
    """A file of our own, without the bytecode of what stood there: two writes in a second look alike."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    target.write_bytes(data)
    for stale in (target.parent / "__pycache__").glob(f"{target.stem}.*.pyc"):
        stale.unlink()


def _changes(tree: Tree) -> Mapping[str, bytes]:
    return getattr(tree.files, "changed", {})


def _drop_links(dest: Path) -> None:
    """Remove what an earlier run laid, but not Python's caches: they make the next import quick."""
    for folder, _, names in os.walk(dest):
        if Path(folder).name != "__pycache__":
            for name in names:
                (Path(folder) / name).unlink()


def _link_all(root: Path, dest: Path) -> None:
    for source in _files(root):
        target = dest / source.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        target.symlink_to(source)


def _files(root: Path) -> Iterator[Path]:
    """The package's files, and its metadata, from which vLLM learns what it was built for."""
    for folder, folders, names in os.walk(root / "vllm"):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (Path(folder) / name for name in names)
    for metadata in root.glob("vllm-*.dist-info"):
        yield from (path for path in metadata.iterdir() if path.is_file())


def metadata(tree: Tree) -> dict[str, bytes]:
    """The metadata of an installed vLLM of the tree's version, which vLLM asks for its own version.

    Without it vLLM turns Triton off. Nothing where the tree holds metadata, or does not know its version.
    """
    if tree.version is None or any(tree.disk_root().glob("vllm-*.dist-info")):
        return {}
    text = f"Metadata-Version: 2.1\nName: vllm\nVersion: {tree.version}\n"
    return {f"vllm-{tree.version}.dist-info/METADATA": text.encode()}
