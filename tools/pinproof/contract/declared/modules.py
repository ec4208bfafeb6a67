"""Read one library module into its summary: every name it binds, and how."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from pinproof.contract.declared.classes import class_summary
from pinproof.contract.declared.functions import function, is_overload
from pinproof.contract.declared.summary import Alias, Class, Entry, Function, Import, Module, Other
from pinproof.contract.syntax.nodes import FunctionNode, absolute, dotted, own_nodes
from pinproof.contract.syntax.parse import parse


def summarize(
    data: bytes, file: str, module: str, *, package: bool, vendored: tuple[str, str] | None = None
) -> Module:
    """The summary of one module.

    Args:
        data: its source.
        file: its path, for places.
        module: its dotted name, for relative imports.
        package: whether it is an `__init__`.
        vendored: where a copy lies as a module, and the library's own name, which imports of it mean.
    """
    tree = parse(data)
    if isinstance(tree, str):
        why = f"{file} does not parse ({tree})"
        return Module(file=file, package=package, open=why, hosts=why)
    return _Reader(module, file, package, vendored).read(tree, data)


# Names under which a module states its version.
_VERSIONS = {"__version__", "version", "VERSION"}


class _Reader:
    """Walks the statements that run when the module is imported."""

    def __init__(self, module: str, file: str, package: bool, vendored: tuple[str, str] | None) -> None:
        self.module, self.file, self.package = module, file, package
        self.vendored = vendored
        self.names: dict[str, list[Entry]] = {}
        self.stars: list[str] = []
        self.public: list[str] | None = []
        self.open: str | None = None
        self.hosts: str | None = None

    def read(self, tree: ast.Module, data: bytes) -> Module:
        self._body(tree.body)
        if any(word in data for word in (b"global ", b"globals(", b"vars(")):
            self._globals_set_in_functions(tree)
        for entry in self.names.get("__getattr__", []):
            if isinstance(entry, Function):
                self.open = f"{self.file}:{entry.line} has a module __getattr__"
        has_all = "__all__" in self.names
        return Module(
            file=self.file,
            package=self.package,
            names={name: tuple(entries) for name, entries in self.names.items()},
            stars=tuple(self.stars),
            public=tuple(self.public) if has_all and self.public is not None else None,
            open=self.open,
            hosts=self.hosts,
        )

    def _add(self, name: str, entry: Entry) -> None:
        entries = self.names.setdefault(name, [])
        if entry not in entries:
            entries.append(entry)

    def _body(self, body: list[ast.stmt]) -> None:
        for item in body:
            self._statement(item)

    def _statement(self, item: ast.stmt) -> None:
        if isinstance(item, ast.Import):
            self._import(item)
        elif isinstance(item, ast.ImportFrom):
            self._import_from(item)
        elif isinstance(item, FunctionNode):
            if not is_overload(item):
                self._add(item.name, function(item))
        elif isinstance(item, ast.ClassDef):
            self._add(item.name, class_summary(item))
        elif isinstance(item, ast.Assign | ast.AnnAssign | ast.AugAssign):
            self._assign(item)
        elif isinstance(item, ast.Expr):
            self._expression(item.value)
        else:
            self._compound(item)

    def _compound(self, item: ast.stmt) -> None:
        for name in _targets(item):
            self._add(name, Other(item.lineno))
        for part in ("body", "orelse", "finalbody"):
            self._body(getattr(item, part, []))
        for handler in getattr(item, "handlers", []):
            self._body(handler.body)
        for case in getattr(item, "cases", []):
            self._body(case.body)

    def _import(self, item: ast.Import) -> None:
        for alias in item.names:
            name = alias.asname or alias.name.split(".")[0]
            module = alias.name if alias.asname else name
            self._add(name, Import(self._own(module), None, item.lineno))

    def _own(self, module: str) -> str:
        if self.vendored is not None:
            place, name = self.vendored
            if module == place or module.startswith(place + "."):
                return name + module[len(place) :]
        return module

    def _import_from(self, item: ast.ImportFrom) -> None:
        source = self._own(absolute(self.module, self.package, item.module, item.level))
        for alias in item.names:
            if alias.name == "*":
                self.stars.append(source)
            else:
                self._add(alias.asname or alias.name, Import(source, alias.name, item.lineno))

    def _assign(self, item: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        targets = item.targets if isinstance(item, ast.Assign) else [item.target]
        for target in targets:
            for name in (n.id for n in ast.walk(target) if isinstance(n, ast.Name)):
                if name == "__all__":
                    self._all(item)
                if isinstance(target, ast.Name):
                    self._add(name, self._value(item, name))
                elif isinstance(target, ast.Tuple | ast.List | ast.Starred):
                    self._add(name, Other(item.lineno))
            if isinstance(target, ast.Attribute):
                self._set_on_class(dotted(target.value), target.attr)
            if _is_sys_modules(target) or dotted(target) == "__path__":
                self.hosts = self.open = f"{self.file}:{item.lineno} replaces modules"
            if _is_globals(target):
                self.open = f"{self.file}:{item.lineno} sets names through globals()"

    def _set_on_class(self, name: str | None, attribute: str) -> None:
        """`Class.attribute = ...` and `setattr(Class, ...)` after the class statement."""
        for index, entry in enumerate(self.names.get(name or "", [])):
            if isinstance(entry, Class):
                changed = msgspec.structs.replace(entry, attributes=(*entry.attributes, attribute))
                self.names[name or ""][index] = changed

    def _value(self, item: ast.Assign | ast.AnnAssign | ast.AugAssign, name: str) -> Entry:
        target = None if isinstance(item, ast.AugAssign) else dotted(item.value)
        if target:
            return Alias(target, item.lineno)
        stated = item.value.value if name in _VERSIONS and isinstance(item.value, ast.Constant) else None
        return Other(item.lineno, stated if isinstance(stated, str) else None)

    def _all(self, item: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        value = item.value
        names = [e.value for e in value.elts if isinstance(e, ast.Constant)] if (
            isinstance(value, ast.List | ast.Tuple)
        ) else None  # fmt: skip
        if names is None or self.public is None:
            self.public = None
        else:
            self.public.extend(name for name in names if isinstance(name, str))

    def _expression(self, value: ast.expr) -> None:
        if isinstance(value, ast.Call) and dotted(value.func) == "setattr" and value.args:
            self._set_on_class(dotted(value.args[0]), "*")
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            return
        if _is_globals(value.func):
            self.open = f"{self.file}:{value.lineno} sets names through globals()"
        elif dotted(value.func.value) == "__all__":
            self.public = None

    def _globals_set_in_functions(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Global):
                for name in node.names:
                    self._add(name, Other(node.lineno))
            elif isinstance(node, ast.Call):
                self._globals_updated(node)
            elif isinstance(node, FunctionNode):
                self._handed_out(node)

    def _handed_out(self, node: FunctionNode) -> None:
        """`globals().update({"name": inner})` in a function makes a function defined in it the module's."""
        inner = [n for n in own_nodes(node) if isinstance(n, FunctionNode)]
        stored = {
            n.id for n in own_nodes(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
        }
        for call in own_nodes(node):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not call.args:
                continue
            if not _is_globals(call.func) or not isinstance(call.args[0], ast.Dict):
                continue
            for key, value in zip(call.args[0].keys, call.args[0].values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    name = value.id if isinstance(value, ast.Name) and value.id not in stored else None
                    found: list[Entry] = [function(n) for n in inner if n.name == name]
                    for entry in found or [Other(value.lineno)]:
                        self._add(key.value, entry)

    def _globals_updated(self, node: ast.Call) -> None:
        if self.open is None and isinstance(node.func, ast.Attribute) and _is_globals(node.func):
            self.open = f"{self.file}:{node.lineno} sets names through globals()"


def _is_globals(target: ast.expr) -> bool:
    """`globals()[...]` as a target, or `globals().update`."""
    inner = target.value if isinstance(target, ast.Subscript | ast.Attribute) else None
    called = inner.func if isinstance(inner, ast.Call) else None
    if isinstance(target, ast.Attribute) and target.attr not in ("update", "setdefault", "__setitem__"):
        return False
    return isinstance(called, ast.Name) and called.id in ("globals", "vars")


def _is_sys_modules(target: ast.expr) -> bool:
    """`sys.modules[...]` as a target: the module may be replaced by anything."""
    return isinstance(target, ast.Subscript) and dotted(target.value) == "sys.modules"


def _targets(item: ast.stmt) -> Iterator[str]:
    """Names that a for, with, or handler binds."""
    places: list[ast.AST] = []
    if isinstance(item, ast.For | ast.AsyncFor):
        places.append(item.target)
    elif isinstance(item, ast.With | ast.AsyncWith):
        places.extend(part.optional_vars for part in item.items if part.optional_vars)
    for place in places:
        yield from (n.id for n in ast.walk(place) if isinstance(n, ast.Name))
