"""What an expression is on the pinned versions: of libraries, and by helpers of the tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from pinproof.contract.declared.callables import Unreadable, signatures
from pinproof.contract.evaluation.evaluator import Evaluator
from pinproof.contract.evaluation.position import Position
from pinproof.contract.evaluation.values import (
    Absent,
    Constant,
    EngineFunction,
    EngineModule,
    LibraryInstance,
    LibraryMember,
    LibraryModule,
    OpenMember,
    Value,
    Values,
)  # fmt: skip
from pinproof.contract.judging import platforms, reach, versions
from pinproof.contract.judging.known import (
    PRESENT,
    UNKNOWN,
    Known,
    Names,
    There,
    any_of,
    apply,
    asked,
    of_truth,
    truth_of,
)  # fmt: skip
from pinproof.contract.judging.truth import ANY, About, Answer, Truth, every, negated, some
from pinproof.contract.syntax.bindings import Binding
from pinproof.contract.syntax.flow import leaves, reaching
from pinproof.contract.syntax.nodes import dotted
from pinproof.contract.syntax.scopes import Scope, SourceFile

_DEEPEST = 24
# Branches that may run or not, whatever is pinned.
_SOMETIMES = (ast.For, ast.AsyncFor, ast.While, ast.Match)
# Tests that ask what an object is, and no library for anything.
_OF_OBJECTS = {"isinstance", "issubclass", "type", "id"}


Env = Mapping[str, Known]
_NO_ENV: Env = {}


def _is_setting(scope: Scope, binding: Binding) -> bool:
    """`DEBUG = False` or `impl = None`, once: for others to change, and no word about what is pinned."""
    node = binding.node
    plain = isinstance(node, ast.Constant) and isinstance(node.value, bool | None)
    return plain and scope.parent is None and not binding.path


class Pinned:
    """Answers tests and expressions of one codebase as they come out on the pinned libraries."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._running: set[tuple[int, int]] = set()

    # -- tests -------------------------------------------------------------------------------------

    def truth(self, test: ast.expr, at: Position, env: Env = _NO_ENV) -> Truth:
        """Whether a test holds."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return negated(self.truth(test.operand, at, env))
        if isinstance(test, ast.BoolOp):
            join = every if isinstance(test.op, ast.And) else some
            return join(self.truth(part, at, env) for part in test.values)
        return truth_of(self.known(test, at, env))

    def known(self, node: ast.expr, at: Position, env: Env = _NO_ENV) -> Known:
        """What an expression can be; `env` holds the parameters of a followed helper."""
        key = (id(node), id(at.scope))
        if key in self._running or len(self._running) > _DEEPEST:
            return UNKNOWN
        self._running.add(key)
        try:
            found = self._known(node, at, env)
        finally:
            self._running.discard(key)
        return found

    def _known(self, node: ast.expr, at: Position, env: Env) -> Known:
        if isinstance(node, ast.Constant):
            return Known((node.value,))
        if isinstance(node, ast.Name):
            return env[node.id] if node.id in env else self._name(node, at, env)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, at, env)
        if isinstance(node, ast.Call):
            return self._call(node, at, env)
        if isinstance(node, ast.NamedExpr):
            return self.known(node.value, at, env)
        if isinstance(node, ast.Compare):
            return self._compare(node, at, env)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return of_truth(self.truth(node, at, env))
        if isinstance(node, ast.BoolOp):
            return self._either(node, at, env)
        if isinstance(node, ast.IfExp):
            return self._choice(node, at, env)
        if isinstance(node, ast.Tuple | ast.List):
            return apply(lambda *parts: parts, [self.known(e, at, env) for e in node.elts])
        if isinstance(node, ast.Subscript):
            return self._subscript(node, at, env)
        if isinstance(node, ast.GeneratorExp | ast.ListComp):
            return self._comprehension(node, at, env)
        return UNKNOWN

    def _either(self, node: ast.BoolOp, at: Position, env: Env) -> Known:
        answer = self.truth(node, at, env)
        found = [self.known(part, at, env) for part in node.values]
        stops = isinstance(node.op, ast.Or)
        kept: list[object] = []
        for index, part in enumerate(found):
            if part.values is None:
                return of_truth(answer)
            last = index == len(found) - 1
            kept += [v for v in part.values if last or bool(v) == stops]
            if not last and all(bool(v) == stops for v in part.values):
                break
        return Known(tuple(dict.fromkeys(kept)), asked(found))

    def _choice(self, node: ast.IfExp, at: Position, env: Env) -> Known:
        test = self.truth(node.test, at, env)
        if test.answer is not Answer.MAY:
            return self.known(node.body if test.answer is Answer.YES else node.orelse, at, env)
        return any_of([Known((), test.about), *(self.known(n, at, env) for n in (node.body, node.orelse))])

    def _subscript(self, node: ast.Subscript, at: Position, env: Env) -> Known:
        owner = self.known(node.value, at, env)
        if isinstance(node.slice, ast.Slice):
            bounds = [self.known(b, at, env) if b else Known((None,)) for b in
                      (node.slice.lower, node.slice.upper, node.slice.step)]  # fmt: skip
            return apply(lambda o, *b: o[slice(*b)], [owner, *bounds])
        return apply(lambda o, i: o[i], [owner, self.known(node.slice, at, env)])

    def _comprehension(self, node: ast.GeneratorExp | ast.ListComp, at: Position, env: Env) -> Known:
        generator = node.generators[0]
        rows = self.known(generator.iter, at, env)
        if len(node.generators) > 1 or not isinstance(generator.target, ast.Name) or rows.values is None:
            return Known(None, rows.about | self._asked_in(node, at))
        made: list[Known] = []
        for row in rows.values:
            if not isinstance(row, tuple | list | str) or len(row) > 64:
                return Known(None, rows.about)
            inner: list[Known] = []
            for item in row:
                self._running.discard((id(node.elt), id(at.scope)))
                more = {**env, generator.target.id: Known((item,), rows.about)}
                if all(self.truth(t, at, more).answer is Answer.YES for t in generator.ifs):
                    inner.append(self.known(node.elt, at, more))
            made.append(apply(lambda *parts: parts, inner))
        return any_of(made)

    def _asked_in(self, node: ast.AST, at: Position) -> frozenset[About]:
        """The parameters that signatures are asked for: `all("a" in signature(f).parameters for f in fs)`."""
        found: set[About] = set()
        for child in ast.walk(node):
            if not isinstance(child, ast.Compare) or not isinstance(child.left, ast.Constant):
                continue
            if any(isinstance(c, ast.Call) and _is_signature(c) for c in ast.walk(child.comparators[0])):
                found.add(About(ANY, str(child.left.value)))
        return frozenset(found)

    # -- names -------------------------------------------------------------------------------------

    def _name(self, node: ast.Name, at: Position, env: Env) -> Known:
        scope: Scope | None = at.scope
        while scope is not None:
            seen = scope is at.scope or not isinstance(scope.node, ast.ClassDef)
            if seen and (node.id in scope.bindings or scope.parent is None):
                break
            scope = scope.parent
        if scope is None:
            return UNKNOWN
        bindings = scope.bindings.get(node.id, [])
        if scope is at.scope:
            bindings = reaching(bindings, at.path, at.order)
        places = [(scope, b) for b in bindings]
        if scope.parent is None:
            file = scope.file
            assert isinstance(file, SourceFile)
            places += file.set_in_functions().get(node.id, [])
        return self._places(places, env if scope is at.scope else _NO_ENV)

    def _places(self, places: Iterable[tuple[Scope, Binding]], env: Env) -> Known:
        """What the bindings of a name can give: none that never runs, nor what is bound anew for sure."""
        found: list[Known] = []
        places = list(places)
        if len(places) == 1 and _is_setting(*places[0]):
            return UNKNOWN
        for scope, binding in places:
            runs = reach.runs(self, scope, binding.path, binding.order, env)
            if runs.answer is Answer.YES and not any(isinstance(a.node, _SOMETIMES) for a in binding.path):
                found.clear()
            if runs.answer is not Answer.NO:
                given = self._bound(scope, binding, env)
                found.append(Known(given.values, given.about | runs.about))
        return any_of(found)

    def _bound(self, scope: Scope, binding: Binding, env: Env) -> Known:
        at = Position(scope, binding.path, binding.order)
        if binding.kind == "value" and isinstance(binding.node, ast.expr):
            return self.known(binding.node, at, env)
        if binding.kind == "unpack" and isinstance(binding.node, ast.expr):
            return apply(_item, [self.known(binding.node, at, env), Known((binding.extra,))])
        if binding.kind == "from":
            assert isinstance(binding.node, ast.ImportFrom)
            assert isinstance(binding.extra, ast.alias)
            module = scope.file.absolute(binding.node.module, binding.node.level)
            return self._imported(module, binding.extra.name)
        if binding.kind == "import":
            assert isinstance(binding.extra, ast.alias)
            return self._value(self.evaluator.module(binding.extra.name))
        return PRESENT if binding.kind in ("def", "class") else UNKNOWN

    def _imported(self, module: str, name: str) -> Known:
        said = self._platform(f"{module}.{name}")
        if said is not None:
            return said
        codebase = self.evaluator.codebase
        if codebase.watched(module) is None and codebase.has_module(module):
            return self._in_module(module, name)
        return self._value(self.evaluator.imported(module, name))

    def _in_module(self, module: str, name: str) -> Known:
        file = self.evaluator.codebase.module(module)
        if file is None:
            return UNKNOWN
        places = [(file.scope, b) for b in file.scope.bindings.get(name, ())]
        places += file.set_in_functions().get(name, [])
        return self._places(places, _NO_ENV)

    def _platform(self, path: str | None) -> Known | None:
        if path is None or (platforms.is_plugin(self.evaluator.codebase) and "TYPE_CHECKING" not in path):
            return None
        answer = platforms.answer(path)
        return None if answer is None else PRESENT if answer else Known((None,))

    def _attribute(self, node: ast.Attribute, at: Position, env: Env) -> Known:
        said = self._platform(platforms.origin(node, at))
        if said is not None:
            return said
        if node.attr == "__dict__":
            return self._names_of(node.value, at)
        if not (dotted(node) or "").startswith(("self.", "cls.")):
            owner = self.known(node.value, at, env)
            if owner.values and all(isinstance(v, Names) for v in owner.values):
                return owner
            if owner.values is not None and not all(isinstance(v, There) for v in owner.values):
                return versions.attribute(owner, node.attr)
        values = self.evaluator.value(node.value, at)
        groups: list[Known] = []
        for value in values:
            if isinstance(value, EngineModule):
                groups.append(self._in_module(value.name, node.attr))
            else:
                groups.append(self._value(self.evaluator.attribute(value, node.attr)))
        stored = self.evaluator.stored(node, at)
        if stored and all(isinstance(binding.node, ast.Constant) for _, binding in stored):
            return UNKNOWN  # what a field begins with: a method of another file may set it
        return self._places(stored, _NO_ENV) if stored else any_of(groups)

    def _value(self, values: Values) -> Known:
        """What is known of the values that names of libraries stand for."""
        return any_of([self._one(value) for value in values])

    def _one(self, value: Value) -> Known:
        if isinstance(value, LibraryMember | Absent) and versions.is_stated(value.path):
            member = value.member if isinstance(value, LibraryMember) else None
            stated = versions.stated(value.library, member)
            return Known(None if stated is None else (stated,), frozenset([About(value.library.name)]))
        if isinstance(value, LibraryMember) and value.member.kind == "value":
            return UNKNOWN
        if isinstance(value, LibraryMember | LibraryModule | LibraryInstance):
            return PRESENT
        if isinstance(value, Absent):
            return Known((None,), frozenset([About(value.library.name, value.path)]))
        if isinstance(value, OpenMember):
            return Known(None, frozenset([About(value.library, value.path)]))
        return Known((value.value,)) if isinstance(value, Constant) else UNKNOWN

    # -- comparisons -------------------------------------------------------------------------------

    def _compare(self, node: ast.Compare, at: Position, env: Env) -> Known:
        left, found = node.left, []
        for op, right in zip(node.ops, node.comparators, strict=True):
            found.append(self._compared(left, op, right, at, env))
            left = right
        return of_truth(every(truth_of(f) for f in found)) if len(found) > 1 else found[0]

    def _compared(self, left: ast.expr, op: ast.cmpop, right: ast.expr, at: Position, env: Env) -> Known:
        one, other = self.known(left, at, env), self.known(right, at, env)
        if isinstance(op, ast.In | ast.NotIn) and other.values is None and one.values:
            named = {About(a.library, str(v)) for a in other.about for v in one.values}
            kept = {a for a in other.about if a.library != ANY}
            return Known(None, frozenset(kept | (named if other.about else set())))
        return apply(versions.comparison(op), [one, other])

    # -- calls -------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, at: Position, env: Env) -> Known:
        path = platforms.origin(node.func, at)
        said = self._platform(path)
        if said is not None:
            return said
        name = path or (node.func.id if isinstance(node.func, ast.Name) else "")
        if name == "hasattr" and len(node.args) == 2:
            return self._hasattr(node, at, env)
        if name in _OF_OBJECTS:
            return UNKNOWN
        if name in ("dir", "vars") and len(node.args) == 1:
            return self._names_of(node.args[0], at)
        if _is_signature(node) and node.args:
            return self._signature(node.args[0], at, env)
        given = [self.known(a, at, env) for a in node.args]
        if name == "getattr" and len(node.args) in (2, 3):
            return self._getattr(node, at, given)
        found = self._special(name, node, given)
        if found is not None:
            return found
        if isinstance(node.func, ast.Attribute):
            owner = self.known(node.func.value, at, env)
            if owner.values is not None and not any(isinstance(v, There) for v in owner.values):
                return versions.method(owner, node.func.attr, given)
        functions = [v for v in self.evaluator.value(node.func, at) if isinstance(v, EngineFunction)]
        about = asked(given) | self._handed(node, at)
        answers = [self._returned(f, node, at, env) for f in functions]
        if answers:
            made = any_of(answers)
            return made if made.values is not None else Known(None, made.about | about)
        return Known(None, about)

    def _special(self, name: str, node: ast.Call, given: list[Known]) -> Known | None:
        """Functions of the standard library and of packaging that tests of versions are made of."""
        if name in versions.OF_DISTRIBUTION and given:
            return self._distribution(given[0])
        if name == "importlib.util.find_spec" and given:
            return self._spec(given[0])
        if name in versions.FUNCTIONS and not node.keywords:
            return apply(versions.FUNCTIONS[name], given)
        return None

    def modules_named(self, node: ast.Call, at: Position, env: Env) -> list[tuple[str, str, Value]] | None:
        """What a call imports of watched libraries by name: (library, error if it is not there, what it is).

        None when the call may fail for another reason.
        """
        path = platforms.origin(node.func, at)
        if path == "importlib.util.find_spec":
            return []
        if path != "importlib.import_module" or not node.args:
            return None
        found: list[tuple[str, str, Value]] = []
        for name in self.known(node.args[0], at, env).values or (None,):
            watched = self.evaluator.codebase.watched(name) if isinstance(name, str) else None
            if watched is None or not isinstance(name, str):
                return None
            found += [(watched[0].name, "ImportError", v) for v in self.evaluator.module(name)]
        return found

    def _distribution(self, given: Known) -> Known:
        """`importlib.metadata.version("dist")`."""
        made: list[Known] = []
        for value in given.values or ():
            library = self.evaluator.codebase.distribution(value) if isinstance(value, str) else None
            version = versions.of(library) if library is not None else None
            about = frozenset([About(library.name)]) if library is not None else frozenset()
            made.append(Known(None, about) if version is None else Known((version,), about))
        return any_of(made)

    def _spec(self, given: Known) -> Known:
        """`importlib.util.find_spec("package.module")`."""
        made: list[Known] = []
        for value in given.values or ():
            known = isinstance(value, str) and self.evaluator.codebase.watched(value) is not None
            made.append(self._value(self.evaluator.module(value)) if known else UNKNOWN)  # type: ignore[arg-type]
        return any_of(made)

    def _handed(self, node: ast.Call, at: Position) -> frozenset[About]:
        """The library's callables that a helper is asked about: `supports_keyword(lib.combine, "output")`."""
        return frozenset(
            About(value.library if isinstance(value, OpenMember) else value.library.name, value.path)
            for argument in node.args
            if isinstance(argument, ast.Name | ast.Attribute)
            for value in self.evaluator.value(argument, at)
            if isinstance(value, LibraryMember | OpenMember)
        )

    def _hasattr(self, node: ast.Call, at: Position, env: Env) -> Known:
        made: list[Known] = []
        for name in self.known(node.args[1], at, env).values or ():
            for value in self.evaluator.value(node.args[0], at):
                if not isinstance(value, LibraryModule | LibraryInstance | LibraryMember):
                    # About another package; asked for the missing name it is the choice between the two.
                    made.append(Known(None, frozenset([About(ANY, str(name))])))
                    continue
                found = self.evaluator.attribute(value, str(name))
                about = frozenset([About(value.library.name, f"{_path(value)}.{name}")])
                if not found or any(isinstance(v, OpenMember) for v in found):
                    made.append(Known(None, about))
                else:
                    made.append(Known((not any(isinstance(v, Absent) for v in found),), about))
        return any_of(made)

    def _getattr(self, node: ast.Call, at: Position, given: list[Known]) -> Known:
        names = given[1].values
        if names is None or len(names) != 1 or not isinstance(names[0], str):
            return Known(None, given[0].about)
        access = ast.copy_location(ast.Attribute(node.args[0], names[0], ast.Load()), node)
        found = self.evaluator.value(access, at)
        if len(given) == 3 and any(isinstance(v, Absent) for v in found):
            return given[2]
        return self._value(found)

    def _names_of(self, node: ast.expr, at: Position) -> Known:
        made: list[Known] = []
        for value in self.evaluator.value(node, at):
            module = value.library.module(value.module) if isinstance(value, LibraryModule) else None
            if module is None or module.open or module.stars:
                made.append(Known(None, frozenset([About(ANY)])))
            else:
                made.append(Known((Names(frozenset(module.names)),)))
        return any_of(made)

    def _signature(self, node: ast.expr, at: Position, env: Env) -> Known:
        """The parameters that `inspect.signature(f)` names."""
        made: list[Known] = []
        for value in self.evaluator.value(node, at):
            if isinstance(value, LibraryMember):
                made.append(_declared(value))
            elif isinstance(value, OpenMember):
                made.append(Known(None, frozenset([About(value.library, value.path)])))
            else:
                made.append(Known(None, frozenset([About(ANY)])))
        return any_of(made)

    def _returned(self, function: EngineFunction, node: ast.Call, at: Position, env: Env) -> Known:
        """What a helper of the tree returns for the arguments of a call."""
        if not isinstance(function.node, ast.FunctionDef):
            return UNKNOWN
        given = self._given(function, node, at, env)
        scope = function.scope.inner(function.node, function.node.name)
        found: list[Known] = []
        about: set[About] = set()
        for step in scope.steps:
            if isinstance(step.node, ast.Expr) and isinstance(step.node.value, ast.Yield | ast.YieldFrom):
                return UNKNOWN
            if isinstance(step.node, ast.Return):
                runs = reach.runs(self, scope, step.path, step.order, given)
                about |= runs.about
                if runs.answer is not Answer.NO:
                    here = Position(scope, step.path, step.order)
                    value = step.node.value
                    found.append(Known((None,)) if value is None else self.known(value, here, given))
        if not leaves(function.node.body) and reach.falls_through(self, scope, given):
            found.append(Known((None,)))
        made = any_of(found)
        return Known(made.values, made.about | about)

    def _given(self, function: EngineFunction, node: ast.Call, at: Position, env: Env) -> dict[str, Known]:
        args = function.node.args
        plain = [a.arg for a in (*args.posonlyargs, *args.args)]
        made = dict.fromkeys((*plain, *(a.arg for a in args.kwonlyargs)), UNKNOWN)
        outside = self.evaluator.at(function.scope)
        for name, default in zip(plain[len(plain) - len(args.defaults) :], args.defaults, strict=False):
            made[name] = self.known(default, outside)
        for only, value in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            if value is not None:
                made[only.arg] = self.known(value, outside)
        if function.bound is not None and plain:
            plain.pop(0)
        for name, argument in zip(plain, node.args, strict=False):
            made[name] = UNKNOWN if isinstance(argument, ast.Starred) else self.known(argument, at, env)
        made.update((k.arg, self.known(k.value, at, env)) for k in node.keywords if k.arg in made)
        return made


def _item(row: tuple[object, ...], place: tuple[int, int]) -> object:
    index, count = place
    if len(row) != count:
        raise ValueError("another number of values")
    return row[index]


def _path(value: LibraryModule | LibraryInstance | LibraryMember) -> str:
    return value.module if isinstance(value, LibraryModule) else value.path


def _is_signature(node: ast.Call) -> bool:
    last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return last in ("signature", "getfullargspec", "getargspec")


def _declared(value: LibraryMember) -> Known:
    about = frozenset([About(value.library.name, value.path)])
    try:
        found = signatures(value.library, value.member, value.path, bound=value.bound)
    except Unreadable:
        return Known(None, about)
    return Known(tuple({Names(frozenset(p.name for p in s.parameters)) for s in found}), about)
