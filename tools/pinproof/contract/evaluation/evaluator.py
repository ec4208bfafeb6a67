"""Follow names and expressions of the tree to what they can stand for."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable

from pinproof.contract.codebase.codebase import Codebase
from pinproof.contract.codebase.relevant import Relevant
from pinproof.contract.declared.library import Library, Member
from pinproof.contract.evaluation import attributes, dicts, results
from pinproof.contract.evaluation.lineage import lineage
from pinproof.contract.evaluation.narrow import narrow
from pinproof.contract.evaluation.position import Position, comprehension
from pinproof.contract.evaluation.values import (
    NONE,
    UNKNOWN,
    Absent,
    Constant,
    EngineClass,
    EngineFunction,
    EngineInstance,
    EngineModule,
    External,
    Items,
    LibraryInstance,
    LibraryMember,
    LibraryModule,
    Mapping,
    OpenMember,
    Sequence,
    Unknown,
    Value,
    Values,
    union,
)  # fmt: skip
from pinproof.contract.syntax.bindings import Binding, Path
from pinproof.contract.syntax.flow import is_fallback, is_type_checking, reaching
from pinproof.contract.syntax.nodes import (
    Comprehension,
    FunctionNode,
    alternatives,
    annotation,
    defaults,
    dotted,
)
from pinproof.contract.syntax.scopes import Patch, Scope, SourceFile
from pinproof.contract.watch.watchlist import decorators

# How many calls are followed into one another: a getter through a cache through a factory.
_DEEPEST = 6
# Expressions evaluated for one question before it is given up as unknown: real code needs some hundreds.
_BUDGET = 4000
# Annotations of lists, by what their elements are.
_LISTS = {"list", "List", "Sequence", "Iterable"}
# Decorators that leave a function what it is, as far as calling it goes.
_TRANSPARENT = {"builtins.staticmethod", "builtins.classmethod", "builtins.property"}


class Evaluator:
    """Evaluates expressions of one codebase to sets of values."""

    def __init__(self, codebase: Codebase) -> None:
        self.codebase = codebase
        self._running: set[tuple[object, ...]] = set()
        self._memo: dict[tuple[object, ...], Values] = {}
        self._classes: dict[int, EngineClass] = {}
        self._depth = 0
        self._cut = 0
        self._age = 1
        self._spent = 0
        self._relevant: dict[str, Relevant] = {}

    def relevant(self, file: SourceFile) -> Relevant:
        """The names and statements of a file that may lead to a watched library."""
        seeds = self.codebase.seeds(file)
        found = self._relevant.get(file.path)
        if found is None or not seeds <= found.names:
            found = self._relevant[file.path] = Relevant(file, seeds)
        return found

    def renew(self) -> None:
        """Forget values: the codebase has learned of more names that reach libraries."""
        self._age += 1
        self._memo.clear()
        self.codebase.renew()

    def begin(self) -> None:
        """Start on a new question: each has the same allowance."""
        self._spent = 0

    def at(self, scope: Scope, path: Path = (), order: int = 1 << 30) -> Position:
        """A position: by default the end of the scope, where all that it binds is bound."""
        return Position(scope, path, order)

    # -- expressions -------------------------------------------------------------------------------

    def value(self, node: ast.AST, at: Position) -> Values:
        """What an expression can stand for."""
        self._spent += 1
        if self._spent > _BUDGET:
            self._cut += 1
            return UNKNOWN
        if isinstance(node, ast.Name):
            return narrow(self, node, self.name(node.id, at), at)
        if isinstance(node, ast.Attribute):
            return narrow(self, node, self.attributes(self.value(node.value, at), node.attr), at)
        if isinstance(node, ast.Call):
            return self.each(self.value(node.func, at), lambda v: self.result(v, node, at))
        if isinstance(node, ast.Constant):
            return (Constant(node.value),)
        if isinstance(node, ast.JoinedStr):
            return self._text(node, at)
        if isinstance(node, ast.IfExp):
            return union(self.value(node.body, at), self.value(node.orelse, at))
        if isinstance(node, ast.BoolOp):
            return union(*(self.value(v, at) for v in node.values))
        if isinstance(node, ast.NamedExpr):
            return self.value(node.value, at)
        if isinstance(node, ast.Dict):
            return (dicts.display(self, node, at),)
        if isinstance(node, ast.DictComp):
            return (dicts.comprehension(node),)
        if isinstance(node, ast.Tuple | ast.List):
            return self._sequence(node, at)
        if isinstance(node, ast.Lambda):
            return (EngineFunction(node, at.scope),)
        if isinstance(node, ast.Subscript):
            return narrow(self, node, self._subscript(node, at), at)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return (Items(self.value(node.elt, comprehension(self, node, at))),)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            both = dicts.merge(dicts.spread(self, node.left, at), dicts.spread(self, node.right, at))
            return (both,) if both.required or both.optional else UNKNOWN
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List):
            return (Items(self.elements(self.value(node.left, at))),)
        return UNKNOWN

    def each(self, values: Values, step: Callable[[Value], Values]) -> Values:
        """The values that `step` makes of each of `values`; None is left out: it has nothing to call."""
        return union(*(step(value) for value in values if value != NONE))

    def attributes(self, values: Values, name: str) -> Values:
        """What `value.name` can stand for, for each of `values`."""
        return self.each(values, lambda v: self.attribute(v, name))

    def _text(self, node: ast.JoinedStr, at: Position) -> Values:
        """An f-string whose parts are all known strings."""
        parts: list[str] = []
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) and part.conversion < 0 else part
            values = self.value(inner, at)
            known = values[0].value if len(values) == 1 and isinstance(values[0], Constant) else None
            if not isinstance(known, str) or getattr(part, "format_spec", None) is not None:
                return UNKNOWN
            parts.append(known)
        return (Constant("".join(parts)),)

    def _sequence(self, node: ast.Tuple | ast.List, at: Position) -> Values:
        if len(node.elts) > 64 or any(isinstance(e, ast.Starred) for e in node.elts):
            return UNKNOWN
        return (Sequence(tuple(self.value(e, at) for e in node.elts)),)

    def _subscript(self, node: ast.Subscript, at: Position) -> Values:
        values = self.value(node.value, at)
        if External("sys.modules") in values:
            return self.each(self.value(node.slice, at), self.module_named)
        if any(isinstance(value, Items) for value in values) and not isinstance(node.slice, ast.Slice):
            return self.elements(values)
        index = node.slice.value if isinstance(node.slice, ast.Constant) else None
        found: list[Values] = []
        for value in values:
            if isinstance(value, Items):
                found.append((value,))
            elif isinstance(value, Sequence) and isinstance(index, int) and abs(index) < len(value.elements):
                found.append(value.elements[index])
            else:
                found.append(UNKNOWN)
        return union(*found)

    def elements(self, values: Values) -> Values:
        """What iterating over each of `values` gives."""
        found = union(*(
            union(*v.elements) if isinstance(v, Sequence) else v.element if isinstance(v, Items) else UNKNOWN
            for v in values
        ))  # fmt: skip
        return found or UNKNOWN

    # -- names -------------------------------------------------------------------------------------

    def name(self, name: str, at: Position) -> Values:
        """What a name can stand for where it is used."""
        scope: Scope | None = at.scope
        own = True
        while scope is not None:
            if own or not isinstance(scope.node, ast.ClassDef):
                if name in scope.arguments:
                    return self._argument(name, scope)
                if name in scope.bindings:
                    return self._local(name, scope, at if own else None)
            if scope.parent is None:
                return self.module_name(scope, name)
            scope, own = scope.parent, own and isinstance(scope.node, Comprehension)
        return UNKNOWN

    def declares_for_checkers(self, module: str, name: str) -> bool:
        """Whether a module of the tree imports a name under TYPE_CHECKING only, and gives it lazily."""
        file = self.codebase.module(module)
        bindings = file.scope.bindings.get(name, ()) if file else ()
        return bool(bindings) and all(any(is_type_checking(arm) for arm in b.path) for b in bindings)

    def is_patched(self, path: str, at: Position) -> bool:
        """Whether the file sets an attribute of a library's module, class or object to something of its own.

        Args:
            path: the full name of the attribute.
            at: where it is used.
        """
        owner, _, name = path.rpartition(".")
        return any(self._may_patch(patch, owner) for patch in at.scope.file.patched().get(name, ()))

    def _may_patch(self, patch: Patch, owner: str) -> bool:
        if isinstance(patch.owner, str):
            return owner == patch.owner
        values = self.value(patch.owner, Position(patch.scope, patch.step.path, patch.step.order))
        return any(
            isinstance(v, LibraryModule | LibraryMember | LibraryInstance | OpenMember)
            or (isinstance(v, Unknown) and owner.rpartition(".")[2][:1].isupper())
            for v in values
        )

    def stored(self, node: ast.Attribute, at: Position) -> list[tuple[Scope, Binding]]:
        """What gives an attribute of the tree's own objects its value: `self.x = ...` in any method."""
        found: list[tuple[Scope, Binding]] = []
        for value in self.value(node.value, at):
            if isinstance(value, EngineInstance):
                for cls in lineage(self, value.of):
                    here = attributes.self_assignments(cls.scope).get(node.attr, [])
                    here = [*here, *((cls.scope, b) for b in cls.scope.bindings.get(node.attr, ()))]
                    found += here
                    if here:
                        break
        return found

    def _local(self, name: str, scope: Scope, at: Position | None) -> Values:
        if scope.parent is None:
            return self.module_name(scope, name)
        bindings = scope.bindings[name]
        if at is not None:
            bindings = reaching(bindings, at.path, at.order)
        values = self._bindings(bindings, scope)
        if not any(isinstance(value, Mapping) for value in values):
            return values
        return dicts.with_changes(self, name, values, scope, at, bindings)

    def module_name(self, scope: Scope, name: str) -> Values:
        """What a name of a module can stand for, functions that set it through `global` included."""
        bindings = scope.bindings.get(name, ())
        file = scope.file
        assert isinstance(file, SourceFile)
        groups = [self._bindings(bindings, scope)] if bindings else []
        for inner, binding in file.set_in_functions().get(name, ()):
            groups.append(self.binding(binding, inner))
        if not groups:
            groups = self._from_stars(file, name)
        if not groups and name in ("__name__", "__package__"):
            whole = name == "__name__" or file.package
            return (Constant(file.module if whole else file.module.rpartition(".")[0]),)
        if not groups:
            return (External(f"builtins.{name}"),) if hasattr(builtins, name) else UNKNOWN
        return union(*groups)

    def _from_stars(self, file: SourceFile, name: str) -> list[Values]:
        """What `from module import *` gives a name that nothing else in the module binds."""
        for source in reversed(file.stars()):
            found = self.imported(source, name)
            if any(not isinstance(v, Unknown | External | Absent | OpenMember) for v in found):
                return [found]
        return []

    def _bindings(self, bindings: Iterable[Binding], scope: Scope) -> Values:
        main: list[Values] = []
        fallback: list[Values] = []
        for binding in bindings:
            (fallback if is_fallback(binding.path) else main).append(self.binding(binding, scope))
        values = union(*main) if main else ()
        if fallback and not _is_certain(values):
            values = union(values, *fallback)
        present = tuple(v for v in values if not isinstance(v, Absent))
        return present if present and fallback else values

    def binding(self, binding: Binding, scope: Scope) -> Values:
        """What one binding gives its name."""
        key = (id(binding.node), id(binding.extra))
        if scope.age != self._age:
            scope.memo, scope.age = {}, self._age
        if key not in scope.memo:
            found, whole = self._once((*key, id(scope)), lambda: self._bind(binding, scope))
            if not whole:
                return found
            scope.memo[key] = found
        return scope.memo[key]

    def _once(self, key: tuple[object, ...], step: Callable[[], Values]) -> tuple[Values, bool]:
        """Evaluate something that may lead back to itself: unknown there.

        Returns:
            the values, and whether nothing was cut short on the way: only then may they be remembered.
        """
        if key in self._running:
            self._cut += 1
            return UNKNOWN, False
        self._running.add(key)
        cut = self._cut
        try:
            return step(), cut == self._cut
        finally:
            self._running.discard(key)

    def _argument(self, name: str, scope: Scope) -> Values:
        """What a followed function's parameter was given; its annotation when that is not known."""
        given = scope.arguments[name]
        if isinstance(given, tuple):
            return given
        found, whole = self._once((name, id(scope)), given)
        if all(isinstance(v, Unknown) for v in found) and name in scope.bindings:
            found = self._bindings(scope.bindings[name], scope)
        if whole:
            scope.arguments[name] = found
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
            assert isinstance(binding.extra, ast.alias)
            assert isinstance(node, ast.ImportFrom)
            return self.imported(file.absolute(node.module, node.level), binding.extra.name)
        if binding.kind == "def":
            assert isinstance(node, FunctionNode)
            return self._function(node, scope)
        if binding.kind == "class":
            assert isinstance(node, ast.ClassDef)
            return (self.engine_class(scope.inner(node, node.name)),)
        if binding.kind == "value":
            return self._assigned(node, binding.extra, at)
        if binding.kind == "unpack":
            assert isinstance(binding.extra, tuple)
            return self._unpacked(self.value(node, at), *binding.extra)
        if binding.kind == "entered":
            return self.each(self.value(node, at), lambda v: results.entered(self, v))
        if binding.kind == "put":
            return (Items(self.value(node, at)),)
        if binding.kind == "element":
            return self.elements(self.value(node, at))
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
                    cls = self.engine_class(owner)
                    return (cls if "classmethod" in names else EngineInstance(cls),)
            return self._declared_parameter(node, scope)
        if isinstance(node, ast.expr):
            return self.annotated(node, Position(scope))
        return UNKNOWN

    def _declared_parameter(self, node: ast.arg, scope: Scope) -> Values:
        """What a parameter's annotation says, else its default: a call may leave it out."""
        if scope.parent is None or not isinstance(scope.node, FunctionNode | ast.Lambda):
            return UNKNOWN
        outside = Position(scope.parent, scope.inside, scope.order)
        if node.annotation is not None:
            found = self.annotated(node.annotation, Position(scope.parent))
            if any(not isinstance(v, Unknown) for v in found):
                return found
        default = dict(defaults(scope.node.args)).get(node.arg)
        values = self.value(default, outside) if isinstance(default, ast.Name | ast.Attribute) else ()
        called = tuple(v for v in values if isinstance(v, LibraryMember | EngineFunction))
        return called or UNKNOWN

    def annotated(self, node: ast.expr, at: Position) -> Values:
        """An object of the class an annotation names, unknown when it names none that is known."""
        if isinstance(node, ast.Subscript) and (dotted(node.value) or "").rpartition(".")[2] in _LISTS:
            return (Items(self.annotated(node.slice, at)),)
        sides = alternatives(node)
        if len(sides) != 1:
            return union(*(self.annotated(side, at) for side in sides)) if sides else UNKNOWN
        text = annotation(sides[0])
        if text is None:
            return UNKNOWN
        first, *rest = text.split(".")
        values = self.name(first, Position(at.scope))
        for part in rest:
            values = self.attributes(values, part)
        return self.each(values, self._instance_of)

    def _instance_of(self, value: Value) -> Values:
        if isinstance(value, LibraryMember) and value.member.kind == "class":
            return (LibraryInstance(value.library, value.path, value.member),)
        if isinstance(value, EngineClass):
            return (EngineInstance(value),)
        return UNKNOWN

    def engine_class(self, scope: Scope) -> EngineClass:
        """The class whose body is `scope`; the same object each time."""
        found = self._classes.get(id(scope.node))
        if found is None:
            assert isinstance(scope.node, ast.ClassDef)
            found = self._classes[id(scope.node)] = EngineClass(scope.node, scope)
        return found

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> Values:
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            names = {v.name for v in self.value(called, Position(scope)) if isinstance(v, External)}
            if names.isdisjoint(decorators().keep) and names.isdisjoint(_TRANSPARENT):
                return UNKNOWN
        return (EngineFunction(node, scope),)

    # -- modules -----------------------------------------------------------------------------------

    def module(self, name: str) -> Values:
        """The module of this name: watched, the tree's own, or another's."""
        watched = self.codebase.watched(name)
        if watched is not None:
            library = self.codebase.library(watched[0])
            if library is None:
                return (OpenMember(watched[0].name, watched[1], "its signatures are not available"),)
            return (self._library_module(library, library.import_module(watched[1])),)
        if self.codebase.has_module(name):
            return (EngineModule(name),)
        return (External(name),)

    def module_named(self, value: Value) -> Values:
        """The module that a string names; unknown when the value is not a string that is known."""
        if isinstance(value, Constant) and isinstance(value.value, str):
            return self.module(value.value)
        return UNKNOWN

    def _library_module(self, library: Library, found: Member) -> Value:
        if found.kind == "absent":
            return Absent(library, found.module, found.reason, module=True)
        if found.kind == "open":
            return OpenMember(library.name, found.module, found.reason)
        return LibraryModule(library, found.module)

    def imported(self, module: str, name: str) -> Values:
        """What `from module import name` gives."""
        return self.attributes(self.module(module), name)

    # -- attributes and calls ----------------------------------------------------------------------

    def attribute(self, value: Value, name: str) -> Values:
        """What `value.name` can stand for."""
        return attributes.attribute(self, value, name)

    def result(self, callee: Value, node: ast.Call, at: Position) -> Values:
        """What calling `callee` with the arguments of `node` gives."""
        return results.result(self, callee, node, at)

    def enter(self, key: tuple[object, ...], step: Callable[[], Values], *, keep: bool) -> Values:
        """Follow a call one level deeper; unknown when it is too deep or runs in a circle."""
        if key in self._memo:
            return self._memo[key]
        if self._depth >= _DEEPEST:
            self._cut += 1
            return UNKNOWN
        self._depth += 1
        try:
            found, whole = self._once(key, step)
        finally:
            self._depth -= 1
        if keep and whole:
            self._memo[key] = found
        return found


def _is_certain(values: Values) -> bool:
    """Whether a value is known and there, so that a fallback for its absence never runs."""
    return bool(values) and all(
        isinstance(v, LibraryMember | LibraryModule | EngineModule | EngineFunction | EngineClass)
        for v in values
    )
