"""The statements of a body in order, and the names that each of them binds."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from pinproof.contract.syntax.nodes import FunctionNode


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
    "import", "from", "value", "def", "class", "parameter", "unpack", "element", "entered", "put", "unknown"
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


def collect(node: ast.AST, steps: Sequence[Step], data: bytes) -> dict[str, list[Binding]]:
    """What binds each name of a scope.

    Args:
        node: the module, function, lambda or class whose scope it is.
        steps: its statements.
        data: the text of the whole file.
    """
    found: dict[str, list[Binding]] = {}
    if isinstance(node, FunctionNode | ast.Lambda):
        for arg in _arguments(node.args):
            found.setdefault(arg.arg, []).append(Binding("parameter", arg, (), -1))
    outside: set[str] = set()
    for step in steps:
        if isinstance(step.node, ast.Global | ast.Nonlocal):
            outside.update(step.node.names)
        for name, binding in bound_by(step):
            found.setdefault(name, []).append(binding)
    for step in steps:
        for owner, binding in put_in(step):
            if isinstance(owner, ast.Name) and owner.id in found:
                found[owner.id].append(binding)
    if b"nonlocal " in data:
        for name, binding in _set_inside(steps):
            if name in found:
                found[name].append(binding)
    if b":=" in data:
        for name, binding in _walruses(steps):
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
        for item in node.items:
            if isinstance(item.optional_vars, ast.Name):
                yield item.optional_vars.id, Binding("entered", item.context_expr, step.path, step.order)
            elif item.optional_vars is not None:
                places.append(item.optional_vars)
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
