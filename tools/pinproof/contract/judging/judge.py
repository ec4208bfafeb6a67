"""Judge one site: bind a call, look an import or attribute up, and say what keeps a failure from running."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

import msgspec

from pinproof.contract.declared import callables
from pinproof.contract.declared.callables import Unreadable, signatures
from pinproof.contract.evaluation import inherited
from pinproof.contract.evaluation.evaluator import Evaluator
from pinproof.contract.evaluation.position import Position
from pinproof.contract.evaluation.results import parameters
from pinproof.contract.evaluation.stores import is_stored
from pinproof.contract.evaluation.values import (
    Absent,
    Constant,
    EngineClass,
    EngineFunction,
    External,
    LibraryInstance,
    LibraryMember,
    LibraryModule,
    OpenMember,
    Partial,
    Value,
    Values,
)  # fmt: skip
from pinproof.contract.judging import probes
from pinproof.contract.judging.binding import Arguments, bind, nearest
from pinproof.contract.judging.forward import forwarded
from pinproof.contract.judging.guards import Guard, error_of, guard
from pinproof.contract.judging.pinned import Pinned
from pinproof.contract.judging.sites import Site, arguments
from pinproof.contract.judging.truth import Question
from pinproof.contract.model import CallCheck, Drift, Signature
from pinproof.contract.syntax.nodes import lines

_PATCHES = ("mock.patch", "mocker.patch")
_CALLED = LibraryMember | LibraryInstance | OpenMember | EngineFunction | EngineClass | Partial


def judge(evaluator: Evaluator, site: Site) -> Iterator[CallCheck]:
    """The checks of one site: none when it does not reach a watched library."""
    evaluator.begin()
    if isinstance(site.node, ast.Call):
        yield from _call(evaluator, site, site.node)
    elif isinstance(site.node, ast.Attribute):
        yield from _attribute(evaluator, site, site.node)
    else:
        yield from _import(evaluator, site, site.node)


# -- imports and attributes ----------------------------------------------------------------------------


def _import(evaluator: Evaluator, site: Site, alias: ast.alias) -> Iterator[CallCheck]:
    statement, file = site.statement, site.at.scope.file
    if isinstance(statement, ast.ImportFrom):
        if alias.name == "*":
            return
        module = file.absolute(statement.module, statement.level)
        values = evaluator.imported(module, alias.name)
        if evaluator.codebase.watched(module) is None and not evaluator.declares_for_checkers(
            module, alias.name
        ):
            return  # the module that it comes from fails, and is reported there
    else:
        values = evaluator.module(alias.name)
    if values and all(isinstance(v, Absent) for v in values):
        yield from _absent(evaluator, site, values, importing=True)


def _attribute(evaluator: Evaluator, site: Site, node: ast.Attribute) -> Iterator[CallCheck]:
    owners = evaluator.value(node.value, site.at)
    stores = isinstance(node.ctx, ast.Store)
    kinds = LibraryModule if stores else LibraryModule | LibraryInstance | LibraryMember
    if not owners or not all(isinstance(o, kinds) for o in owners):
        return
    values = evaluator.each(owners, lambda v: evaluator.attribute(v, node.attr))
    first = values[0] if values else None
    if not isinstance(first, Absent) or not all(isinstance(v, Absent) for v in values):
        return
    if stores:
        known = _is_read(site, node.attr)
    else:
        known = evaluator.is_patched(first.path, site.at) or is_stored(evaluator, owners, node.attr)
    if not known:
        yield from _absent(evaluator, site, values, importing=False)


def _is_read(site: Site, name: str) -> bool:
    """Whether the file speaks of a name more than once: what it sets and reads is its own addition."""
    return len(re.findall(rb"\b" + re.escape(name.encode()) + rb"\b", site.at.scope.file.data)) > 1


def _absent(evaluator: Evaluator, site: Site, values: Values, *, importing: bool) -> Iterator[CallCheck]:
    first = values[0]
    assert isinstance(first, Absent)
    place = site.statement if first.module and importing else site.node  # one import, one missing module
    owner, _, name = first.path.rpartition(".")
    module = first.library.module(owner)
    near = () if module is None else nearest((name,), tuple(module.names))
    drift = Drift(
        kind="missing-module" if first.module else "missing-attribute", names=(first.path,), nearest=near
    )
    question = Question(drift.kind, drift.names, first.library.name, first.path)
    found = guard(Pinned(evaluator), site.at, question, error_of(question, importing=importing))
    open_ = None if found is None or found.sure else found.why
    yield CallCheck(
        file=site.at.scope.file.path,
        line=place.lineno,
        col=place.col_offset + 1,
        callee=first.path,
        library=first.library.name,
        drifts=() if open_ else (drift,),
        open=open_,
        guard=found.why if found is not None and found.sure else None,
        how=first.reason,
    )


# -- calls ---------------------------------------------------------------------------------------------


def _call(evaluator: Evaluator, site: Site, node: ast.Call) -> Iterator[CallCheck]:
    values = evaluator.value(node.func, site.at)
    if not any(isinstance(v, _CALLED) for v in values):
        named = next((v.name for v in values if isinstance(v, External)), "")
        if named.endswith(_PATCHES):
            yield from _patched_by_name(evaluator, site, node)
        elif named == "builtins.setattr":
            yield from _set_by_name(evaluator, site, node)
        elif values == (External("builtins.getattr"),):
            yield from _getattr(evaluator, site, node)
        elif values == (External("functools.partial"),):
            yield from _partial(evaluator, site, node)
        return
    given: Arguments | None = None
    outcomes: list[CallCheck | None] = []
    for value in values:
        if isinstance(value, Constant):
            continue
        if given is None:
            given = arguments(evaluator, node, site.at)
        outcomes.extend(_outcomes(evaluator, site, node, value, given))
    checks = [o for o in outcomes if o is not None]
    if checks:
        assert given is not None
        yield from _settled(evaluator, site, checks, given, unknown=len(checks) < len(outcomes))


def _getattr(evaluator: Evaluator, site: Site, node: ast.Call) -> Iterator[CallCheck]:
    """`getattr(module, "name")` without a default, of a name that is not there."""
    if len(node.args) != 2:
        return
    owners = evaluator.value(node.args[0], site.at)
    if owners and all(isinstance(o, LibraryModule) for o in owners):
        values = evaluator.value(node, site.at)
        if values and all(isinstance(v, Absent) for v in values):
            yield from _absent(evaluator, site, values, importing=False)


def _patched_by_name(evaluator: Evaluator, site: Site, node: ast.Call) -> Iterator[CallCheck]:
    """`patch("library.module.name")`: the name must be there to be replaced, or the patch itself fails."""
    text = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
    if not isinstance(text, str) or any(k.arg == "create" for k in node.keywords):
        return
    module, _, name = text.rpartition(".")
    values = evaluator.imported(module, name)
    if values and all(isinstance(v, Absent) for v in values):
        yield from _absent(evaluator, site, values, importing=False)


def _set_by_name(evaluator: Evaluator, site: Site, node: ast.Call) -> Iterator[CallCheck]:
    """`setattr(module, "name", value)` of a name that the module lacks and the file never reads."""
    if len(node.args) != 3:
        return
    owners, named = evaluator.value(node.args[0], site.at), evaluator.value(node.args[1], site.at)
    text = named[0].value if len(named) == 1 and isinstance(named[0], Constant) else None
    if not isinstance(text, str) or not owners or not all(isinstance(o, LibraryModule) for o in owners):
        return
    values = evaluator.each(owners, lambda v: evaluator.attribute(v, text))
    if values and all(isinstance(v, Absent) for v in values) and not _is_read(site, text):
        yield from _absent(evaluator, site, values, importing=False)


def _partial(evaluator: Evaluator, site: Site, node: ast.Call) -> Iterator[CallCheck]:
    """`partial(function, ...)` handed on: what it holds must fit, whatever else it will be called with.

    One that is given a name is judged where that name is called.
    """
    if not node.args or isinstance(node.args[0], ast.Starred):
        return
    if isinstance(site.statement, ast.Assign | ast.AnnAssign) and site.statement.value is node:
        return
    values = evaluator.value(node.args[0], site.at)
    if len(values) != 1 or not isinstance(values[0], LibraryMember):
        return
    given = arguments(evaluator, node, site.at)
    given = given._replace(positional=given.positional - 1, more_positional=True, more_keywords=True)
    check = _bound(site, node, values[0], given, _origin(site, node))
    if check.drifts:
        yield _failing(evaluator, site, check, given)


def _outcomes(
    evaluator: Evaluator, site: Site, node: ast.Call, value: Value, given: Arguments
) -> Iterator[CallCheck | None]:
    """The checks for one value of the callee; None stands for a value of which nothing is known."""
    if isinstance(value, LibraryMember | OpenMember):
        yield _bound(site, node, value, given, _origin(site, node))
    elif isinstance(value, Partial):
        more = Arguments(
            given.positional + value.positional, given.more_positional, (*value.keywords, *given.keywords),
            given.optional, given.more_keywords or value.open,
        )  # fmt: skip
        more = more._replace(keywords=tuple(dict.fromkeys(more.keywords)))
        yield from _outcomes(evaluator, site, node, value.function, more)
    elif isinstance(value, EngineClass):
        abstract = _abstract(evaluator, site, node, value)
        if abstract is not None:
            yield abstract
            return
        base = inherited.constructor(evaluator, value)
        yield None if base is None else _bound(site, node, base, given, _origin(site, node))
    elif isinstance(value, LibraryInstance):
        for method in evaluator.attribute(value, "__call__"):
            yield from _outcomes(evaluator, site, node, method, given)
    elif isinstance(value, EngineFunction):
        found = list(forwarded(evaluator, value, given, parameters(evaluator, value, node, site.at)))
        inner = [f for f in found if isinstance(f.value, LibraryMember | OpenMember)]
        for f in inner:
            assert isinstance(f.value, LibraryMember | OpenMember)
            yield _bound(
                site, node, f.value, f.arguments, f"{_origin(site, node)}, which calls it at {f.place}"
            )
        if not inner:
            yield None
    else:
        yield None


def _bound(
    site: Site, node: ast.Call, value: LibraryMember | OpenMember, given: Arguments, how: str
) -> CallCheck:
    library = value.library if isinstance(value, OpenMember) else value.library.name
    check = CallCheck(
        file=site.at.scope.file.path, line=node.lineno, col=node.col_offset + 1, callee=value.path,
        library=library, keywords=given.names, how=how,
    )  # fmt: skip
    if isinstance(value, OpenMember):
        return msgspec.structs.replace(check, open=value.reason)
    try:
        found = signatures(value.library, value.member, value.path, bound=value.bound)
    except Unreadable as error:
        return msgspec.structs.replace(check, open=str(error))
    drifts, signature = _least(found, given)
    return msgspec.structs.replace(check, drifts=drifts or _unpacked(site, node, value), signature=signature)


def _unpacked(site: Site, node: ast.Call, value: LibraryMember) -> tuple[Drift, ...]:
    """`a, b = f()` where f gives three values."""
    statement = site.statement
    if not isinstance(statement, ast.Assign) or statement.value is not node:
        return ()
    given = callables.returned_values(value.library, value.member)
    for target in statement.targets if given is not None else ():
        wanted = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        if wanted and len(wanted) != given and not any(isinstance(e, ast.Starred) for e in wanted):
            names = (f"{len(wanted)} unpacked, {given} returned",)
            return (Drift(kind="result-count", names=names),)
    return ()


def _abstract(evaluator: Evaluator, site: Site, node: ast.Call, value: EngineClass) -> CallCheck | None:
    """An object of a class of the tree that leaves an abstract method of the library out."""
    base, names = inherited.unimplemented(evaluator, value)
    if base is None or not names:
        return None
    return CallCheck(
        file=site.at.scope.file.path, line=node.lineno, col=node.col_offset + 1, callee=base.path,
        library=base.library.name, how=_origin(site, node),
        drifts=(Drift(kind="abstract-method", names=names),),
    )  # fmt: skip


def _least(found: Sequence[Signature], given: Arguments) -> tuple[tuple[Drift, ...], Signature]:
    """The signature that the call fits best, and how it still fails."""
    tried = [(bind(signature, given), signature) for signature in found]
    return min(tried, key=lambda t: len(t[0]))


def _settled(
    evaluator: Evaluator, site: Site, checks: list[CallCheck], given: Arguments, *, unknown: bool
) -> Iterator[CallCheck]:
    """The checks of a call that may reach several callees: it fails only when it fails with each.

    A keyword that is passed under a condition, and that another of the callees takes, is meant for that one.
    """
    taken = {name for c in checks if c.signature is not None for name in c.signature.names}
    settled = [c if len(checks) == 1 else _without(c, taken) for c in checks]
    failing = [c for c in settled if c.drifts]
    if failing and len(failing) == len(settled) and not unknown:
        yield _failing(evaluator, site, failing[0], given)
        return
    seen: set[str] = set()
    for check in settled:
        if check.callee not in seen:
            seen.add(check.callee)
            reason = f"it may also be something else than {check.callee}"
            yield msgspec.structs.replace(check, drifts=(), open=reason) if check.drifts else check


def _without(check: CallCheck, taken: set[str]) -> CallCheck:
    drifts = tuple(d for d in check.drifts if d.when is None or not taken.issuperset(d.names))
    return msgspec.structs.replace(check, drifts=drifts)


def _failing(evaluator: Evaluator, site: Site, check: CallCheck, given: Arguments) -> CallCheck:
    if evaluator.is_patched(check.callee, site.at):
        return msgspec.structs.replace(check, drifts=(), open="the file replaces an attribute of this name")
    guards: list[Guard] = []
    live: list[Drift] = []
    for drift in check.drifts:
        found = _guard(evaluator, site.at, check, drift, given)
        if found is None:
            live.append(drift)
        else:
            guards.append(found)
    if live:
        return msgspec.structs.replace(check, drifts=tuple(live))
    doubt = next((g for g in guards if not g.sure), None)
    if doubt is not None:
        return msgspec.structs.replace(check, drifts=(), open=doubt.why)
    return msgspec.structs.replace(check, guard=guards[0].why)


def _guard(
    evaluator: Evaluator, at: Position, check: CallCheck, drift: Drift, given: Arguments
) -> Guard | None:
    """What keeps one drift of a call from happening: around the call, or where the argument is put in."""
    pinned = Pinned(evaluator)
    question = Question(drift.kind, drift.names, check.library, check.callee)
    error = error_of(question, importing=False)
    found = guard(pinned, at, question, error)
    if (found is not None and found.sure) or drift.when is None:
        return found
    found = found or _all_put_in(pinned, question, given)
    for name in drift.names if found is None else ():
        probe = probes.elsewhere(evaluator, check.callee, name, at.scope.file.path)
        return Guard(*probe) if probe else None
    return found


def _all_put_in(pinned: Pinned, question: Question, given: Arguments) -> Guard | None:
    """What keeps every statement that puts the argument into a dict from running."""
    found: Guard | None = None
    for name, when in given.optional:
        if name in question.names:
            found = guard(pinned, when.at, question, "") if when.at is not None else None
            if found is None:
                return None
    return found


def _origin(site: Site, node: ast.Call) -> str:
    """Where the name that is called was last bound, in the words of the source."""
    root: ast.expr = node.func
    while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
        root = root.func if isinstance(root, ast.Call) else root.value
    if not isinstance(root, ast.Name):
        return ""
    scope = site.at.scope
    while root.id not in scope.bindings and scope.parent is not None:
        scope = scope.parent
    for binding in scope.bindings.get(root.id, ()):
        line = getattr(binding.node, "lineno", 0)
        text_lines = lines(scope.file.data)
        text = text_lines[line - 1].decode(errors="replace").strip() if 0 < line <= len(text_lines) else ""
        return f"line {line}: {text[:100]}"
    return ""
