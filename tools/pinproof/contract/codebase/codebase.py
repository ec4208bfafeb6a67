"""The tree under check as Python modules: parsed when needed, and the libraries they call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pinproof.contract.codebase import listing
from pinproof.contract.declared.library import Library
from pinproof.contract.sources.libraries import Libraries
from pinproof.contract.syntax import scan
from pinproof.contract.syntax.parse import parse
from pinproof.contract.syntax.scopes import SourceFile, module_of
from pinproof.contract.watch.watchlist import Watched
from pinproof.tree import Tree

_PROBES = re.compile(rb"[\"'](\w+)[\"']\s+(?:not\s+)?in\s+(?:[\w.]*signature\(|[\w.]*(?:param|sig))")


class Codebase:
    """The modules of a tree, and the watched libraries they may call.

    Only files that import a watched library, or a name that another file makes of one, are parsed.

    Args:
        tree: the tree.
        watched: the watch list.
        libraries: gives the signatures of each.
    """

    def __init__(self, tree: Tree, watched: Iterable[Watched], libraries: Libraries) -> None:
        self.tree = tree
        self.libraries = libraries
        self._by_import = {name: w for w in watched for name in w.imports}
        self._vendored = {place: (w, name) for w in watched for name, place in w.vendored.items()}
        self._tops = frozenset((*self._by_import, *self._vendored))
        self._needles = tuple(name.encode() for name in self._by_import)
        self.packages = listing.packages(tree)
        self._exists = listing.existence(tree, self.packages)
        self._starts = (b".", *(name.encode() for name in (*self.packages, *self._by_import)))
        self._files: dict[str, SourceFile | None] = {}
        self._dull: set[str] = set()
        self._known: dict[str, str | None] = {}
        self.carried: dict[str, set[str]] = {}
        """Names of the tree's modules that stand for something of a watched library, by module.

        `Class.attribute` for a class whose objects hold something of one in that attribute.
        """
        self.unread: dict[str, str] = {}
        self._probed: set[str] | None = None
        self.parsed = 0

    # -- libraries ---------------------------------------------------------------------------------

    def watched(self, module: str) -> tuple[Watched, str] | None:
        """The watched library a module belongs to, and the module's name in it; None for no such."""
        for place, (watched, name) in self._vendored.items():
            if module == place or module.startswith(place + "."):
                return watched, name + module[len(place) :]
        found = self._by_import.get(module.split(".", 1)[0])
        return (found, module) if found else None

    def library(self, watched: Watched) -> Library | None:
        """The signatures of a watched library, None when they are not available."""
        return self.libraries(watched)

    def probed(self) -> set[str]:
        """The names that a file of the tree looks for in a signature: `"out" in signature(f).parameters`."""
        if self._probed is None:
            self._probed = set()
            for item in listing.python_files(self.tree, self.packages):
                data = listing.read(self.tree, item) or b""
                if b"signature(" in data:
                    self._probed.update(m.group(1).decode() for m in _PROBES.finditer(data))
        return self._probed

    def mentions(self, data: bytes, found: Iterable[scan.Imported] | None = None) -> bool:
        """Whether a file imports a watched library; `found` are its import statements, when known."""
        return scan.mentions(data, self.imports(data) if found is None else found, self._tops, self._needles)

    def imports(self, data: bytes) -> Iterator[scan.Imported]:
        """The imports of a file that can matter: of the tree's own modules and of watched libraries."""
        return scan.imports(data, self._starts)

    @property
    def import_names(self) -> list[str]:
        """The import names of all watched libraries."""
        return sorted(self._by_import)

    def libraries_in(self, found: Iterable[scan.Imported]) -> set[str]:
        """The import names of the watched libraries among a file's imports."""
        names = {n for i in found for n in (i.module, *(f"{i.module}.{x}" for x in i.names))}
        return {w[0].imports[0] for n in names for w in (self.watched(n),) if w is not None}

    def ask_for(self, names: Iterable[str]) -> None:
        """Get the signatures of these libraries now, before the work is shared out."""
        for name in names:
            self.libraries(self._by_import[name])

    def seeds(self, file: SourceFile) -> set[str]:
        """The identifiers in a file that may lead to a watched library."""
        found = {name.rpartition(".")[2] for name in self._tops}
        for item in self.imports(file.data):
            module = file.absolute(item.module, item.level)
            if "*" in item.names:
                found.update(self._public(module))
            for carried in self.carried.get(module, ()):
                name, _, attribute = carried.partition(".")
                if name in item.names or not item.names:
                    found.add(attribute or name)
            found.update(n for n in item.names if f"{module}.{n}" in self.carried)
            if not item.names and module in self.carried:
                found.add(module.rpartition(".")[2])
        return found

    def holders(self, file: SourceFile) -> set[str]:
        """The names in a file of classes of other files whose objects hold something of a library."""
        found: set[str] = set()
        for item in self.imports(file.data):
            carried = self.carried.get(file.absolute(item.module, item.level), ())
            found.update(c.partition(".")[0] for c in carried if "." in c)
        return found

    def _public(self, module: str) -> set[str]:
        """The names that `from module import *` may bind to something of a watched library."""
        watched = self.watched(module)
        library = self.library(watched[0]) if watched is not None else None
        if watched is None or library is None:
            return self.carried.get(module, set())
        return library.public(watched[1])

    # -- the tree's own modules --------------------------------------------------------------------

    def has_module(self, name: str) -> bool:
        """Whether the tree has a module of this name; it is not parsed for that."""
        return self._path(name) is not None

    def _path(self, name: str) -> str | None:
        if name.split(".", 1)[0] not in self.packages:
            return None
        if name not in self._known:
            stem = name.replace(".", "/")
            tried = (f"{stem}/__init__.py", f"{stem}.py")
            self._known[name] = next((p for p in tried if self._exists(p)), None)
        return self._known[name]

    def module(self, name: str) -> SourceFile | None:
        """The parsed file of one of the tree's modules, None when it has none that can matter."""
        path = self._path(name)
        if path is None:
            return None
        if path in self._dull:
            return None
        if path not in self._files and name not in self.carried:
            data = self.tree.read(path)
            if data is None or not self.mentions(data):
                self._dull.add(path)
                return None
        return self.file(path)

    def renew(self) -> None:
        """Look again at files that seemed to reach no library."""
        self._dull.clear()

    def file(self, path: str) -> SourceFile | None:
        """One parsed file of the tree, None when it is not there or does not parse."""
        if path not in self._files:
            self._files[path] = self._parse(path)
        return self._files[path]

    def _parse(self, path: str) -> SourceFile | None:
        data = self.tree.read(path)
        if data is None:
            return None
        tree = parse(data)
        if isinstance(tree, str):
            self.unread[path] = tree
            return None
        self.parsed += 1
        name, package = module_of(path)
        return SourceFile(path, name, package, data, tree)
