"""Whether a test in a plugin holds on one version of its engine: `vllm_version_is("0.28.0")` and its kind."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from pinproof.seams.code import FunctionNode, World, dotted_name
from pinproof.seams.names import Names, Scope

if TYPE_CHECKING:
    from packaging.version import Version

_DEEPEST = 4
_COMPARE: dict[type[ast.cmpop], Callable[[Version, Version], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


class Versions:
    """Answers tests of a plugin for one version of its engine.

    Args:
        world: the plugin, and the engine at that version.
        version: the version, e.g. `0.28.0`.
    """

    def __init__(self, world: World, version: str) -> None:
        from packaging.version import InvalidVersion, Version

        self._world = world
        self._names: dict[str, Names] = {}
        try:
            self._version: Version | None = Version(version)
        except InvalidVersion:
            self._version = None

    def holds(self, test: ast.expr, names: Names, scope: Scope, depth: int = 0) -> bool | None:
        """Whether a test holds; None when that is not known."""
        if self._version is None or depth > _DEEPEST:
            return None
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.holds(test.operand, names, scope, depth)
            return None if inner is None else not inner
        if isinstance(test, ast.BoolOp):
            answers = [self.holds(value, names, scope, depth) for value in test.values]
            decides = isinstance(test.op, ast.Or)
            return decides if decides in answers else None if None in answers else not decides
        if isinstance(test, ast.Compare):
            return self._compare(test, names, scope)
        if isinstance(test, ast.Name):
            return self._name(test, names, scope, depth)
        return self._call(test, names, scope, depth) if isinstance(test, ast.Call) else None

    def _compare(self, test: ast.Compare, names: Names, scope: Scope) -> bool | None:
        """`Version(vllm.__version__) >= Version("0.28.0")`, either way round."""
        if len(test.ops) != 1 or type(test.ops[0]) not in _COMPARE or self._version is None:
            return None
        left = self._side(test.left, names, scope)
        right = self._side(test.comparators[0], names, scope)
        if left is None or right is None or (left == "own") == (right == "own"):
            return None
        given = [self._version if side == "own" else _version(side) for side in (left, right)]
        if given[0] is None or given[1] is None:
            return None
        return _COMPARE[type(test.ops[0])](given[0], given[1])

    def _side(self, node: ast.expr, names: Names, scope: Scope) -> str | None:
        """ "own" for the engine's version, a version for a constant, else None."""
        if (
            isinstance(node, ast.Call)
            and node.args
            and _last(node.func) in ("Version", "parse", "parse_version")
        ):
            return self._side(node.args[0], names, scope)
        constant = names.strings(node, scope)
        if len(constant) == 1 and re.match(r"v?\d", constant[0]):
            return constant[0]
        return "own" if any(self._is_own(full) for full in names.dotted(node, scope)) else None

    def _is_own(self, full: str) -> bool:
        return self._world.is_engine(full) and full.rpartition(".")[2] in (
            "__version__",
            "VERSION",
            "version",
        )

    def _name(self, test: ast.Name, names: Names, scope: Scope, depth: int) -> bool | None:
        """A flag that was set to such a test, once."""
        current: Scope | None = scope
        while current is not None and test.id not in current.values:
            current = current.parent
        values = current.values[test.id] if current is not None else []
        if len(values) == 1 and isinstance(values[0], ast.expr) and current is not None:
            return self.holds(values[0], names, current, depth + 1)
        if len(values) == 1 and isinstance(values[0], str):
            return self._imported(values[0], depth)
        return None

    def _imported(self, full: str, depth: int) -> bool | None:
        found = self._world.find(full)
        if found.kind != "value" or found.module is None or self._world.is_engine(found.name):
            return None
        value = getattr(found.node, "value", None)
        if not isinstance(value, ast.expr):
            return None
        names = self._of(found.module.name)
        return None if names is None else self.holds(value, names, names.top, depth + 1)

    def _of(self, module: str) -> Names | None:
        if module not in self._names:
            parsed = self._world.module(module)
            if parsed is None:
                return None
            self._names[module] = Names(parsed)
        return self._names[module]

    def _call(self, test: ast.Call, names: Names, scope: Scope, depth: int) -> bool | None:
        if _last(test.func) == "hasattr" and len(test.args) == 2:
            return self._hasattr(test, names, scope)
        for full in names.dotted(test.func, scope):
            found = self._world.find(full)
            if (
                isinstance(found.node, FunctionNode)
                and found.module
                and not self._world.is_engine(found.name)
            ):
                return self._helper(found.module.name, found.node, test, names, scope, depth)
        return None

    def _hasattr(self, test: ast.Call, names: Names, scope: Scope) -> bool | None:
        owners, wanted = names.dotted(test.args[0], scope), names.strings(test.args[1], scope)
        if len(owners) != 1 or len(wanted) != 1 or not self._world.is_engine(owners[0]):
            return None
        kind = self._world.find(f"{owners[0]}.{wanted[0]}").kind
        return None if kind == "open" else kind != "absent"

    def _helper(
        self, module: str, node: ast.AST, call: ast.Call, names: Names, scope: Scope, depth: int
    ) -> bool | None:
        """A helper of the plugin, by what it returns: `def version_is(v): return Version(own) == Version(v)`."""
        own = self._of(module)
        assert isinstance(node, FunctionNode)
        inner = own.top.inner.get(id(node)) if own is not None else None
        if own is None or inner is None:
            return None
        given = [names.strings(argument, scope) for argument in call.args]
        plain = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        constants = {n: values[0] for n, values in zip(plain, given, strict=False) if len(values) == 1}
        returned = [n.value for n in ast.walk(node) if isinstance(n, ast.Return) and n.value is not None]
        answers = {self._returned(value, own, inner, constants, depth) for value in returned}
        return answers.pop() if len(answers) == 1 else None

    def _returned(
        self, value: ast.expr, names: Names, scope: Scope, constants: dict[str, str], depth: int
    ) -> bool | None:
        if isinstance(value, ast.Compare) and len(value.ops) == 1 and type(value.ops[0]) in _COMPARE:
            sides = [value.left, value.comparators[0]]
            given = [next((constants[n] for n in _words(side) if n in constants), None) for side in sides]
            if (given[0] is None) != (given[1] is None) and self._version is not None:
                wanted = _version(given[0] or given[1] or "")
                other = sides[1] if given[0] is not None else sides[0]
                if wanted is None or not any("version" in word.lower() for word in _words(other)):
                    return None
                pair = (wanted, self._version) if given[0] is not None else (self._version, wanted)
                return _COMPARE[type(value.ops[0])](*pair)
        return self.holds(value, names, scope, depth + 1)


def _last(node: ast.expr) -> str:
    return (dotted_name(node) or "").rpartition(".")[2]


def _words(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} | {
        n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)
    }


def _version(text: str) -> Version | None:
    from packaging.version import InvalidVersion, Version

    try:
        return Version(text)
    except InvalidVersion:
        return None
