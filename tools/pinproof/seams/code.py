"""The modules of a plugin and of its engine as syntax trees, and what a dotted name in them stands for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pinproof.contract.syntax.nodes import absolute
from pinproof.contract.syntax.parse import parse
from pinproof.tree import Files, Tree

Kind = Literal["module", "class", "function", "value", "absent", "open"]
Node = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.stmt | ast.alias
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
# How many re-exports and bases are followed into one another.
_DEEPEST = 16


@dataclass(slots=True)
class Module:
    """One parsed module; `names` are the statements that bind each name when it is imported."""

    name: str
    path: str
    package: bool
    data: bytes
    tree: ast.Module
    names: dict[str, list[Node]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    members: dict[int, dict[str, Node]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """What a dotted name stands for.

    Attributes:
        kind: absent is certain; open says that the text does not tell.
        name: its canonical name: the module that defines it and its name there.
        module: the module that defines it.
        node: what defines it.
        beyond: for something absent from a class: its bases outside the code that is known.
    """

    kind: Kind
    name: str
    module: Module | None = None
    node: Node | None = None
    beyond: tuple[str, ...] = ()

    @property
    def line(self) -> int:
        """The line of the definition, 0 when there is none."""
        return getattr(self.node, "lineno", 0)

    @property
    def place(self) -> str:
        """`file:line` of the definition."""
        return f"{self.module.path}:{self.line}" if self.module else ""


class Code:
    """The import packages of one tree.

    Args:
        tree: the tree.
        packages: its import packages.
        label: how to call it, e.g. `vllm 0.28.0`.
        prefetch: bring a release's files here at once; without, each when it is read.
    """

    def __init__(self, tree: Tree, packages: Sequence[str], label: str, *, prefetch: bool = True) -> None:
        self.label = label
        self.packages = tuple(packages)
        self._files: Files = tree.files
        paths = [path for package in packages for path in tree.files.paths(package, ".py")]
        if prefetch:
            tree.prefetch(paths)
        self._paths = {_module_of(path): path for path in paths}
        self._data: dict[str, bytes] = {}
        self._modules: dict[str, Module | None] = {}

    def __contains__(self, module: str) -> bool:
        return module in self._paths

    def names(self) -> Iterable[str]:
        """The names of all modules."""
        return self._paths

    def path(self, name: str) -> str:
        """The path of a module in the tree."""
        return self._paths[name]

    def data(self, name: str) -> bytes:
        """The bytes of a module."""
        if name not in self._data:
            self._data[name] = self._files.read(self._paths[name]) or b""
        return self._data[name]

    def read(self, path: str) -> bytes | None:
        """The bytes of a file by its path in the tree."""
        return self._files.read(path)

    def folder(self, path: str) -> Iterator[str]:
        """The files below a folder of the tree."""
        return self._files.paths(path, ".py")

    def mentioning(self, word: bytes) -> Iterator[str]:
        """The modules whose text holds `word`."""
        return (name for name in self._paths if word in self.data(name))

    def module(self, name: str) -> Module | None:
        """A module parsed; None when there is none, or it does not parse."""
        if name not in self._modules:
            self._modules[name] = self._parse(name) if name in self._paths else None
        return self._modules[name]

    def _parse(self, name: str) -> Module | None:
        data = self.data(name)
        tree = parse(data)
        if isinstance(tree, str):
            return None
        path = self._paths[name]
        module = Module(name, path, path.endswith("/__init__.py"), data, tree)
        _bind(module, tree.body)
        return module


def _module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _bind(module: Module, body: Iterable[ast.stmt]) -> None:
    """Collect what the statements that run at import bind, in branches and handlers too."""
    for item in body:
        if isinstance(item, FunctionNode | ast.ClassDef):
            module.names.setdefault(item.name, []).append(item)
        elif isinstance(item, ast.Import):
            for alias in item.names:
                module.names.setdefault(alias.asname or alias.name.split(".")[0], []).append(item)
        elif isinstance(item, ast.ImportFrom):
            for alias in item.names:
                if alias.name == "*":
                    module.stars.append(absolute(module.name, module.package, item.module, item.level))
                else:
                    module.names.setdefault(alias.asname or alias.name, []).append(item)
        elif isinstance(item, ast.Assign | ast.AnnAssign | ast.AugAssign):
            for name in assigned(item):
                module.names.setdefault(name, []).append(item)
        else:
            for target in (
                getattr(item, "target", None),
                *(i.optional_vars for i in getattr(item, "items", [])),
            ):
                for node in ast.walk(target) if target is not None else ():
                    if isinstance(node, ast.Name):
                        module.names.setdefault(node.id, []).append(item)
            for part in blocks(item):
                _bind(module, part)


def blocks(item: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The statement lists inside a compound statement."""
    for part in ("body", "orelse", "finalbody"):
        yield getattr(item, part, [])
    for inner in (*getattr(item, "handlers", []), *getattr(item, "cases", [])):
        yield inner.body


def assigned(item: ast.Assign | ast.AnnAssign | ast.AugAssign) -> Iterator[str]:
    """The plain names that an assignment binds."""
    targets = item.targets if isinstance(item, ast.Assign) else [item.target]
    for target in targets:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


class World:
    """A plugin and its engine together: names are followed from one into the other.

    Args:
        plugin: the plugin's code.
        engine: the engine's, at one version.
    """

    def __init__(self, plugin: Code, engine: Code) -> None:
        self.plugin = plugin
        self.engine = engine
        self._found: dict[str, Found] = {}
        self._lineages: dict[str, list[Found]] = {}

    def is_engine(self, dotted: str) -> bool:
        """Whether a name is the engine's."""
        return dotted.split(".", 1)[0] in self.engine.packages

    def _code(self, module: str) -> Code | None:
        top = module.split(".", 1)[0]
        return next((code for code in (self.plugin, self.engine) if top in code.packages), None)

    def module(self, name: str) -> Module | None:
        """A parsed module of either."""
        code = self._code(name)
        return code.module(name) if code is not None else None

    def find(self, dotted: str) -> Found:
        """What a full dotted name stands for."""
        if dotted not in self._found:
            self._found[dotted] = self._find(dotted, 0)
        return self._found[dotted]

    def _find(self, dotted: str, depth: int) -> Found:
        if depth > _DEEPEST:
            return Found("open", dotted)
        first, *rest = dotted.split(".")
        code = self._code(first)
        if code is None:
            return Found("open", dotted)
        found = Found("module", first, code.module(first))
        for part in rest:
            found = self.attribute(found, part, depth + 1)
        return found

    def attribute(self, owner: Found, name: str, depth: int = 0) -> Found:
        """What `owner.name` stands for."""
        full = f"{owner.name}.{name}"
        if depth > _DEEPEST:
            return Found("open", full)
        if owner.kind == "module":
            return self._in_module(owner, name, depth)
        if owner.kind == "class":
            return self._in_class(owner, name, depth)
        return Found("absent" if owner.kind == "absent" else "open", full)

    def _in_module(self, owner: Found, name: str, depth: int) -> Found:
        full = f"{owner.name}.{name}"
        code = self._code(owner.name)
        module = owner.module
        for node in _best(module.names.get(name, [])) if module is not None else ():
            return self._bound(module, name, node, depth) if module is not None else Found("open", full)
        if code is not None and full in code:
            return Found("module", full, code.module(full))
        if module is None:
            # A folder without __init__ is a package too; a module that does not parse may hold anything.
            inside = code is not None and any(m.startswith(owner.name + ".") for m in code.names())
            return Found("absent" if inside else "open", full)
        for star in module.stars:
            found = self._find(f"{star}.{name}", depth + 1)
            if found.kind != "absent":
                return found
        return Found("open" if "__getattr__" in module.names else "absent", full, module)

    def _bound(self, module: Module, name: str, node: Node, depth: int) -> Found:
        full = f"{module.name}.{name}"
        if isinstance(node, ast.ClassDef):
            return Found("class", full, module, node)
        if isinstance(node, FunctionNode):
            return Found("function", full, module, node)
        if isinstance(node, ast.ImportFrom):
            source = absolute(module.name, module.package, node.module, node.level)
            alias = next(a for a in node.names if (a.asname or a.name) == name)
            if f"{source}.{alias.name}" == full:  # from . import name: the module of that name
                code = self._code(full)
                return Found("module", full, code.module(full) if code else None)
            return self._find(f"{source}.{alias.name}", depth + 1)
        if isinstance(node, ast.Import):
            alias = next(a for a in node.names if (a.asname or a.name.split(".")[0]) == name)
            return self._find(alias.name if alias.asname else name, depth + 1)
        value = getattr(node, "value", None)
        other = dotted_name(value)
        if isinstance(node, ast.Assign) and other and other.split(".")[0] != name:
            first = other.split(".")[0]
            if first in module.names:
                found = self._find(f"{module.name}.{other}", depth + 1)
                if found.kind in ("class", "function", "module"):
                    return found
        return Found("value", full, module, node)

    def bases(self, owner: Found) -> list[Found]:
        """The bases of a class, as far as they are this world's."""
        assert isinstance(owner.node, ast.ClassDef)
        assert owner.module is not None
        found = []
        for base in owner.node.bases:
            inner = base.value if isinstance(base, ast.Subscript) else base
            name = dotted_name(inner)
            found.append(self.local(owner.module, name) if name else Found("open", "?"))
        return found

    def local(self, module: Module, name: str) -> Found:
        """What a dotted name stands for at the end of a module."""
        first = name.split(".")[0]
        if first not in module.names and not module.stars:
            return Found("open", name)
        return self.find(f"{module.name}.{name}")

    def lineage(self, owner: Found) -> list[Found]:
        """A class and its bases, nearest first; those that are not known have kind open."""
        if owner.name not in self._lineages:
            found = [owner]
            for cls in found:
                if cls.kind == "class" and len(found) < 64:
                    found.extend(b for b in self.bases(cls) if all(b.name != f.name for f in found))
            self._lineages[owner.name] = found
        return self._lineages[owner.name]

    def _in_class(self, owner: Found, name: str, depth: int) -> Found:
        beyond = []
        for cls in self.lineage(owner):
            if cls.kind != "class":
                beyond.append(cls.name)
                continue
            member = own_member(cls, name)
            if member is not None:
                kind: Kind = "function" if isinstance(member, FunctionNode) else "value"
                return Found(kind, f"{cls.name}.{name}", cls.module, member)
        inert = [b for b in beyond if b.rpartition(".")[2] not in INERT]
        return Found("absent", f"{owner.name}.{name}", owner.module, None, tuple(inert))


INERT = frozenset({"object", "ABC", "Generic", "Protocol"})


def own_member(cls: Found, name: str) -> Node | None:
    """What a class itself binds to a name: in its body, or on `self` in a method."""
    return own_members(cls).get(name)


def own_members(cls: Found) -> dict[str, Node]:
    """Everything that a class itself binds, what its methods set on `self` included."""
    assert cls.module is not None
    known = cls.module.members
    if id(cls.node) not in known:
        known[id(cls.node)] = _members(cls)
    return known[id(cls.node)]


def _members(cls: Found) -> dict[str, Node]:
    assert isinstance(cls.node, ast.ClassDef)
    found: dict[str, Node] = {}
    for item in _flat(cls.node.body):
        if isinstance(item, FunctionNode | ast.ClassDef):
            found.setdefault(item.name, item)
        elif isinstance(item, ast.Assign | ast.AnnAssign):
            for name in assigned(item):
                found.setdefault(name, item)
    for item in cls.node.body:
        for node in ast.walk(item) if isinstance(item, FunctionNode) else ():
            if not (isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)):
                continue
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                found.setdefault(node.attr, ast.copy_location(ast.Pass(), node))
    return found


def methods(cls: Found) -> Iterator[FunctionNode]:
    """The functions that a class itself defines."""
    assert isinstance(cls.node, ast.ClassDef)
    return (item for item in _flat(cls.node.body) if isinstance(item, FunctionNode))


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for item in body:
        yield item
        if not isinstance(item, FunctionNode | ast.ClassDef):
            for part in blocks(item):
                yield from _flat(part)


def _best(nodes: list[Node]) -> list[Node]:
    """The bindings of a name, definitions before the imports and constants that stand in for them."""
    return sorted(nodes, key=lambda n: 0 if isinstance(n, FunctionNode | ast.ClassDef) else
                  2 if isinstance(n, ast.Assign) and isinstance(n.value, ast.Constant) else 1)  # fmt: skip


def dotted_name(node: ast.AST | None) -> str | None:
    """`a.b.c` of a chain of names, None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None
