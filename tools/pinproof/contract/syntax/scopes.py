"""A parsed file and its scopes: which statements run where, and what each name is bound by."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from pinproof.contract.syntax.bindings import Binding, Path, Step, bound_by, collect, flatten, own_expressions
from pinproof.contract.syntax.flow import decides
from pinproof.contract.syntax.nodes import Comprehension, FunctionNode, absolute, dotted

_SHRINKS = re.compile(rb"(\w+)\s*\.\s*(?:pop|popitem|clear)\s*\(|\bdel\s+(?:\w+\.)*(\w+)\[")
Known = tuple[Any, ...]
"""Values of a name, as the evaluation found them: scopes keep them and look into none."""
Owner = ast.Module | FunctionNode | ast.Lambda | ast.ClassDef | Comprehension


class Scope:
    """A module, function, lambda or class body, and the names it binds.

    `arguments` holds what is known of the parameters when a call is followed into a function, values or what
    gives them when asked; `memo` what bindings were evaluated to at
    the evaluator's `age`; `tests` what narrowing has read of its tests, shared by its copies; `inside`
    and `order` say where the def or class stands in the scope around it. A scope is `fixed` when neither it
    nor one around it has known parameters: what it gives is the same each time.
    """

    __slots__ = (
        "_bindings",
        "_inner",
        "_leaving",
        "_steps",
        "age",
        "arguments",
        "file",
        "fixed",
        "inside",
        "memo",
        "name",
        "node",
        "order",
        "parent",
        "stored",
        "tests",
    )  # fmt: skip

    def __init__(
        self, file: SourceFile, node: Owner, parent: Scope | None, name: str, step: Step | None = None
    ) -> None:
        self.inside: Path = step.path if step else ()
        self.order = step.order if step else 1 << 30
        self.file = file
        self.node = node
        self.parent = parent
        self.name = name
        self.arguments: dict[str, Known | Callable[[], Known]] = {}
        self.memo: dict[tuple[int, int], Known] = {}
        self.age = 0
        self.stored: dict[str, list[tuple[Scope, Binding]]] | None = None
        self.tests: list[object] = []
        self.fixed: bool = True if parent is None else parent.fixed
        self._inner: dict[int, Scope] = {}
        self._steps: list[Step] | None = None
        self._leaving: list[Step] | None = None
        self._bindings: dict[str, list[Binding]] | None = None

    def inner(self, node: Owner, name: str, step: Step | None = None) -> Scope:
        """The scope of a def, lambda or class in this one; the same object each time."""
        found = self._inner.get(id(node))
        if found is None:
            found = self._inner[id(node)] = Scope(self.file, node, self, f"{self.name}.{name}", step)
        return found

    def called_with(self, arguments: Mapping[str, Known | Callable[[], Known]]) -> Scope:
        """This scope with its parameters known; the text is not read again."""
        copy = Scope(self.file, self.node, self.parent, self.name)
        copy.inside, copy.order = self.inside, self.order
        copy.arguments = dict(arguments)
        copy.fixed = False
        copy._steps, copy._bindings, copy._leaving = self.steps, self.bindings, self.leaving
        copy.tests = self.tests
        return copy

    @property
    def steps(self) -> list[Step]:
        """The statements of the scope."""
        if self._steps is None:
            node = self.node
            self._steps = [] if isinstance(node, ast.Lambda | Comprehension) else flatten(node.body)
        return self._steps

    @property
    def leaving(self) -> list[Step]:
        """The statements that decide whether those after them run: an if that leaves, an assert."""
        if self._leaving is None:  # asked for by every call of the scope
            self._leaving = [step for step in self.steps if decides(step.node)]
        return self._leaving

    @property
    def bindings(self) -> dict[str, list[Binding]]:
        """What binds each name of this scope."""
        if self._bindings is None:
            self._bindings = collect(self.node, self.steps, self.file.data)
        return self._bindings

    @property
    def enclosing_class(self) -> Scope | None:
        """The class whose method this is, None when it is none."""
        return self.parent if self.parent and isinstance(self.parent.node, ast.ClassDef) else None


def scopes(scope: Scope) -> Iterator[Scope]:
    """A scope and every one inside it."""
    yield scope
    for step in scope.steps:
        if isinstance(step.node, FunctionNode | ast.ClassDef):
            yield from scopes(scope.inner(step.node, step.node.name, step))


class Patch(NamedTuple):
    """A statement that sets an attribute of `owner`: an expression, or a module's or class's full name."""

    scope: Scope
    step: Step
    owner: ast.expr | str


class SourceFile:
    """One parsed file of the tree."""

    def __init__(self, path: str, module: str, package: bool, data: bytes, tree: ast.Module) -> None:
        self.path = path
        self.module = module
        self.package = package
        self.data = data
        self.tree = tree
        self.scope = Scope(self, tree, None, module)
        self._stars: list[str] | None = None
        self._patched: dict[str, list[Patch]] | None = None
        self._shrunk: set[str] | None = None
        self._globals: dict[str, list[tuple[Scope, Binding]]] | None = None

    def absolute(self, source: str | None, level: int) -> str:
        """The absolute module of a `from ... import` in this file."""
        return absolute(self.module, self.package, source, level)

    def stars(self) -> list[str]:
        """The modules from which this one imports everything, in order."""
        if self._stars is None:
            self._stars = [
                self.absolute(step.node.module, step.node.level)
                for step in self.scope.steps
                if isinstance(step.node, ast.ImportFrom) and step.node.names[0].name == "*"
            ]
        return self._stars

    def patched(self) -> dict[str, list[Patch]]:
        """Attribute names that this file sets on objects other than `self`, and on what."""
        if self._patched is None:
            self._patched = {}
            for scope in scopes(self.scope):
                for step in scope.steps:
                    for name, owner in _patches(step.node):
                        self._patched.setdefault(name, []).append(Patch(scope, step, owner))
        return self._patched

    def shrunk(self) -> set[str]:
        """Names of objects, their last part, from which this file takes keys out: `x.pop(k)`, `del x[k]`."""
        if self._shrunk is None:
            self._shrunk = {m.group(m.lastindex or 0).decode() for m in _SHRINKS.finditer(self.data)}
        return self._shrunk

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


def _patches(node: ast.stmt) -> Iterator[tuple[str, ast.expr | str]]:
    for target in node.targets if isinstance(node, ast.Assign) else ():
        if isinstance(target, ast.Attribute):
            owner = target.value.id if isinstance(target.value, ast.Name) else ""
            if owner not in ("self", "cls"):
                yield target.attr, target.value
    for expression in own_expressions(node):
        yield from _patched_by_call(expression)


def _patched_by_call(expression: ast.expr) -> Iterator[tuple[str, ast.expr | str]]:
    """What `setattr(x, "name", ...)`, `patch.object(x, "name")` and `patch("a.b.name")` replace."""
    for call in ast.walk(expression):
        if not isinstance(call, ast.Call):
            continue
        called = (dotted(call.func) or "").split(".")
        texts = [a.value if isinstance(a, ast.Constant) else None for a in call.args[:2]]
        if called[-1] == "setattr" or "patch" in called[-2:]:
            if texts and isinstance(texts[0], str):
                owner, _, name = texts[0].rpartition(".")
                yield name, owner
            elif len(texts) == 2 and isinstance(texts[1], str):
                yield texts[1], call.args[0]


def module_of(path: str) -> tuple[str, bool]:
    """The dotted name of a file of the tree, and whether it is a package's `__init__`."""
    name = path.removesuffix(".py")
    return name.removesuffix("/__init__").replace("/", "."), name.endswith("/__init__")
