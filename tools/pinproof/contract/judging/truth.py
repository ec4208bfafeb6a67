"""Whether a test holds on the pinned libraries: presence probes, signature probes, platform tests."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import Final, NamedTuple

from pinproof.contract.declared.callables import Unreadable, signatures
from pinproof.contract.evaluation.evaluator import Evaluator
from pinproof.contract.evaluation.position import Position
from pinproof.contract.evaluation.values import (
    NONE,
    Absent,
    Constant,
    EngineFunction,
    EngineInstance,
    External,
    LibraryInstance,
    LibraryMember,
    LibraryModule,
    OpenMember,
    Unknown,
    Value,
)  # fmt: skip
from pinproof.contract.judging import flags
from pinproof.contract.model import DriftKind
from pinproof.contract.syntax.nodes import FunctionNode, own_nodes
from pinproof.contract.watch.watchlist import platforms


class _Probe:
    """A test that asks the library or its version something, and whose answer is not known."""


PROBE: Final = _Probe()
Answer = bool | _Probe | None
_DEEPEST = 4


class Question(NamedTuple):
    """The drift that a test may guard: its kind and the names it is about."""

    kind: DriftKind
    names: tuple[str, ...]


@lru_cache(maxsize=1)
def other_platforms() -> frozenset[str]:
    """Words that name a platform the watched builds are not for."""
    return frozenset(platforms().other)


@lru_cache(maxsize=1)
def _platform_test() -> tuple[re.Pattern[str], re.Pattern[str]]:
    own = "|".join(map(re.escape, platforms().own))
    other = "|".join(map(re.escape, platforms().other))
    tests = "|".join(map(re.escape, platforms().other_tests))
    ask = r"_*(?:is|on|use|has)_"
    # `use_sgl_xpu`, `is_cpu_amx_available` speak of another platform; `is_not_npu`, `has_lens_cpu` do not.
    elsewhere = rf"{ask}(?!not_|non_|no_)(?:(?:[a-z0-9]+_)*(?:{other})|{tests})(?:_\w*)?"
    return re.compile(rf"{ask}(?:{own})", re.I), re.compile(elsewhere, re.I)


def of(evaluator: Evaluator, test: ast.expr, at: Position, question: Question, depth: int = 0) -> Answer:
    """Whether `test` holds: True or False when that is sure, PROBE for an unanswered probe, else None."""
    if depth > _DEEPEST:
        return None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _not(of(evaluator, test.operand, at, question, depth))
    if isinstance(test, ast.BoolOp):
        answers = [of(evaluator, v, at, question, depth) for v in test.values]
        return _all(answers) if isinstance(test.op, ast.And) else _not(_all([_not(a) for a in answers]))
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.Compare):
        return _compare(evaluator, test, at, question)
    if isinstance(test, ast.NamedExpr):
        return of(evaluator, test.value, at, question, depth)
    named = _platform(test)
    if named is not None:
        return named
    if isinstance(test, ast.Call):
        return _call(evaluator, test, at, question, depth)
    if isinstance(test, ast.Name | ast.Attribute):
        return _stored(evaluator, test, at, question, depth)
    return None


def _not(answer: Answer) -> Answer:
    return not answer if isinstance(answer, bool) else answer


def _all(answers: list[Answer]) -> Answer:
    if False in answers:
        return False
    if PROBE in answers:
        return PROBE
    return True if all(a is True for a in answers) else None


def _platform(test: ast.expr) -> bool | None:
    """`current_platform.is_cuda()`, `_is_hip`, `TYPE_CHECKING`: answered for the watched platform."""
    inner = test.func if isinstance(test, ast.Call) else test
    last = inner.attr if isinstance(inner, ast.Attribute) else inner.id if isinstance(inner, ast.Name) else ""
    if last == "TYPE_CHECKING":
        return False
    own, other = _platform_test()
    if own.fullmatch(last):
        return True
    return False if other.fullmatch(last) else None


def _compare(evaluator: Evaluator, test: ast.Compare, at: Position, question: Question) -> Answer:
    if len(test.ops) == 1 and isinstance(test.ops[0], ast.In | ast.NotIn):
        answer = _in_signature(evaluator, test.left, test.comparators[0], at)
        if answer is not None:
            return _not(answer) if isinstance(test.ops[0], ast.NotIn) else answer
        if isinstance(test.left, ast.Constant) and test.left.value in _wanted(question):
            return PROBE  # `"name" in dir(module)`, in its __dict__, in a list of what it can do
    if len(test.ops) == 1 and isinstance(test.ops[0], ast.Is | ast.IsNot) and _is_none(test.comparators[0]):
        if isinstance(test.left, ast.Call) and any(
            _names(argument) & _wanted(question) for argument in test.left.args
        ):
            return PROBE  # `find_spec("package.module") is not None`
        present = _presence(evaluator, test.left, at)
        return _not(present) if isinstance(test.ops[0], ast.Is) else present
    sides = [test.left, *test.comparators]
    sides += [s for side in sides if isinstance(side, ast.Name) for _, s in evaluator.sources(side, at)]
    if any(_speaks_of_version(side) for side in sides) or any(_asks_signature(side) for side in sides):
        return PROBE
    return None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _presence(evaluator: Evaluator, node: ast.expr, at: Position) -> Answer:
    """`x is not None` where x is a getattr with a default, or a module from a getter."""
    values = evaluator.value(node, at)
    if values and all(isinstance(v, LibraryMember | LibraryModule) for v in values):
        return None  # there in the pinned version; another reason may still make it None
    return False if values == (NONE,) else None


def _in_signature(evaluator: Evaluator, left: ast.expr, right: ast.expr, at: Position) -> Answer:
    """`"name" in inspect.signature(f).parameters`: answered from the pinned signature."""
    if not _asks_signature(right):
        return None
    call = next(c for c in ast.walk(right) if isinstance(c, ast.Call) and _is_signature(c))
    if not (isinstance(left, ast.Constant) and isinstance(left.value, str) and call.args):
        return PROBE
    values = evaluator.value(call.args[0], at)
    answers = {_declares(v, left.value) for v in values}
    return answers.pop() if len(answers) == 1 else PROBE


def _declares(value: Value, name: str) -> Answer:
    if not isinstance(value, LibraryMember):
        return PROBE
    try:
        found = signatures(value.library, value.member, value.path, bound=value.bound)
    except Unreadable:
        return PROBE
    answers = {any(p.name == name for p in s.parameters) for s in found}
    return answers.pop() if len(answers) == 1 else PROBE


def _is_signature(node: ast.Call) -> bool:
    last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return last in ("signature", "getfullargspec", "getargspec")


def _asks_signature(node: ast.AST) -> bool:
    return any(isinstance(c, ast.Call) and _is_signature(c) for c in ast.walk(node))


def _speaks_of_version(node: ast.AST) -> bool:
    for child in ast.walk(node):
        name = getattr(child, "id", None) or getattr(child, "attr", None)
        if isinstance(name, str) and re.search(r"version", name, re.I):
            return True
    return False


def _call(evaluator: Evaluator, test: ast.Call, at: Position, question: Question, depth: int) -> Answer:
    if isinstance(test.func, ast.Name) and test.func.id == "hasattr" and len(test.args) == 2:
        return _hasattr(evaluator, test, at, question)
    if isinstance(test.func, ast.Name) and test.func.id in ("bool", "callable") and test.args:
        return of(evaluator, test.args[0], at, question, depth + 1)
    if isinstance(test.func, ast.Name) and test.func.id in ("any", "all", "isinstance", "len"):
        return PROBE if _asks_signature(test) else None
    if _asks_signature(test) or _speaks_of_version(test) or _is_asked_about(evaluator, test, at):
        return PROBE
    answers = [_function(evaluator, v, question, depth) for v in evaluator.value(test.func, at)]
    return PROBE if PROBE in answers else None


def _is_asked_about(evaluator: Evaluator, test: ast.Call, at: Position) -> bool:
    """Whether a helper is handed a library's callable: `supports_keyword(wrapper.combine, "output")`."""
    return any(
        isinstance(value, LibraryMember | OpenMember)
        for argument in test.args
        if isinstance(argument, ast.Name | ast.Attribute)
        for value in evaluator.value(argument, at)
    )


def _hasattr(evaluator: Evaluator, test: ast.Call, at: Position, question: Question) -> Answer:
    name = test.args[1]
    if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
        return PROBE
    answers: set[Answer] = set()
    for value in evaluator.value(test.args[0], at):
        if isinstance(value, Unknown | External | Constant | EngineInstance):
            # About another package; asked for the missing name it is the choice between the two.
            return PROBE if name.value in _wanted(question) else None
        if not isinstance(value, LibraryModule | LibraryInstance | LibraryMember):
            answers.add(PROBE)
            continue
        found = evaluator.attribute(value, name.value)
        if any(isinstance(v, OpenMember) for v in found):
            answers.add(PROBE)
        else:
            answers.add(not any(isinstance(v, Absent) for v in found))
    return answers.pop() if len(answers) == 1 else PROBE if answers else None


def _function(evaluator: Evaluator, value: Value, question: Question, depth: int) -> Answer:
    """Whether a helper of the tree is a probe for what drifted: by signature, version or presence."""
    if not isinstance(value, EngineFunction) or isinstance(value.node, ast.Lambda):
        return None
    presence = question.kind in ("missing-attribute", "missing-module")
    for node in own_nodes(value.node):
        if isinstance(node, ast.Call) and _is_signature(node):
            return PROBE
        if isinstance(node, ast.Compare) and any(
            _speaks_of_version(s) for s in (node.left, *node.comparators)
        ):
            return PROBE
        if presence and _names(node) & _wanted(question):
            return PROBE
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Call) and depth < _DEEPEST:
            scope = value.scope.inner(value.node, value.node.name)
            if _call(evaluator, node.value, evaluator.at(scope), question, depth + 1) is PROBE:
                return PROBE
    return None


def _wanted(question: Question) -> set[str]:
    return {name for full in question.names for name in (full, full.rsplit(".", 1)[-1])}


def _names(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return {node.value, node.value.rsplit(":", 1)[-1]}
    if isinstance(node, ast.ImportFrom):
        return {node.module or "", *(alias.name for alias in node.names)}
    return set()


def _stored(
    evaluator: Evaluator, test: ast.Name | ast.Attribute, at: Position, question: Question, depth: int
) -> Answer:
    """A name or attribute that holds the answer of a probe."""
    if isinstance(test, ast.Name):
        flag = flags.answer(evaluator, test.id, at)
        if flag is not None:
            return PROBE if flag == "unknown" else flag == "true"
    for scope, value in evaluator.sources(test, at):
        if isinstance(value, FunctionNode):
            continue
        if isinstance(value, ast.Constant):
            continue
        answer = of(evaluator, value, evaluator.at(scope), question, depth + 1)
        if answer is PROBE or _mentions_probe(value):
            return PROBE
        if isinstance(answer, bool) and len(list(evaluator.sources(test, at))) == 1:
            return answer
    return None


def _mentions_probe(value: ast.expr) -> bool:
    return _asks_signature(value) or (
        _speaks_of_version(value) and isinstance(value, ast.Compare | ast.BoolOp)
    )
