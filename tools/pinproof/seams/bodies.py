"""Compare two definitions by syntax: comments, layout and docstrings do not count."""

from __future__ import annotations

import ast
import copy
import difflib

from pinproof.seams.code import FunctionNode


def same(one: ast.AST, other: ast.AST, *, names: bool = True) -> bool:
    """Whether two definitions do the same by their syntax.

    Args:
        one, other: functions or classes.
        names: whether they must be called the same.
    """
    first, second = _bare(one), _bare(other)
    if not names:
        for node in (first, second):
            if isinstance(node, FunctionNode | ast.ClassDef):
                node.name = "_"
                node.decorator_list = []
    return ast.dump(first) == ast.dump(second)


def difference(one: ast.AST, other: ast.AST) -> list[str]:
    """The lines that a change takes out and puts in, as a unified diff of the code without comments."""
    before, after = (
        ast.unparse(ast.fix_missing_locations(_bare(node))).splitlines() for node in (one, other)
    )
    return [
        line for line in difflib.unified_diff(before, after, n=0, lineterm="")
        if line[:3] not in ("---", "+++") and not line.startswith("@@")
    ]  # fmt: skip


def summary(one: ast.AST, other: ast.AST) -> str:
    """How much changed, in a few words."""
    lines = difference(one, other)
    minus, plus = sum(line[0] == "-" for line in lines), sum(line[0] == "+" for line in lines)
    return f"{plus} lines in, {minus} out"


def header(node: ast.AST | None) -> str | None:
    """`name(a, b=1)` of a function, None for what is none."""
    if not isinstance(node, FunctionNode):
        return None
    bare = copy.deepcopy(node.args)
    for given in (*bare.posonlyargs, *bare.args, *bare.kwonlyargs, bare.vararg, bare.kwarg):
        if given is not None:
            given.annotation = None
    return f"{node.name}({ast.unparse(bare)})"


def _bare(node: ast.AST) -> ast.AST:
    found = copy.deepcopy(node)
    for inner in ast.walk(found):
        if isinstance(inner, FunctionNode | ast.ClassDef) and _has_docstring(inner):
            inner.body = inner.body[1:] or [ast.Pass()]
    return found


def _has_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    first = node.body[0] if node.body else None
    return (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
