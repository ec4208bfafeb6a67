"""What the tests on the way to a use leave of what a name can stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from pinproof.contract.declared import callables
from pinproof.contract.declared.summary import Class
from pinproof.contract.evaluation import inherited
from pinproof.contract.evaluation.lineage import lineage
from pinproof.contract.evaluation.position import Position
from pinproof.contract.evaluation.values import (
    NONE,
    UNKNOWN,
    Absent,
    EngineClass,
    EngineInstance,
    External,
    LibraryInstance,
    LibraryMember,
    OpenMember,
    Sequence,
    Unknown,
    Value,
    Values,
    union,
)  # fmt: skip
from pinproof.contract.syntax.bindings import Path
from pinproof.contract.syntax.flow import exclusive, passed
from pinproof.contract.syntax.scopes import Scope

if TYPE_CHECKING:
    from pinproof.contract.evaluation.evaluator import Evaluator

_ASKING = {"isinstance", "hasattr", "type"}
_WHY = "an isinstance test says what it is, and the class it names is not known"


class _Fact(NamedTuple):
    """A test that was answered on the way to a use, and where it stands."""

    test: ast.expr
    answer: bool
    path: Path
    order: int
    loop: int = 0
    """The `while` whose test it is, by id: it is asked again each time round."""


class _Tests:
    """The things that a scope asks about, and the places where it stores something new in them."""

    def __init__(self, scope: Scope) -> None:
        self._of: dict[int, frozenset[str]] = {}
        self.asked = {k for step in scope.steps for test in _tests(step.node) for k in self.of(test)}
        self.orders: dict[int, int] = {}
        self.stores: list[tuple[str, Path, int]] = []
        if not self.asked:
            return
        self.orders = {id(step.node): step.order for step in scope.steps}
        for name, bindings in scope.bindings.items():
            self.stores += [(name, b.path, b.order) for b in bindings if b.kind not in ("put", "parameter")]
        for step in scope.steps:
            self.stores += [(text, step.path, step.order) for text in _stored(step.node)]

    def of(self, test: ast.expr) -> frozenset[str]:
        """What one test of the scope asks about."""
        found = self._of.get(id(test))
        if found is None:
            found = self._of[id(test)] = frozenset(_asked(test))
        return found


def narrow(evaluator: Evaluator, node: ast.expr, values: Values, at: Position) -> Values:
    """What `node` can stand for at `at`, of all the `values` that it may hold anywhere.

    The tests that count are isinstance, `type(x) is`, `is None` and hasattr.
    A class that a test names takes the place of what is not known; where the test names a class that is
    itself not known, what an object of a library is stays open.
    """
    if not at.scope.tests:
        at.scope.tests.append(_Tests(at.scope))
    tests = at.scope.tests[0]
    assert isinstance(tests, _Tests)
    if not tests.asked and not at.when:
        return values
    text = key(node)
    if text is None or (text not in tests.asked and not at.when):
        return values
    for fact in _facts(tests, at, text):
        here = Position(at.scope, fact.path, fact.order)
        values = _under(evaluator, text, values, fact.test, fact.answer, here)
    return values


def key(node: ast.AST) -> str | None:
    """How a test and a use name the same thing: `x`, `self.x`, `x[0]`; None for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.NamedExpr):
        return node.target.id
    if isinstance(node, ast.Attribute):
        owner = key(node.value)
        return f"{owner}.{node.attr}" if owner else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        owner = key(node.value)
        return f"{owner}.[{node.slice.value!r}]" if owner else None
    return None


def _tests(node: ast.stmt) -> Iterator[ast.expr]:
    if isinstance(node, ast.If | ast.While | ast.Assert):
        yield node.test


def _asked(test: ast.expr) -> Iterator[str]:
    """What a test asks about."""
    for child in ast.walk(test):
        found: str | None = None
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.args:
            found = key(child.args[0]) if child.func.id in _ASKING else None
        elif isinstance(child, ast.Compare) and len(child.ops) == 1:
            found = key(child.left) if isinstance(child.ops[0], ast.Is | ast.IsNot) else None
        if found:
            yield found


def _stored(node: ast.stmt) -> Iterator[str]:
    """The attributes and elements that a statement gives a new value."""
    places: list[ast.expr] = []
    if isinstance(node, ast.Assign | ast.Delete):
        places += node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.For | ast.AsyncFor):
        places.append(node.target)
    elif isinstance(node, ast.With | ast.AsyncWith):
        places += [item.optional_vars for item in node.items if item.optional_vars]
    for place in places:
        for child in ast.walk(place):
            if isinstance(child, ast.Attribute | ast.Subscript) and not isinstance(child.ctx, ast.Load):
                found = key(child)
                if found:
                    yield found


def _facts(tests: _Tests, at: Position, text: str) -> Iterator[_Fact]:
    """The answered tests between which and the use nothing new was stored, the earliest first."""
    found: list[_Fact] = []
    for index, arm in enumerate(at.path):
        if isinstance(arm.node, ast.If | ast.While) and arm.block in ("body", "orelse"):
            order = tests.orders.get(id(arm.node), -1)
            loop = id(arm.node) if isinstance(arm.node, ast.While) else 0
            found.append(_Fact(arm.node.test, arm.block == "body", at.path[:index], order, loop))
    found += [
        _Fact(test, answer, step.path, step.order)
        for test, answer, step in passed(at.scope.leaving, at.path, at.order)
    ]
    found.sort(key=lambda fact: fact.order)
    found += [_Fact(test, answer, at.path, at.order) for test, answer, _ in at.when]
    for fact in found:
        if text in tests.of(fact.test) and not _stored_since(tests, text, fact, at):
            yield fact


def _stored_since(tests: _Tests, text: str, fact: _Fact, at: Position) -> bool:
    loops = {id(arm.node) for arm in at.path if isinstance(arm.node, ast.For | ast.AsyncFor | ast.While)}
    loops -= {fact.loop, *(id(arm.node) for arm in fact.path)}
    for name, path, order in tests.stores:
        if text != name and not text.startswith(f"{name}."):
            continue
        if fact.order < order < at.order and not exclusive(path, at.path):
            return True
        if order >= at.order and any(id(arm.node) in loops for arm in path):
            return True
    return False


# -- one test --------------------------------------------------------------------------------------------


def _under(
    evaluator: Evaluator, text: str, values: Values, test: ast.expr, answer: bool, at: Position
) -> Values:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _under(evaluator, text, values, test.operand, not answer, at)
    if isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) == answer:
            for part in test.values:
                values = _under(evaluator, text, values, part, answer, at)
            return values
        return union(*(_under(evaluator, text, values, part, answer, at) for part in test.values))
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and len(test.args) == 2:
        if test.func.id == "isinstance" and key(test.args[0]) == text:
            classes = _classes(evaluator, test.args[1], at)
            return _among(evaluator, values, classes) if answer else _besides(evaluator, values, classes)
        if test.func.id == "hasattr" and key(test.args[0]) == text and answer:
            return _having(evaluator, values, test.args[1])
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Is | ast.IsNot):
        return _is(evaluator, text, values, test, answer == isinstance(test.ops[0], ast.Is), at)
    return values


def _is(
    evaluator: Evaluator, text: str, values: Values, test: ast.Compare, same: bool, at: Position
) -> Values:
    left, right = test.left, test.comparators[0]
    if key(left) == text and isinstance(right, ast.Constant) and right.value is None:
        rest = tuple(v for v in values if v != NONE)
        return (NONE,) if same else rest or UNKNOWN
    if not (isinstance(left, ast.Call) and isinstance(left.func, ast.Name) and left.func.id == "type"):
        return values
    if not same or len(left.args) != 1 or key(left.args[0]) != text:
        return values
    found = _among(evaluator, values, _classes(evaluator, right, at))
    return tuple(
        LibraryInstance(v.library, v.path, v.member, exact=True) if isinstance(v, LibraryInstance) else v
        for v in found
    )


def _classes(evaluator: Evaluator, node: ast.expr, at: Position) -> Values:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return union(_classes(evaluator, node.left, at), _classes(evaluator, node.right, at))
    found: list[Value] = []
    for value in evaluator.value(node, at):
        found += [v for e in value.elements for v in e] if isinstance(value, Sequence) else [value]
    return tuple(found)


def _among(evaluator: Evaluator, values: Values, classes: Values) -> Values:
    """What is left of `values` when each is an object of one of `classes`."""
    found = union(*(_as(evaluator, value, cls) for value in values for cls in classes))
    return found or UNKNOWN


def _as(evaluator: Evaluator, value: Value, cls: Value) -> Values:
    own = _class_of(value)
    made = _instance(cls)
    if own is None:
        if isinstance(value, Unknown | External | OpenMember) or _is_untyped(value):
            return (made,) if made is not None else (value,)
        return ()
    is_one = _is_subclass(evaluator, own, cls)
    if is_one or (is_one is None and made is not None):
        return (value,)
    if isinstance(value, LibraryInstance) and value.exact and is_one is False:
        return ()
    if made is not None:
        return (made,)  # an object of a class that inherits from both, or of the narrower one
    if isinstance(value, LibraryInstance):
        return (OpenMember(value.library.name, value.path, _WHY),)
    return (value,)


def _is_untyped(value: Value) -> bool:
    return isinstance(value, LibraryMember) and value.member.kind == "value"


def _besides(evaluator: Evaluator, values: Values, classes: Values) -> Values:
    """What is left of `values` when none is an object of one of `classes`."""
    kept: list[Value] = []
    for value in values:
        own = _class_of(value)
        if own is None or not any(_is_subclass(evaluator, own, cls) for cls in classes):
            kept.append(value)
    return tuple(kept) or UNKNOWN


def _having(evaluator: Evaluator, values: Values, name: ast.expr) -> Values:
    """Those of several objects that have an attribute; all of them when none has it."""
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        return values
    kept = [v for v in values if _class_of(v) is None or not _lacks(evaluator, v, name.value)]
    return tuple(kept) or values


def _lacks(evaluator: Evaluator, value: Value, name: str) -> bool:
    found = evaluator.attribute(value, name)
    return bool(found) and all(isinstance(v, Absent) for v in found)


def _class_of(value: Value) -> Value | None:
    if isinstance(value, LibraryInstance):
        return LibraryMember(value.library, value.path, value.member)
    return value.of if isinstance(value, EngineInstance) else None


def _instance(cls: Value) -> Value | None:
    if isinstance(cls, LibraryMember) and cls.member.kind == "class":
        return LibraryInstance(cls.library, cls.path, cls.member)
    return EngineInstance(cls) if isinstance(cls, EngineClass) else None


def _is_subclass(evaluator: Evaluator, own: Value, cls: Value) -> bool | None:
    """Whether every object of class `own` is one of `cls`; None when that cannot be told."""
    if isinstance(own, LibraryMember):
        return _inherits(own, cls)
    if not isinstance(own, EngineClass):
        return None
    unsure = not isinstance(cls, LibraryMember | EngineClass | External)
    for each in lineage(evaluator, own):
        if isinstance(cls, EngineClass) and each.node is cls.node:
            return True
        for base in inherited.bases(evaluator, each):
            if base == cls and not isinstance(base, Unknown):
                return True
            if isinstance(base, LibraryMember):
                more = _inherits(base, cls)
                if more:
                    return True
                unsure = unsure or more is None
            unsure = unsure or isinstance(base, Unknown | OpenMember)
    return None if unsure else False


def _inherits(own: LibraryMember, cls: Value) -> bool | None:
    assert isinstance(own.member.entry, Class)
    unsure = isinstance(cls, Unknown | OpenMember)
    for step in callables.lineage(own.library, own.member.module, own.member.entry):
        if isinstance(step, str):
            if isinstance(cls, External) and cls.name == step:
                return True
            unsure = unsure or isinstance(cls, LibraryMember)
        elif isinstance(cls, LibraryMember) and step == (cls.member.module, cls.member.entry):
            return True
    return None if unsure else False
