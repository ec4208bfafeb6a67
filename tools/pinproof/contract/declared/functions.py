"""What one `def` declares."""

from __future__ import annotations

import ast

from pinproof.contract.declared.decorators import effect
from pinproof.contract.declared.gives import arity, gives
from pinproof.contract.declared.parameters import parameters
from pinproof.contract.declared.summary import Function
from pinproof.contract.syntax.nodes import FunctionNode, dotted


def function(node: FunctionNode) -> Function:
    """The summary of one `def`."""
    return Function(
        line=node.lineno,
        parameters=parameters(node.args),
        decorators=tuple(decorator_name(d) for d in node.decorator_list),
        returns=gives(node),
        arity=arity(node),
        wrapper=effect(node),
    )


def is_overload(node: FunctionNode) -> bool:
    """Whether a `def` only declares an overload; the implementation's signature is what is called."""
    return any((dotted(d) or "").rsplit(".", 1)[-1] == "overload" for d in node.decorator_list)


def decorator_name(node: ast.expr) -> str:
    """The dotted name of a decorator, `()` behind it when it is called, "?" when it has no name."""
    if isinstance(node, ast.Call):
        return (dotted(node.func) or "?") + "()"
    return dotted(node) or "?"
