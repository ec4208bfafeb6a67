"""Flags that a try around an import sets: `try: import new; except ImportError: LEGACY = True`."""

from __future__ import annotations

import ast
from typing import Literal

from pinproof.contract.evaluation.evaluator import Evaluator
from pinproof.contract.evaluation.position import Position
from pinproof.contract.evaluation.values import Absent, OpenMember, Value
from pinproof.contract.syntax.bindings import Arm, Binding, flatten
from pinproof.contract.syntax.scopes import Scope

Flag = Literal["true", "false", "unknown"]


def answer(evaluator: Evaluator, name: str, at: Position) -> Flag | None:
    """What a name holds that handlers of failed imports set; None when none of them does.

    Whether the imports fail is looked up in the pinned libraries, so a flag that only says that the
    library is there is simply true.
    """
    scope: Scope | None = at.scope
    while scope is not None and name not in scope.bindings:
        scope = scope.parent
    found = [] if scope is None else scope.bindings[name]
    in_handlers = [(b, arm) for b in found for arm in b.path if arm.handler is not None]
    if scope is None or not in_handlers or not all(_constant(b) for b in found):
        return None
    outcomes = [_outcome(evaluator, arm, scope) for _, arm in in_handlers]
    if "none" in outcomes:
        return None
    if "unknown" in outcomes:
        return "unknown"
    taken = [b for (b, _), outcome in zip(in_handlers, outcomes, strict=True) if outcome == "fails"]
    rest = [b for b in found if all(b is not h for h, _ in in_handlers)]
    deciding = taken or rest
    return _constant(deciding[-1]) if deciding else None


def _constant(binding: Binding) -> Flag | None:
    node = binding.node
    if binding.kind == "value" and isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return "true" if node.value else "false"
    return None


def _outcome(evaluator: Evaluator, arm: Arm, scope: Scope) -> Literal["fails", "passes", "unknown", "none"]:
    """Whether the imports of watched libraries in a try body fail; "none" when there are none."""
    assert isinstance(arm.node, ast.Try)
    values: list[Value] = []
    for step in flatten(arm.node.body):
        node = step.node
        if isinstance(node, ast.ImportFrom):
            module = scope.file.absolute(node.module, node.level)
            if evaluator.codebase.watched(module) is not None:
                values.extend(v for alias in node.names for v in evaluator.imported(module, alias.name))
        elif isinstance(node, ast.Import):
            known = [alias.name for alias in node.names if evaluator.codebase.watched(alias.name) is not None]
            values.extend(v for name in known for v in evaluator.module(name))
    if any(isinstance(v, Absent) for v in values):
        return "fails"
    if any(isinstance(v, OpenMember) for v in values):
        return "unknown"
    return "passes" if values else "none"
