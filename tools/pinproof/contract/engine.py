"""The tree under check as Python modules: parsed when needed, and the libraries they call."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from pinproof.contract.library import Library
from pinproof.contract.modules import absolute, parse
from pinproof.contract.scopes import Binding, Scope, bound_by, scopes
from pinproof.contract.signatures import FunctionNode
from pinproof.contract.watchlist import Watched
from pinproof.tree import Tree


class SourceFile:
    """One parsed file of the tree."""

    def __init__(self, path: str, module: str, package: bool, data: bytes, tree: ast.Module) -> None:
        self.path = path
        self.module = module
        self.package = package
        self.data = data
        self.tree = tree
        self.scope = Scope(self, tree, None, module)
        self._globals: dict[str, list[tuple[Scope, Binding]]] | None = None

    def absolute(self, source: str | None, level: int) -> str:
        """The absolute module of a `from ... import` in this file."""
        return absolute(self.module, self.package, source, level)

    def set_in_functions(self) -> dict[str, list[tuple[Scope, Binding]]]:
        """Module names that functions bind through `global`."""
        if self._globals is None:
            self._globals = {}
            if b"global " in self.data:
                self._read_globals(self.scope)
        return self._globals

    def _read_globals(self, scope: Scope) -> None:
        for step in scope.steps:
            if isinstance(step.node, FunctionNode | ast.ClassDef):
                inner = scope.inner(step.node, step.node.name, step)
                if not isinstance(step.node, ast.ClassDef):
                    self._read_function(inner)
                self._read_globals(inner)

    def _read_function(self, scope: Scope) -> None:
        names = {n for s in scope.steps if isinstance(s.node, ast.Global) for n in s.node.names}
        if not names:
            return
        assert self._globals is not None
        for step in scope.steps:
            for name, binding in bound_by(step):
                if name in names:
                    self._globals.setdefault(name, []).append((scope, binding))


class Engine:
    """The modules of a tree, and the watched libraries they may call.

    Args:
        tree: the tree.
        watched: the watch list.
        library: gives the signatures of a watched library, None when they cannot be had.
    """

    def __init__(
        self, tree: Tree, watched: Iterable[Watched], library: Callable[[Watched], Library | None]
    ) -> None:
        self.tree = tree
        self._library = library
        self._by_import = {name: w for w in watched for name in w.imports}
        self._vendored = {place: (w, name) for w in watched for name, place in w.vendored.items()}
        self._files: dict[str, SourceFile | None] = {}
        self._needles = [name.encode() for name in self._by_import]
        self.patched: set[str] = set()
        self._known: dict[str, bool] = {}
        self._tops = {tree.package}
        self.unread: dict[str, str] = {}
        self.read_paths: set[str] = set()

    def watched(self, module: str) -> tuple[Watched, str] | None:
        """The watched library a module belongs to, and the module's name in it; None for no such."""
        for place, (watched, name) in self._vendored.items():
            if module == place or module.startswith(place + "."):
                return watched, name + module[len(place) :]
        found = self._by_import.get(module.split(".", 1)[0])
        return (found, module) if found else None

    def seeds(self, file: SourceFile) -> set[str]:
        """The identifiers that may lead from this file to a watched library."""
        found = set(self._by_import)
        for scope in scopes(file.scope):
            for step in scope.steps:
                if isinstance(step.node, ast.ImportFrom):
                    found.update(self._carriers(file.absolute(step.node.module, step.node.level), step.node))
        return found

    def _carriers(self, module: str, node: ast.ImportFrom) -> set[str]:
        """Names imported from a module of the tree that may itself reach a watched library."""
        if not self.has_module(module):
            return set()
        stem = module.replace(".", "/")
        data = self.tree.read(f"{stem}.py") or self.tree.read(f"{stem}/__init__.py") or b""
        return {a.asname or a.name for a in node.names} if self.may_matter(data) else set()

    def may_matter(self, data: bytes) -> bool:
        """Whether a file's text names a watched library at all."""
        return any(name in data for name in self._needles)

    def library(self, watched: Watched) -> Library | None:
        """The signatures of a watched library, None when they cannot be had."""
        return self._library(watched)

    def has_module(self, name: str) -> bool:
        """Whether the tree has a module of this name; it is not parsed for that."""
        if name.split(".", 1)[0] not in self._tops:
            return False
        found = self._known.get(name)
        if found is None:
            stem = name.replace(".", "/")
            found = any(self.tree.read(p) is not None for p in (f"{stem}/__init__.py", f"{stem}.py"))
            self._known[name] = found
        return found

    def module(self, name: str) -> SourceFile | None:
        """The parsed file of one of the tree's modules, None when the tree has no such module."""
        stem = name.replace(".", "/")
        return self.file(f"{stem}/__init__.py") or self.file(f"{stem}.py")

    def file(self, path: str) -> SourceFile | None:
        """One parsed file of the tree, None when it is not there or does not parse."""
        if path not in self._files:
            self._files[path] = self._parse(path)
        return self._files[path]

    def forget(self, path: str) -> None:
        """Drop a parsed file: syntax trees are large."""
        self._files.pop(path, None)

    def _parse(self, path: str) -> SourceFile | None:
        self.read_paths.add(path)
        data = self.tree.read(path)
        if data is None:
            return None
        tree = parse(data)
        if isinstance(tree, str):
            self.unread[path] = tree
            return None
        name = path.removesuffix(".py")
        package = name.endswith("/__init__")
        return SourceFile(path, name.removesuffix("/__init__").replace("/", "."), package, data, tree)
