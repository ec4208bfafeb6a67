"""Whether a test in a plugin holds on one version of its engine: `vllm_version_is("0.28.0")` and its kind."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from pinproof.seams.code import FunctionNode, World, dotted_name
from pinproof.seams.names import Names, Scope

if TYPE_CHECKING:
    from packaging.version import Version

_DEEPEST = 24
# Expressions evaluated for one test before it is given up as unknown: real helpers need some dozens.
_BUDGET = 600
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
# What a Version has that comparisons use (packaging.version.Version).
_PARTS = frozenset({"release", "major", "minor", "micro", "base_version", "public", "dev", "pre", "post"})
_VERSION_NAMES = frozenset({"__version__", "VERSION", "version", "__version_tuple__"})
_PARSERS = frozenset({"Version", "parse", "parse_version", "LooseVersion"})


class _Unknown:
    """A value that cannot be told."""


class _Present:
    """A class, function or module of the engine that is there: not None, and true."""


_UNKNOWN: Final = _Unknown()
_PRESENT: Final = _Present()


class Versions:
    """Answers tests of a plugin for one version of its engine.

    Args:
        world: the plugin, and the engine at that version.
        version: the version, e.g. `0.28.0`; for a commit or a folder nothing is known.
    """

    def __init__(self, world: World, version: str) -> None:
        self._world = world
        self._names: dict[str, Names] = {}
        self._version = parsed(version)
        self._memo: dict[tuple[int, str], tuple[Any, bool]] = {}
        self._asked = False
        self._running: set[tuple[int, str]] = set()
        self._spent = 0

    def holds(self, test: ast.expr, names: Names, scope: Scope) -> bool | None:
        """Whether a test holds; None when that is not known."""
        if self._version is None:
            return None
        self._spent = 0
        self._asked = False
        answer = self._truth(test, _Frame(names, scope, {}), 0)
        return answer if self._asked else None  # what asks nothing of the engine is decided when it runs

    def _truth(self, test: ast.expr, frame: _Frame, depth: int) -> bool | None:
        value = self._value(test, frame, depth)
        return None if isinstance(value, _Unknown) else bool(value)

    def _value(self, node: ast.expr, frame: _Frame, depth: int) -> Any:
        """What an expression is on this version: a version, a tuple, a string, a truth, or unknown."""
        self._spent += 1
        if depth > _DEEPEST or self._spent > _BUDGET:
            return _UNKNOWN
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Tuple | ast.List):
            return self._tuple(node.elts, frame, depth)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self._truth(node.operand, frame, depth + 1)
            return _UNKNOWN if inner is None else not inner
        if isinstance(node, ast.BoolOp):
            return self._either(node, frame, depth)
        if isinstance(node, ast.Compare):
            return self._compare(node, frame, depth)
        if isinstance(node, ast.Name):
            return self._name(node, frame, depth)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, frame, depth)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, frame, depth)
        return self._call(node, frame, depth) if isinstance(node, ast.Call) else _UNKNOWN

    def _tuple(self, elements: Sequence[ast.expr], frame: _Frame, depth: int) -> Any:
        values = [self._value(element, frame, depth + 1) for element in elements]
        return _UNKNOWN if any(isinstance(v, _Unknown) for v in values) else tuple(values)

    def _either(self, node: ast.BoolOp, frame: _Frame, depth: int) -> Any:
        values = [self._value(value, frame, depth + 1) for value in node.values]
        decides = isinstance(node.op, ast.Or)
        # `envs.VERSION or vllm.__version__`: the setting by hand is left out of account.
        if decides and any(value is self._version for value in values):
            return self._version
        answers = [None if isinstance(v, _Unknown) else bool(v) for v in values]
        return decides if decides in answers else _UNKNOWN if None in answers else not decides

    def _compare(self, node: ast.Compare, frame: _Frame, depth: int) -> Any:
        if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARE:
            return _UNKNOWN
        left = self._value(node.left, frame, depth + 1)
        right = self._value(node.comparators[0], frame, depth + 1)
        if isinstance(left, _Unknown) or isinstance(right, _Unknown):
            return _UNKNOWN
        if _PRESENT in (left, right) and not isinstance(node.ops[0], ast.Is | ast.IsNot):
            return _UNKNOWN
        if (left is self._version) != (right is self._version):  # its text is compared with a text
            left, right = (parsed(v) if isinstance(v, str) else v for v in (left, right))
        try:
            return _COMPARE[type(node.ops[0])](left, right)
        except TypeError:
            return _UNKNOWN

    def _name(self, node: ast.Name, frame: _Frame, depth: int) -> Any:
        if node.id in frame.given:
            return frame.given[node.id]
        scope: Scope | None = frame.scope
        while scope is not None and node.id not in scope.values:
            scope = scope.parent
        if scope is None:
            return _UNKNOWN
        key = (id(scope), node.id)
        if key in self._memo and not frame.given:
            known, asked = self._memo[key]
            self._asked = self._asked or asked
            return known
        if key in self._running:  # version = version.split("+")[0]
            return _UNKNOWN
        self._running.add(key)
        before, self._asked = self._asked, False
        values = self._candidates(node.id, scope, frame, depth)
        self._running.discard(key)
        asked, self._asked = self._asked, before or self._asked
        found = values[0] if len(values) == 1 else _UNKNOWN
        if any(value is self._version for value in values):
            found = self._version
        if not asked and not isinstance(found, str):
            found = _UNKNOWN  # `found = []` says how a variable begins, not what it is later
        if not frame.given and self._spent <= _BUDGET:
            self._memo[key] = found, asked
        return found

    def _candidates(self, name: str, scope: Scope, frame: _Frame, depth: int) -> list[Any]:
        """What a name may be bound to on this version: bindings that do not run there are left out."""
        found: list[tuple[Any, bool]] = []
        here = _Frame(frame.names, scope, frame.given)
        for value, when in zip(scope.values[name], scope.when[name], strict=True):
            answers = [(self._truth(test, here, depth + 2), wanted) for test, wanted in when.tests]
            if any(answer is not None and answer != wanted for answer, wanted in answers):
                continue
            if isinstance(value, str) and self._is_gone(value) and len(scope.values[name]) > 1:
                self._asked = True
                continue  # this import fails, and a handler or another branch binds the name
            made = (
                self._imported(value, depth)
                if isinstance(value, str)
                else self._value(value, here, depth + 2)
            )
            found.append((made, when.fallback))
        if any(made is _PRESENT and not fallback for made, fallback in found):
            found = [(made, fallback) for made, fallback in found if not fallback]
        return [made for made, _ in found]

    def _is_gone(self, full: str) -> bool:
        return self._world.is_engine(full) and self._world.find(full).kind == "absent"

    def _attribute(self, node: ast.Attribute, frame: _Frame, depth: int) -> Any:
        for full in frame.names.dotted(node, frame.scope):
            value = self._imported(full, depth)
            if not isinstance(value, _Unknown):
                return value
        owner = self._value(node.value, frame, depth + 1)
        if node.attr in _PARTS and owner is not None and type(owner).__name__ == "Version":
            return getattr(owner, node.attr)
        return _UNKNOWN

    def _imported(self, full: str, depth: int) -> Any:
        """The engine's own version, or a flag that another module of the plugin sets."""
        if self._world.is_engine(full):
            self._asked = True
            if full.rpartition(".")[2] in _VERSION_NAMES:
                return self._version
            return _PRESENT if self._world.find(full).kind in ("class", "function", "module") else _UNKNOWN
        found = self._world.find(full)
        value = getattr(found.node, "value", None)
        if found.kind != "value" or found.module is None or not isinstance(value, ast.expr):
            return _UNKNOWN
        names = self.names_of(found.module.name)
        return _UNKNOWN if names is None else self._value(value, _Frame(names, names.top, {}), depth + 1)

    def names_of(self, module: str) -> Names | None:
        """The names of one of the plugin's modules; None when there is none that parses."""
        if module not in self._names:
            found = self._world.module(module)
            if found is None:
                return None
            self._names[module] = Names(found)
        return self._names[module]

    def _subscript(self, node: ast.Subscript, frame: _Frame, depth: int) -> Any:
        owner = self._value(node.value, frame, depth + 1)
        if owner is self._version:  # version.split("+")[0]
            return owner
        try:
            return (
                owner[ast.literal_eval(node.slice)]
                if not isinstance(node.slice, ast.Slice)
                else owner[_bound(node.slice.lower) : _bound(node.slice.upper)]
            )
        except (TypeError, ValueError, IndexError, KeyError):
            return _UNKNOWN

    def _call(self, node: ast.Call, frame: _Frame, depth: int) -> Any:
        called = (dotted_name(node.func) or "").rpartition(".")[2]
        if called == "hasattr" and len(node.args) == 2:
            return self._hasattr(node, frame)
        if called in _PARSERS and len(node.args) == 1:
            value = self._value(node.args[0], frame, depth + 1)
            return parsed(value) or _UNKNOWN if isinstance(value, str) else value
        if called == "version" and node.args and isinstance(node.args[0], ast.Constant):
            self._asked = True
            return self._version if node.args[0].value in self._world.engine.packages else _UNKNOWN
        if isinstance(node.func, ast.Attribute) and called in ("split", "strip", "partition"):
            owner = self._value(node.func.value, frame, depth + 1)
            return owner if owner is self._version else _UNKNOWN
        for full in frame.names.dotted(node.func, frame.scope):
            found = self._world.find(full)
            if (
                isinstance(found.node, FunctionNode)
                and found.module
                and not self._world.is_engine(found.name)
            ):
                return self._helper(found.module.name, found.node, node, frame, depth)
        return _UNKNOWN

    def _hasattr(self, node: ast.Call, frame: _Frame) -> Any:
        owners = frame.names.dotted(node.args[0], frame.scope)
        wanted = frame.names.strings(node.args[1], frame.scope)
        if len(owners) != 1 or len(wanted) != 1 or not self._world.is_engine(owners[0]):
            return _UNKNOWN
        kind = self._world.find(f"{owners[0]}.{wanted[0]}").kind
        self._asked = True
        return _UNKNOWN if kind == "open" else kind != "absent"

    def _helper(self, module: str, node: FunctionNode, call: ast.Call, frame: _Frame, depth: int) -> Any:
        """What a helper of the plugin returns on this version, its statements followed one by one."""
        names = self.names_of(module)
        inner = names.top.inner.get(id(node)) if names is not None else None
        if names is None or inner is None:
            return _UNKNOWN
        plain = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        given = {n: self._value(a, frame, depth + 1) for n, a in zip(plain, call.args, strict=False)}
        given |= {k.arg: self._value(k.value, frame, depth + 1) for k in call.keywords if k.arg}
        returned = self._run(node.body, _Frame(names, inner, given), depth + 1)
        return _UNKNOWN if returned is None else returned[0]

    def _run(self, body: Sequence[ast.stmt], frame: _Frame, depth: int) -> tuple[Any] | None:
        """The value that a body returns, as a tuple of one; None when it runs to its end."""
        for item in body:
            found: tuple[Any] | None = None
            if isinstance(item, ast.Return):
                return (None,) if item.value is None else (self._value(item.value, frame, depth),)
            if isinstance(item, ast.Try | ast.With):
                found = self._run(item.body, frame, depth)
            elif isinstance(item, ast.If):
                found = self._branch(item, frame, depth)
            if found is not None:
                return found
        return None

    def _branch(self, item: ast.If, frame: _Frame, depth: int) -> tuple[Any] | None:
        answer = self._truth(item.test, frame, depth)
        if answer is not None:
            return self._run(item.body if answer else item.orelse, frame, depth)
        leaves = any(isinstance(n, ast.Return) for n in ast.walk(item))
        return (_UNKNOWN,) if leaves else None


class _Frame:
    """Where an expression is read: a file's names, a scope, and what a helper's parameters were given."""

    def __init__(self, names: Names, scope: Scope, given: dict[str, Any]) -> None:
        self.names, self.scope, self.given = names, scope, given


def _bound(node: ast.expr | None) -> int | None:
    value = ast.literal_eval(node) if node is not None else None
    if value is not None and not isinstance(value, int):
        raise ValueError("no index")
    return value


def parsed(text: str) -> Version | None:
    """A version (PEP 440) from its text, None when it is none."""
    from packaging.version import InvalidVersion, Version

    try:
        return Version(text)
    except InvalidVersion:
        return None
