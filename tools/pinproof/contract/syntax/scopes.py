"""Scopes of a source file: which statements run where, and what each name is bound by."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from pinproof.contract.declared.signatures import FunctionNode

if TYPE_CHECKING:
    from pinproof.contract.codebase.codebase import SourceFile
    from pinproof.contract.evaluation.values import Values

Owner = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


class Arm(NamedTuple):
    """One branch that a statement lies in: the compound statement, and which of its blocks."""

    node: ast.stmt
    block: str
    handler: ast.ExceptHandler | None = None


Path = tuple[Arm, ...]


class Step(NamedTuple):
    """A statement of a scope, in the order of the text, with the branches around it."""

    node: ast.stmt
    path: Path
    order: int


BindingKind = Literal[
    "import", "from", "value", "def", "class", "parameter", "unpack", "element", "put", "unknown"
]


class Binding(NamedTuple):
    """One way in which a scope binds a name.

    `node` is the statement, the value, or the parameter; `extra` the imported name, the annotation or
    the position in an unpacked tuple.
    """

    kind: BindingKind
    node: ast.AST
    path: Path
    order: int
    extra: object = None


_BLOCKS = ("body", "orelse", "finalbody")


def flatten(body: Sequence[ast.stmt], path: Path = (), start: int = 0) -> list[Step]:
    """Every statement of a body in order, those in compound statements too, none of nested scopes."""
    steps: list[Step] = []

    def visit(block: Sequence[ast.stmt], path: Path) -> None:
        for node in block:
            steps.append(Step(node, path, start + len(steps)))
            if isinstance(node, FunctionNode | ast.ClassDef):
                continue
            for name in _BLOCKS:
                inner = getattr(node, name, None)
                if inner:
                    visit(inner, (*path, Arm(node, name)))
            for handler in getattr(node, "handlers", ()):
                visit(handler.body, (*path, Arm(node, "handler", handler)))
            for index, case in enumerate(getattr(node, "cases", ())):
                visit(case.body, (*path, Arm(node, f"case {index}")))

    visit(body, path)
    return steps


def own_expressions(node: ast.stmt) -> Iterator[ast.expr]:
    """The expressions a statement evaluates itself, not those of the statements inside it."""
    if isinstance(node, FunctionNode):
        yield from node.decorator_list
        yield from node.args.defaults
        yield from (d for d in node.args.kw_defaults if d is not None)
    elif isinstance(node, ast.ClassDef):
        yield from node.decorator_list
        yield from node.bases
        yield from (k.value for k in node.keywords)
    elif isinstance(node, ast.With | ast.AsyncWith):
        yield from (item.context_expr for item in node.items)
    elif isinstance(node, ast.Try):
        yield from (h.type for h in node.handlers if h.type is not None)
    elif isinstance(node, ast.Match):
        yield node.subject
    else:
        yield from (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))


class Scope:
    """A module, function, lambda or class body, and the names it binds.

    `arguments` holds what is known of the parameters when a call is followed into a function, values or what
    gives them when asked; `memo` what bindings were evaluated to at
    the evaluator's `age`; `inside`
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
        self.arguments: dict[str, Values | Callable[[], Values]] = {}
        self.memo: dict[tuple[int, int], Values] = {}
        self.age = 0
        self.stored: dict[str, list[tuple[Scope, Binding]]] | None = None
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

    def called_with(self, arguments: Mapping[str, Values | Callable[[], Values]]) -> Scope:
        """This scope with its parameters known; the text is not read again."""
        copy = Scope(self.file, self.node, self.parent, self.name)
        copy.inside, copy.order = self.inside, self.order
        copy.arguments = dict(arguments)
        copy.fixed = False
        copy._steps, copy._bindings = self.steps, self.bindings
        return copy

    @property
    def steps(self) -> list[Step]:
        """The statements of the scope."""
        if self._steps is None:
            self._steps = [] if isinstance(self.node, ast.Lambda) else flatten(self.node.body)
        return self._steps

    @property
    def leaving(self) -> list[Step]:
        """The statements that may decide whether those after them run: an if without else, an assert."""
        if self._leaving is None:  # asked for by every call of the scope
            self._leaving = [
                step for step in self.steps
                if isinstance(step.node, ast.Assert)
                or (isinstance(step.node, ast.If) and not step.node.orelse)
            ]  # fmt: skip
        return self._leaving

    @property
    def bindings(self) -> dict[str, list[Binding]]:
        """What binds each name of this scope."""
        if self._bindings is None:
            self._bindings = _collect(self)
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


def _collect(scope: Scope) -> dict[str, list[Binding]]:
    found: dict[str, list[Binding]] = {}
    node = scope.node
    if isinstance(node, FunctionNode | ast.Lambda):
        for arg in _arguments(node.args):
            found.setdefault(arg.arg, []).append(Binding("parameter", arg, (), -1))
    outside: set[str] = set()
    for step in scope.steps:
        if isinstance(step.node, ast.Global | ast.Nonlocal):
            outside.update(step.node.names)
        for name, binding in bound_by(step):
            found.setdefault(name, []).append(binding)
    for step in scope.steps:
        for owner, binding in put_in(step):
            if isinstance(owner, ast.Name) and owner.id in found:
                found[owner.id].append(binding)
    if b"nonlocal " in scope.file.data:
        for name, binding in _set_inside(scope.steps):
            if name in found:
                found[name].append(binding)
    if b":=" in scope.file.data:
        for name, binding in _walruses(scope.steps):
            found.setdefault(name, []).append(binding)
    for name in outside:
        found.pop(name, None)
    return found


def put_in(step: Step) -> Iterator[tuple[ast.expr, Binding]]:
    """The lists to which a statement adds an element, `x.append(e)` or `x[i] = e`, and what it adds."""
    node = step.node
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and not _is_text(target.slice):
                yield target.value, Binding("put", node.value, step.path, step.order)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if isinstance(call.func, ast.Attribute) and call.func.attr == "append" and len(call.args) == 1:
            yield call.func.value, Binding("put", call.args[0], step.path, step.order)
        elif isinstance(call.func, ast.Attribute) and call.func.attr in ("extend", "insert"):
            yield call.func.value, Binding("unknown", call, step.path, step.order)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _set_inside(steps: Sequence[Step]) -> Iterator[tuple[str, Binding]]:
    """The names that functions inside this one bind through `nonlocal`."""
    for step in steps:
        if isinstance(step.node, FunctionNode):
            for child in ast.walk(step.node):
                if isinstance(child, ast.Nonlocal):
                    for name in child.names:
                        yield name, Binding("unknown", child, step.path, step.order)


def _walruses(steps: Sequence[Step]) -> Iterator[tuple[str, Binding]]:
    """The names bound inside expressions; a use in the same statement comes after it."""
    for step in steps:
        for expression in own_expressions(step.node):
            for child in ast.walk(expression):
                if isinstance(child, ast.NamedExpr):
                    yield child.target.id, Binding("value", child.value, step.path, step.order - 1)


def _arguments(args: ast.arguments) -> Iterator[ast.arg]:
    yield from (*args.posonlyargs, *args.args, *args.kwonlyargs)
    if args.vararg:
        yield args.vararg
    if args.kwarg:
        yield args.kwarg


def bound_by(step: Step) -> Iterator[tuple[str, Binding]]:
    """The names a statement binds, and how."""
    node, path, order = step
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.asname or alias.name.split(".")[0], Binding("import", node, path, order, alias)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, Binding("from", node, path, order, alias)
    elif isinstance(node, FunctionNode):
        yield node.name, Binding("def", node, path, order)
    elif isinstance(node, ast.ClassDef):
        yield node.name, Binding("class", node, path, order)
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _target(target, node.value, step, None)
    elif isinstance(node, ast.AnnAssign):
        if isinstance(node.target, ast.Name):
            value: ast.AST = node.value or node.annotation
            kind: BindingKind = "value" if node.value is not None else "parameter"
            yield node.target.id, Binding(kind, value, path, order, node.annotation)
    else:
        yield from _other_targets(step)


def _target(target: ast.expr, value: ast.expr, step: Step, _: None) -> Iterator[tuple[str, Binding]]:
    if isinstance(target, ast.Name):
        yield target.id, Binding("value", value, step.path, step.order)
    elif isinstance(target, ast.Tuple | ast.List):
        for index, element in enumerate(target.elts):
            if isinstance(element, ast.Name):
                yield element.id, Binding("unpack", value, step.path, step.order, (index, len(target.elts)))
            elif isinstance(element, ast.Starred) and isinstance(element.value, ast.Name):
                yield element.value.id, Binding("unknown", value, step.path, step.order)


def loop_targets(target: ast.expr, iterated: ast.expr) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """The targets of a loop, each with the list whose elements it is given, through enumerate and zip."""
    parts = target.elts if isinstance(target, ast.Tuple) else []
    called = (
        iterated.func.id if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) else ""
    )
    given = iterated.args if isinstance(iterated, ast.Call) else []
    if called == "enumerate" and len(parts) == 2 and given:
        yield parts[0], None
        yield parts[1], given[0]
    elif called == "zip" and len(parts) == len(given):
        yield from zip(parts, given, strict=True)
    else:
        yield target, None if called in ("enumerate", "zip") else iterated


def _other_targets(step: Step) -> Iterator[tuple[str, Binding]]:
    node = step.node
    places: list[ast.AST] = []
    if isinstance(node, ast.For | ast.AsyncFor):
        for target, iterated in loop_targets(node.target, node.iter):
            if isinstance(target, ast.Name) and iterated is not None:
                yield target.id, Binding("element", iterated, step.path, step.order)
            else:
                places.append(target)
    elif isinstance(node, ast.AugAssign):
        places.append(node.target)
    elif isinstance(node, ast.With | ast.AsyncWith):
        places.extend(item.optional_vars for item in node.items if item.optional_vars)
    elif isinstance(node, ast.Match):
        places.extend(case.pattern for case in node.cases)
    for place in places:
        for child in ast.walk(place):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                yield child.id, Binding("unknown", place, step.path, step.order)
            elif isinstance(child, ast.MatchAs | ast.MatchStar) and child.name:
                yield child.name, Binding("unknown", place, step.path, step.order)
    for handler in getattr(node, "handlers", ()):
        if handler.name:
            yield handler.name, Binding("unknown", handler, step.path, step.order)


def exclusive(one: Path, other: Path) -> bool:
    """Whether two statements lie in branches of one `if` or `match` of which only one runs."""
    for a, b in zip(one, other, strict=False):
        if a.node is not b.node:
            return False
        if a.block != b.block or a.handler is not b.handler:
            return isinstance(a.node, ast.If | ast.Match)
    return False


def dominates(path: Path, use: Path) -> bool:
    """Whether a statement at `path`, standing before one at `use`, has always run before it."""
    certain = [arm for arm in path if not isinstance(arm.node, ast.With | ast.AsyncWith)]
    around = [arm for arm in use if not isinstance(arm.node, ast.With | ast.AsyncWith)]
    return len(certain) <= len(around) and all(
        a.node is b.node and a.block == b.block and a.handler is b.handler
        for a, b in zip(certain, around, strict=False)
    )


def reaching(bindings: Sequence[Binding], path: Path, order: int) -> list[Binding]:
    """The bindings of a name whose value a use at (`path`, `order`) in the same scope may see."""
    loops = {id(arm.node) for arm in path if isinstance(arm.node, ast.For | ast.AsyncFor | ast.While)}
    seen: list[Binding] = []
    for binding in bindings:
        later = binding.order >= order
        if later and not any(id(arm.node) in loops for arm in binding.path):
            continue
        if exclusive(binding.path, path) and not loops:
            continue
        if not later and binding.kind != "put" and dominates(binding.path, path):
            seen = [kept for kept in seen if kept.order >= order]
        seen.append(binding)
    return seen
