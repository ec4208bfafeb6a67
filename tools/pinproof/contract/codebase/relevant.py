"""Which statements of a file can reach a watched library: a quick look at the text, before any evaluation.

Names spread from seeds (import names, or one callee's name) through assignments, imports under
another name, returns and annotations. It only ever finds too much; evaluation decides.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from pinproof.contract.syntax.bindings import loop_targets, own_expressions
from pinproof.contract.syntax.nodes import Comprehension, FunctionNode, defaults, lines
from pinproof.contract.syntax.scopes import Scope, SourceFile, scopes

_WALRUS = re.compile(rb"([A-Za-z_]\w*)\s*:=")
_WORD = re.compile(rb"[A-Za-z_]\w*")
# A keyword that hands a name on: `Format(kernel="fp8_gemm")`, `partial(run, function=lib.f)`.
_HANDED_ON = re.compile(rb"\b([A-Za-z_]\w*)\s*=\s*[\"']?(?:[\w.]+\.)?([A-Za-z_]\w*)\b(?!\s*\()")


class Relevant:
    """The names of one file that may stand for something of a watched library.

    Args:
        file: the parsed file.
        seeds: identifiers to begin with.
    """

    def __init__(self, file: SourceFile, seeds: Iterable[str]) -> None:
        self._lines = lines(file.data)
        self.names = set(seeds)
        self.heirs: set[ast.ClassDef] = set()
        """Classes whose bases may be a library's: what they read from `self` may be inherited."""
        self.holders: set[ast.ClassDef] = set()
        """Classes in whose body or methods such a name is stored or returned."""
        self._statements = [
            (scope, step, text, set(_WORD.findall(text)))
            for scope in scopes(file.scope)
            for step in scope.steps
            for text in (self._text(step.node),)
        ]
        self._spread()
        words = {name.encode() for name in self.names}
        self.statements = [
            (scope, step)
            for scope, step, _, found in self._statements
            if not words.isdisjoint(found) or (b"self" in found and self.inherits(scope))
        ]
        self._statements, self._lines = [], []

    def inherits(self, scope: Scope) -> bool:
        """Whether a statement stands in a method of a class that may inherit from a library's."""
        owner = scope.enclosing_class
        return owner is not None and owner.node in self.heirs

    def _spread(self) -> None:
        fresh = set(self.names)
        while fresh:
            words = {name.encode() for name in fresh}
            found: set[str] = set()
            for scope, step, text, held in self._statements:
                if not words.isdisjoint(held):
                    found.update(_receivers(step.node, scope, fresh))
                    if _is_kept(step.node, scope, fresh):
                        self.holders.update(_owner(scope))
                    if isinstance(step.node, ast.ClassDef) and _has_base(step.node, fresh):
                        self.heirs.add(step.node)
                    if b":=" in text:
                        found.update(name.decode() for name in _WALRUS.findall(text))
                    if b"for" in held:
                        found.update(_comprehended(step.node, fresh))
                    if b"=" in text:
                        found.update(k.decode() for k, v in _HANDED_ON.findall(text) if v in words)
            fresh = found - self.names
            self.names |= fresh

    def _text(self, node: ast.stmt) -> bytes:
        """The text of a statement, of a compound one only what stands before its first block."""
        first = node.lineno
        if isinstance(node, FunctionNode | ast.ClassDef) and node.decorator_list:
            first = min(first, node.decorator_list[0].lineno)
        body = getattr(node, "body", None)
        last = max(first, body[0].lineno - 1) if isinstance(body, list) and body else node.end_lineno or first
        return self._lines[first - 1] if first == last else b"\n".join(self._lines[first - 1 : last])


def _receivers(node: ast.stmt, scope: Scope, names: set[str]) -> Iterator[str]:
    """The names that may hold what the statement speaks of."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from _imported(node, names)
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            yield from _stored(target)
    elif isinstance(node, ast.Expr):
        yield from _put(node.value)
        if isinstance(node.value, ast.Yield) and isinstance(scope.node, FunctionNode):
            yield scope.node.name
    elif isinstance(node, ast.ClassDef):
        if _has_base(node, names):
            yield from (node.name, "super")
    elif isinstance(node, ast.For | ast.AsyncFor):
        for target, source in loop_targets(node.target, node.iter):
            if isinstance(source, ast.Tuple | ast.List) or (
                isinstance(source, ast.Name | ast.Attribute) and _last(source) in names
            ):
                yield from _stored(target)
    elif isinstance(node, ast.Return):
        if isinstance(scope.node, FunctionNode):
            yield scope.node.name
    elif isinstance(node, ast.With | ast.AsyncWith):
        for item in node.items:
            if item.optional_vars is not None and _mentions(item.context_expr, names):
                yield from _stored(item.optional_vars)
    elif isinstance(node, FunctionNode):
        yield from (a.arg for a in (*node.args.args, *node.args.kwonlyargs) if _mentions(a.annotation, names))
        yield from (arg for arg, default in defaults(node.args) if _mentions(default, names))
        if _mentions(node.returns, names):
            yield node.name


def _comprehended(node: ast.stmt, names: set[str]) -> Iterator[str]:
    """The targets of comprehensions that run over something the names speak of."""
    for expression in own_expressions(node):
        for child in ast.walk(expression):
            for generator in child.generators if isinstance(child, Comprehension) else ():
                if _mentions(generator.iter, names):
                    yield from _stored(generator.target)


def _is_kept(node: ast.stmt, scope: Scope, names: set[str]) -> bool:
    """Whether a statement gives what it speaks of to objects of the class it stands in."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return isinstance(scope.node, ast.ClassDef) or any(isinstance(t, ast.Attribute) for t in targets)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    return isinstance(node, ast.Return) or (isinstance(node, FunctionNode) and _mentions(node.returns, names))


def _owner(scope: Scope) -> Iterator[ast.ClassDef]:
    """The class whose body or method a scope is."""
    owner = scope if isinstance(scope.node, ast.ClassDef) else scope.enclosing_class
    if owner is not None and isinstance(owner.node, ast.ClassDef):
        yield owner.node


def _put(call: ast.expr) -> Iterator[str]:
    """The names that `x.append(...)` and `setattr(x, "name", ...)` give something to."""
    if not isinstance(call, ast.Call):
        return
    if isinstance(call.func, ast.Attribute) and call.func.attr == "append":
        yield from _stored(call.func.value)
    elif isinstance(call.func, ast.Name) and call.func.id == "setattr" and len(call.args) == 3:
        name = call.args[1]
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            yield name.value


def _has_base(node: ast.ClassDef, names: set[str]) -> bool:
    return any(_mentions(base, names) for base in node.bases)


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def _imported(node: ast.Import | ast.ImportFrom, names: set[str]) -> Iterator[str]:
    whole = isinstance(node, ast.ImportFrom) and not names.isdisjoint((node.module or "").split("."))
    for alias in node.names:
        if whole or not names.isdisjoint(alias.name.split(".")):
            yield alias.asname or alias.name.split(".")[0]


def _stored(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Attribute):
        yield target.attr
    elif isinstance(target, ast.Subscript | ast.Starred):
        yield from _stored(target.value)
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from _stored(element)


def _mentions(node: ast.AST | None, names: set[str]) -> bool:
    for child in ast.walk(node) if node is not None else ():
        if isinstance(child, ast.Name | ast.Attribute):
            found = {child.id if isinstance(child, ast.Name) else child.attr}
        elif isinstance(child, ast.Constant) and isinstance(child.value, str):
            found = set(re.findall(r"\w+", child.value))
        else:
            continue
        if not names.isdisjoint(found):
            return True
    return False
