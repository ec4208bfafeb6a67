"""What a tree is: the files of an engine's source root, on disk or in a release on PyPI."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from pinproof.errors import InputError
from pinproof.names import is_reserved, is_safe
from pinproof.paths import read_regular

Kind = Literal["git", "plain", "installed", "release"]

# The largest file that anything here reads is a library's compiled module; the largest text that states
# pins, a Dockerfile or METADATA, has 0.1 MB in vLLM 0.33.0.
LARGEST = 64 << 20
LARGEST_TEXT = 4 << 20
_SKIP_DIRS = {".git", ".venv", "node_modules", "__pycache__"}


class Files(Protocol):
    """Read-only access to a set of files by POSIX path relative to the tree's root."""

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, or None where there is no such regular file."""

    def paths(self, under: str = "", suffix: str = "") -> Iterator[str]:
        """Every file below the folder `under` whose name ends with `suffix`, sorted."""


class DiskFiles:
    """Files below a folder on disk; never follows a link that leaves the folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._real_root = Path(os.path.realpath(root))

    def read(self, path: str) -> bytes | None:
        full = self.root / check_relative(path)
        real = Path(os.path.realpath(full))
        if not real.is_relative_to(self._real_root) or not real.is_file():
            return None
        if any(map(is_reserved, real.relative_to(self._real_root).parts)):
            return None  # a link into a nested .git, whose config may hold a password
        return read_regular(real, LARGEST)

    def trouble(self, path: str) -> str | None:
        """Why something that stands at a path gives no bytes; None when nothing stands there, or it does."""
        full = self.root / check_relative(path)
        if not os.path.lexists(full):
            return None
        real = Path(os.path.realpath(full))
        if not real.is_relative_to(self._real_root):
            return f"a link that leads out of the tree (-> {real})"
        if not real.is_file():
            return "not a plain file"
        try:
            with real.open("rb"):
                return None
        except OSError as error:
            return f"it cannot be opened: {error.strerror}"

    def paths(self, under: str = "", suffix: str = "") -> Iterator[str]:
        # Links are not followed: no loops. A list, not recursion: a tree may be a thousand folders deep.
        todo = [under.rstrip("/") + "/" if under else ""]
        while todo:
            prefix = todo.pop()
            try:
                with os.scandir(self.root / prefix) as entries:
                    found = sorted(entries, key=lambda entry: entry.name)
            except OSError:
                continue
            dirs = [entry.name for entry in found if entry.is_dir()]
            yield from (prefix + e.name for e in found if e.name.endswith(suffix) and not e.is_dir())
            links = {entry.name for entry in found if entry.is_symlink()}
            todo += [f"{prefix}{d}/" for d in reversed(dirs) if d not in _SKIP_DIRS and d not in links]


class OverlayFiles:
    """Files with some contents replaced (None: removed): a tree after a patch, without writing it."""

    def __init__(self, base: Files, changed: Mapping[str, bytes | None]) -> None:
        self.base: Files = base
        self.changed: dict[str, bytes | None] = dict(changed)
        if isinstance(base, OverlayFiles):  # an overlay of an overlay is one overlay
            self.base = base.base
            self.changed = {**base.changed, **changed}

    def read(self, path: str) -> bytes | None:
        return self.changed[path] if path in self.changed else self.base.read(path)

    def paths(self, under: str = "", suffix: str = "") -> Iterator[str]:
        seen = set(self.base.paths(under, suffix))
        prefix = under.rstrip("/") + "/" if under else ""
        for path, content in self.changed.items():
            if content is None:
                seen.discard(path)
            elif path.startswith(prefix) and path.endswith(suffix):
                seen.add(path)
        yield from sorted(seen)


class BelowFiles:
    """The files below one folder of another set of files, with paths from that folder."""

    def __init__(self, base: Files, folder: str) -> None:
        self.base = base
        self._prefix = folder.rstrip("/") + "/"

    def read(self, path: str) -> bytes | None:
        return self.base.read(self._prefix + check_relative(path))

    def paths(self, under: str = "", suffix: str = "") -> Iterator[str]:
        for path in self.base.paths(self._prefix + under if under else self._prefix.rstrip("/"), suffix):
            yield path[len(self._prefix) :]

    def prefetch(self, paths: Iterable[str]) -> None:
        fetch = getattr(self.base, "prefetch", None)
        if fetch is not None:
            fetch(self._prefix + path for path in paths)


@dataclass(frozen=True)
class Tree:
    """A source root: of an engine, or of a project built on one.

    Attributes:
        kind: git checkout, plain folder (an unpacked sdist), installed package, or release on PyPI.
        name: how to call it in output: a path as the user gave it, or `vllm==0.28.0`.
        files: its files.
        root: where it lies on disk; None for a release.
        package: the import package it holds, e.g. `vllm`.
        version: the release it says it is, None when it does not say.
        packages: every import package it holds, where that is known to be more than `package`.
        project: the files of the project's folder, where the packages lie in a folder below it (src).
    """

    kind: Kind
    name: str
    files: Files
    root: Path | None = None
    package: str = "vllm"
    version: str | None = None
    packages: tuple[str, ...] = ()
    project: Files | None = None

    @property
    def project_files(self) -> Files:
        """Where pyproject.toml, requirements and metadata are looked for."""
        return self.project or self.files

    def read(self, path: str) -> bytes | None:
        """The bytes of one file, None when there is none."""
        return self.files.read(path)

    def trouble(self, path: str) -> str | None:
        """Why something that stands at `path` cannot be read; None when nothing does, or it can."""
        files = self.files
        if isinstance(files, OverlayFiles):
            if path in files.changed:
                return None
            files = files.base
        return files.trouble(path) if isinstance(files, DiskFiles) else None

    def read_text(self, path: str) -> str | None:
        """One file as text; bytes that are not UTF-8 are replaced. None when there is none.

        Raises:
            InputError: it is larger than any text that states pins or metadata.
        """
        return text_of(self.files, path)

    def prefetch(self, paths: Iterable[str]) -> None:
        """Bring these files of a release here in few requests; nothing to do for a tree on disk."""
        files = self.files.base if isinstance(self.files, OverlayFiles) else self.files
        fetch = getattr(files, "prefetch", None)
        if fetch is not None:
            fetch(paths)

    def with_changes(self, changed: Mapping[str, bytes | None]) -> Tree:
        """This tree with some files' contents replaced; nothing is written."""
        return replace(self, files=OverlayFiles(self.files, changed))

    def disk_root(self) -> Path:
        """The root on disk.

        Raises:
            InputError: the tree is a release on PyPI.
        """
        if self.root is None:
            raise InputError(f"{self.name} is not on disk", hint=f"pinproof fetch {self.name} DIR")
        return self.root


def text_of(files: Files, path: str) -> str | None:
    """One file of a set as text; bytes that are no UTF-8 are replaced. None when there is none.

    Raises:
        InputError: it is larger than any text that states pins or metadata.
    """
    data = files.read(path)
    if data is not None and len(data) > LARGEST_TEXT:
        raise InputError(f"{path} is larger than {LARGEST_TEXT >> 20} MiB: not read")
    return None if data is None else data.decode("utf-8", errors="replace")


def check_relative(path: str) -> str:
    """`path` itself when it is a plain relative POSIX path that stays inside the tree.

    Raises:
        InputError: it is not (pinproof.names says what makes it so).
    """
    if not is_safe(path):
        raise InputError(f"unsafe path {path!r}: a path must be relative and stay inside the tree")
    return path


def open_tree(path: str | Path, *, package: str = "vllm") -> Tree:
    """The tree at `path`: a checkout, an unpacked sdist, a site-packages folder or the package itself.

    Raises:
        InputError: there is nothing there, or it holds no such package.
    """
    given = Path(path)
    if not given.is_dir():
        what = "is not a folder" if given.exists() else "does not exist"
        raise InputError(f"{given} {what}", hint="give a checkout, an unpacked sdist or site-packages; "
                         "`pinproof fetch vllm==0.28.0 DIR` brings one")  # fmt: skip
    root = _root_of(given, package)
    if root is None:
        raise InputError(
            f"{given} is not a {package} tree: it holds no {package}/__init__.py",
            hint=f"give a checkout, an unpacked sdist, site-packages, or the {package} folder itself",
        )
    version = _version(root, package)
    if (root / ".git").exists():
        kind: Kind = "git"
    elif _dist_info(root, package) is not None:
        kind = "installed"
    else:
        kind = "plain"
    return Tree(kind, str(given), DiskFiles(root), root, package, version)


# Where a checkout keeps its package: at the top (vLLM), in python/ (SGLang), in src/ (the packaging guide's).
_LAYOUTS = ("", "python", "src")


def _root_of(given: Path, package: str) -> Path | None:
    """The folder that holds the package, from the folder that was given; None when there is none."""
    for layout in _LAYOUTS:
        if (given / layout / package / "__init__.py").is_file():
            return given / layout
    resolved = given.resolve()
    if resolved.name == package and (given / "__init__.py").is_file():
        return given.parent if given.name == package else resolved.parent
    return None


def _dist_info(root: Path, package: str) -> Path | None:
    found = sorted(root.glob(f"{package}-*.dist-info/METADATA"))
    return found[-1] if found else None


def metadata_path(tree: Tree) -> str | None:
    """Where the tree keeps its core metadata (PKG-INFO or *.dist-info/METADATA), if it has any."""
    files = tree.project_files
    if files.read("PKG-INFO") is not None:
        return "PKG-INFO"
    if tree.root is not None:
        found = _dist_info(tree.root, tree.package)
        return None if found is None else found.relative_to(tree.root).as_posix()
    if tree.version:
        path = f"{tree.package}-{tree.version}.dist-info/METADATA"
        return path if files.read(path) is not None else None
    return None


def _version(root: Path, package: str) -> str | None:
    metadata = _dist_info(root, package) or root / "PKG-INFO"
    if not metadata.is_file():
        return None
    with metadata.open(encoding="utf-8", errors="replace") as stream:
        head = stream.read(4000)
    match = re.search(r"^Version: *([A-Za-z0-9.!+_-]+)", head, re.MULTILINE)
    return match.group(1) if match else None
