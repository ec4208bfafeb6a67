"""Follow names and expressions of the tree to what they can stand for."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable

from pinproof.contract import dicts
from pinproof.contract.engine import Engine, SourceFile
from pinproof.contract.library import Library, Member
from pinproof.contract.scopes import Binding, Path, Scope, reaching
from pinproof.contract.signatures import FunctionNode, annotation
from pinproof.contract.summary import Class, Function
from pinproof.contract.values import (
    NONE,
    UNKNOWN,
    Absent,
    Constant,
    EngineClass,
    EngineFunction,
    EngineInstance,
    EngineModule,
    External,
    LibraryInstance,
    LibraryMember,
    LibraryModule,
    OpenMember,
    Partial,
    Sequence,
    Unknown,
    Value,
    Values,
    union,
)  # fmt: skip

# How many calls are followed into one another: a getter through a cache through a factory.
_DEEPEST = 8
# Decorators that leave a function what it is, as far as calling it goes.
_TRANSPARENT = {
    "functools.cache", "functools.lru_cache", "functools.wraps", "staticmethod", "classmethod", "torch.no_grad",
    "torch.inference_mode", "torch.compiler.disable", "torch._dynamo.disable", "typing.no_type_check",
}  # fmt: skip


class Position:
    """Where an expression stands: its scope, the branches around it, its place in the order."""

    __slots__ = ("order", "path", "scope")

    def __init__(self, scope: Scope, path: Path = (), order: int = 1 << 30) -> None:
        self.scope = scope
        self.path = path
        self.order = order


class Evaluator:
    """Evaluates expressions of one engine tree to sets of values."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._running: set[tuple[object, ...]] = set()
        self._memo: dict[tuple[object, ...], Values] = {}
        self._depth = 0

    # -- expressions -------------------------------------------------------------------------------

    def value(self, node: ast.AST, at: Position) -> Values:
        """What an expression can stand for."""
        if isinstance(node, ast.Name):
            return self.name(node.id, at)
        if isinstance(node, ast.Attribute):
            return self._each(self.value(node.value, at), lambda v: self.attribute(v, node.attr))
        if isinstance(node, ast.Call):
            return self._call(node, at)
        if isinstance(node, ast.Constant):
            return (Constant(node.value),)
        if isinstance(node, ast.IfExp):
            return union(self.value(node.body, at), self.value(node.orelse, at))
        if isinstance(node, ast.BoolOp):
            return union(*(self.value(v, at) for v in node.values))
        if isinstance(node, ast.NamedExpr):
            return self.value(node.value, at)
        if isinstance(node, ast.Dict):
            return (dicts.display(self, node, at),)
        if isinstance(node, ast.Tuple | ast.List):
            return self._sequence(node, at)
        if isinstance(node, ast.Lambda):
            return (EngineFunction(node, at.scope),)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, at)
        return UNKNOWN

    def _each(self, values: Values, step: object) -> Values:
        assert callable(step)
        return union(*(step(value) for value in values if value != NONE))

    def _sequence(self, node: ast.Tuple | ast.List, at: Position) -> Values:
        if len(node.elts) > 64 or any(isinstance(e, ast.Starred) for e in node.elts):
            return UNKNOWN
        return (Sequence(tuple(self.value(e, at) for e in node.elts)),)

    def _subscript(self, node: ast.Subscript, at: Position) -> Values:
        values = self.value(node.value, at)
        index = node.slice.value if isinstance(node.slice, ast.Constant) else None
        found: list[Values] = []
        for value in values:
            if isinstance(value, Sequence) and isinstance(index, int) and abs(index) < len(value.elements):
                found.append(value.elements[index])
            else:
                found.append(UNKNOWN)
        return union(*found)

    # -- names -------------------------------------------------------------------------------------

    def name(self, name: str, at: Position) -> Values:
        """What a name can stand for where it is used."""
        scope: Scope | None = at.scope
        own = True
        while scope is not None:
            if own or not isinstance(scope.node, ast.ClassDef):
                if name in scope.arguments:
                    return scope.arguments[name]  # type: ignore[return-value]
                if name in scope.bindings:
                    return self._local(name, scope, at if own else None)
            if scope.parent is None:
                return self.module_name(scope, name)
            scope, own = scope.parent, False
        return UNKNOWN

    def _local(self, name: str, scope: Scope, at: Position | None) -> Values:
        if scope.parent is None:
            return self.module_name(scope, name)
        bindings = scope.bindings[name]
        if at is not None:
            bindings = reaching(bindings, at.path, at.order)
        values = self._bindings(bindings, scope)
        return dicts.with_changes(self, name, values, scope, at)

    def module_name(self, scope: Scope, name: str) -> Values:
        """What a name of a module can stand for, functions that set it through `global` included."""
        bindings = scope.bindings.get(name, ())
        file = scope.file
        assert isinstance(file, SourceFile)
        groups = [self._bindings(bindings, scope)] if bindings else []
        for inner, binding in file.set_in_functions().get(name, ()):
            groups.append(self.binding(binding, inner))
        if not groups:
            return (External(f"builtins.{name}"),) if hasattr(builtins, name) else UNKNOWN
        return union(*groups)

    def _bindings(self, bindings: Iterable[Binding], scope: Scope) -> Values:
        main: list[Values] = []
        fallback: list[Values] = []
        for binding in bindings:
            (fallback if _is_fallback(binding.path) else main).append(self.binding(binding, scope))
        values = union(*main) if main else ()
        if fallback and not _is_certain(values):
            values = union(values, *fallback)
        present = tuple(v for v in values if not isinstance(v, Absent))
        return present if present and fallback else values

    def binding(self, binding: Binding, scope: Scope) -> Values:
        """What one binding gives its name."""
        key = (id(binding.node), id(binding.extra), id(scope))
        if key in self._memo:
            return self._memo[key]
        if key in self._running:
            return UNKNOWN
        self._running.add(key)
        try:
            found = self._bind(binding, scope)
        finally:
            self._running.discard(key)
        if self._depth == 0 and not scope.arguments:
            self._memo[key] = found
        return found

    def _bind(self, binding: Binding, scope: Scope) -> Values:
        file = scope.file
        assert isinstance(file, SourceFile)
        node, at = binding.node, Position(scope, binding.path, binding.order)
        if binding.kind == "import":
            assert isinstance(binding.extra, ast.alias)
            name = binding.extra.name if binding.extra.asname else binding.extra.name.split(".")[0]
            return self.module(name)
        if binding.kind == "from":
            assert isinstance(binding.extra, ast.alias) and isinstance(node, ast.ImportFrom)
            return self.imported(file.absolute(node.module, node.level), binding.extra.name)
        if binding.kind == "def":
            assert isinstance(node, FunctionNode)
            return self._function(node, scope)
        if binding.kind == "class":
            assert isinstance(node, ast.ClassDef)
            return (EngineClass(node, Scope(file, node, scope, f"{scope.name}.{node.name}")),)
        if binding.kind == "value":
            return self._assigned(node, binding.extra, at)
        if binding.kind == "unpack":
            assert isinstance(binding.extra, tuple)
            return self._unpacked(self.value(node, at), *binding.extra)
        if binding.kind == "parameter":
            return self._parameter(node, scope)
        return UNKNOWN

    def _assigned(self, node: ast.AST, declared: object, at: Position) -> Values:
        values = self.value(node, at)
        known = any(not isinstance(v, Unknown) and v != NONE for v in values)
        if not known and isinstance(declared, ast.expr):
            return self.annotated(declared, at)
        return values

    def _unpacked(self, values: Values, index: int, count: int) -> Values:
        return union(*(
            value.elements[index] if isinstance(value, Sequence) and len(value.elements) == count else UNKNOWN
            for value in values
        ))  # fmt: skip

    def _parameter(self, node: ast.AST, scope: Scope) -> Values:
        owner = scope.enclosing_class
        if isinstance(node, ast.arg):
            function = scope.node
            if owner is not None and isinstance(function, FunctionNode):
                plain = [*function.args.posonlyargs, *function.args.args]
                names = {d.id for d in function.decorator_list if isinstance(d, ast.Name)}
                if plain and plain[0] is node and "staticmethod" not in names:
                    cls = EngineClass(owner.node, owner)  # type: ignore[arg-type]
                    return (cls if "classmethod" in names else EngineInstance(cls),)
            if node.annotation is None or scope.parent is None:
                return UNKNOWN
            return self.annotated(node.annotation, Position(scope.parent))
        if isinstance(node, ast.expr):
            return self.annotated(node, Position(scope))
        return UNKNOWN

    def annotated(self, node: ast.expr, at: Position) -> Values:
        """An object of the class an annotation names, unknown when it names none that is known."""
        text = annotation(node)
        if text is None:
            return UNKNOWN
        first, *rest = text.split(".")
        values = self.name(first, Position(at.scope))
        for part in rest:
            values = self._each(values, lambda v, part=part: self.attribute(v, part))
        return self._each(values, self._instance_of)

    def _instance_of(self, value: Value) -> Values:
        if isinstance(value, LibraryMember) and value.member.kind == "class":
            return (LibraryInstance(value.library, value.path, value.member),)
        if isinstance(value, EngineClass):
            return (EngineInstance(value),)
        return UNKNOWN

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> Values:
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            names = [v.name for v in self.value(called, Position(scope)) if isinstance(v, External)]
            if not names or not any(n.removeprefix("builtins.") in _TRANSPARENT for n in names):
                if not (isinstance(called, ast.Name) and called.id == "property"):
                    return UNKNOWN
        return (EngineFunction(node, scope),)

    # -- modules -----------------------------------------------------------------------------------

    def module(self, name: str) -> Values:
        """The module of this name: watched, the tree's own, or another's."""
        watched = self.engine.watched(name)
        if watched is not None:
            library = self.engine.library(watched[0])
            if library is None:
                return (OpenMember(watched[0].name, watched[1], "its signatures could not be had"),)
            return (self._library_module(library, library.import_module(watched[1])),)
        if self.engine.has_module(name):
            return (EngineModule(name),)
        return (External(name),)

    def _library_module(self, library: Library, found: Member) -> Value:
        if found.kind == "absent":
            return Absent(library, found.module, found.reason, module=True)
        if found.kind == "open":
            return OpenMember(library.name, found.module, found.reason)
        return LibraryModule(library, found.module)

    def imported(self, module: str, name: str) -> Values:
        """What `from module import name` gives."""
        return self._each(self.module(module), lambda v: self.attribute(v, name))

    # -- attributes --------------------------------------------------------------------------------

    def attribute(self, value: Value, name: str) -> Values:
        """What `value.name` can stand for."""
        if isinstance(value, LibraryModule):
            return tuple(self._member(value.library, f"{value.module}.{name}", m)
                         for m in value.library.members(value.module, name))  # fmt: skip
        if isinstance(value, EngineModule):
            return self._engine_attribute(value.name, name)
        if isinstance(value, External):
            return (External(f"{value.name}.{name}"),)
        if isinstance(value, OpenMember):
            return (OpenMember(value.library, f"{value.path}.{name}", value.reason),)
        if isinstance(value, Absent):
            return (Absent(value.library, value.path, value.reason, value.module),)
        if isinstance(value, EngineInstance):
            return self._instance_attribute(value, name)
        return UNKNOWN

    def _member(self, library: Library, path: str, found: Member) -> Value:
        if found.kind == "module":
            return LibraryModule(library, found.module)
        if found.kind == "open":
            return OpenMember(library.name, path, found.reason)
        if found.kind == "absent":
            return Absent(library, path, found.reason)
        return LibraryMember(library, path, found)

    def _engine_attribute(self, module: str, name: str) -> Values:
        file = self.engine.module(module)
        if file is None:
            return UNKNOWN
        if name in file.scope.bindings or name in file.set_in_functions():
            return self.module_name(file.scope, name)
        if self.engine.has_module(f"{module}.{name}"):
            return (EngineModule(f"{module}.{name}"),)
        return UNKNOWN

    def _instance_attribute(self, value: EngineInstance, name: str) -> Values:
        found: list[Values] = []
        scope = value.of.scope
        if name in scope.bindings:
            for binding in scope.bindings[name]:
                found.append(self._class_level(binding, scope, value))
        for inner, binding in self_assignments(value.of.scope).get(name, ()):
            found.append(self.binding(binding, inner))
        if found:
            return union(*found)
        return UNKNOWN

    def _class_level(self, binding: Binding, scope: Scope, value: EngineInstance) -> Values:
        values = self.binding(binding, scope)
        return tuple(
            EngineFunction(v.node, v.scope, value) if isinstance(v, EngineFunction) else v for v in values
        )

    # -- calls -------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, at: Position) -> Values:
        return self._each(self.value(node.func, at), lambda v: self.result(v, node, at))

    def result(self, callee: Value, node: ast.Call, at: Position) -> Values:
        """What calling `callee` with the arguments of `node` gives."""
        if isinstance(callee, External):
            return self._external(callee.name, node, at)
        if isinstance(callee, LibraryMember):
            return self._library_result(callee)
        if isinstance(callee, EngineClass):
            return (EngineInstance(callee),)
        if isinstance(callee, EngineFunction):
            return self._followed(callee, node, at)
        if isinstance(callee, OpenMember):
            return (OpenMember(callee.library, f"{callee.path}()", callee.reason),)
        return UNKNOWN

    def _library_result(self, callee: LibraryMember) -> Values:
        entry = callee.member.entry
        if isinstance(entry, Class):
            return (LibraryInstance(callee.library, callee.path, callee.member),)
        if isinstance(entry, Function) and entry.returns:
            first, *rest = entry.returns.split(".")
            found = callee.library.members(callee.member.module, first)
            if not rest and len(found) == 1 and found[0].kind == "class":
                return (LibraryInstance(callee.library, f"{found[0].module}.{found[0].name}", found[0]),)
        return UNKNOWN

    def _external(self, name: str, node: ast.Call, at: Position) -> Values:
        arguments = node.args
        if name in ("importlib.import_module", "builtins.__import__") and arguments:
            return self._each(self.value(arguments[0], at), self._module_named)
        if name == "builtins.getattr" and len(arguments) in (2, 3):
            return self._getattr(node, at)
        if name == "builtins.dict":
            return (dicts.constructor(self, node, at),)
        if name == "functools.partial" and arguments:
            return self._each(self.value(arguments[0], at), lambda v: self._partial(v, node))
        if name.startswith("functools.") and len(arguments) == 1:
            return self.value(arguments[0], at)
        return UNKNOWN

    def _module_named(self, value: Value) -> Values:
        if isinstance(value, Constant) and isinstance(value.value, str):
            return self.module(value.value)
        return UNKNOWN

    def _getattr(self, node: ast.Call, at: Position) -> Values:
        groups: list[Values] = []
        for named in self.value(node.args[1], at):
            if not (isinstance(named, Constant) and isinstance(named.value, str)):
                groups.append(UNKNOWN)
                continue
            found = self._each(self.value(node.args[0], at), lambda v, n=named.value: self.attribute(v, n))
            if len(node.args) == 3:  # a default stands in for what is not there
                absent = any(isinstance(v, Absent) for v in found)
                found = tuple(v for v in found if not isinstance(v, Absent))
                found = union(found, self.value(node.args[2], at)) if absent else found
            groups.append(found)
        return union(*groups)

    def _partial(self, value: Value, node: ast.Call) -> Values:
        keywords = tuple(k.arg for k in node.keywords if k.arg)
        spread = any(k.arg is None for k in node.keywords) or any(
            isinstance(a, ast.Starred) for a in node.args
        )
        return (Partial(value, len(node.args) - 1, keywords, spread),)

    def _followed(self, callee: EngineFunction, node: ast.Call, at: Position) -> Values:
        if self._depth >= _DEEPEST:
            return UNKNOWN
        arguments = self._arguments(callee, node, at)
        scope = Scope(callee.scope.file, callee.node, callee.scope, getattr(callee.node, "name", "<lambda>"))
        scope = scope.called_with(arguments)
        key = ("call", id(callee.node), tuple(sorted((k, v) for k, v in arguments.items() if _is_simple(v))))
        if key in self._running:
            return UNKNOWN
        self._running.add(key)
        self._depth += 1
        try:
            return self._returned(callee, scope)
        finally:
            self._running.discard(key)
            self._depth -= 1

    def _returned(self, callee: EngineFunction, scope: Scope) -> Values:
        if isinstance(callee.node, ast.Lambda):
            return self.value(callee.node.body, Position(scope))
        groups: list[Values] = []
        for step in scope.steps:
            if isinstance(step.node, ast.Return):
                groups.append(
                    (NONE,) if step.node.value is None
                    else self.value(step.node.value, Position(scope, step.path, step.order))
                )  # fmt: skip
        return union(*groups) if groups else (NONE,)

    def _arguments(self, callee: EngineFunction, node: ast.Call, at: Position) -> dict[str, object]:
        """Values of the callee's parameters; those that cannot be read stay with their annotation."""
        args = callee.node.args
        plain = [a.arg for a in (*args.posonlyargs, *args.args)]
        found: dict[str, object] = {}
        if callee.bound is not None and plain:
            found[plain.pop(0)] = (callee.bound,)
        defaults = [*args.defaults]
        for name, default in zip(plain[len(plain) - len(defaults) :], defaults, strict=False):
            found[name] = self.value(default, Position(callee.scope))
        for only, default_or_none in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            if default_or_none is not None:
                found[only.arg] = self.value(default_or_none, Position(callee.scope))
        if any(isinstance(a, ast.Starred) for a in node.args):
            return {}
        for name, given in zip(plain, node.args, strict=False):
            found[name] = self.value(given, at)
        names = {*plain, *(a.arg for a in args.kwonlyargs)}
        for keyword in node.keywords:
            if keyword.arg in names:
                found[keyword.arg] = self.value(keyword.value, at)  # type: ignore[index]
        return {
            name: value for name, value in found.items() if any(not isinstance(v, Unknown) for v in value)
        }  # type: ignore[attr-defined]


def _is_simple(values: object) -> bool:
    return isinstance(values, tuple) and all(
        isinstance(v, Constant) and isinstance(v.value, str) for v in values
    )


def _is_certain(values: Values) -> bool:
    """Whether a value is known and there, so that a fallback for its absence never runs."""
    return bool(values) and all(
        isinstance(v, LibraryMember | LibraryModule | EngineModule | EngineFunction | EngineClass)
        for v in values
    )


def _is_fallback(path: Path) -> bool:
    """Whether a statement runs only after an import or a lookup has failed."""
    from pinproof.contract.guards import catches

    return any(
        arm.handler is not None and catches(arm.handler, "ImportError", "AttributeError") for arm in path
    )


def self_assignments(scope: Scope) -> dict[str, list[tuple[Scope, Binding]]]:
    """The `self.x = ...` of a class's methods."""
    cached = scope.arguments.get("self assignments")
    if cached is None:
        found: dict[str, list[tuple[Scope, Binding]]] = {}
        for step in scope.steps:
            if isinstance(step.node, FunctionNode) and step.node.args.args:
                inner = Scope(scope.file, step.node, scope, f"{scope.name}.{step.node.name}")
                _read_self(inner, step.node.args.args[0].arg, found)
        cached = scope.arguments["self assignments"] = found
    return cached  # type: ignore[return-value]


def _read_self(scope: Scope, name: str, found: dict[str, list[tuple[Scope, Binding]]]) -> None:
    for step in scope.steps:
        node = step.node
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            if not (isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)):
                continue
            if target.value.id != name:
                continue
            assert isinstance(node, ast.Assign | ast.AnnAssign)
            declared = node.annotation if isinstance(node, ast.AnnAssign) else None
            if node.value is not None:
                binding = Binding("value", node.value, step.path, step.order, declared)
            else:
                assert declared is not None
                binding = Binding("parameter", declared, step.path, step.order)
            found.setdefault(target.attr, []).append((scope, binding))
