"""What `value.name` stands for: members of libraries, of the tree's modules, classes and objects."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pinproof.contract.declared import callables
from pinproof.contract.declared.summary import Function
from pinproof.contract.evaluation import inherited
from pinproof.contract.evaluation.lineage import lineage
from pinproof.contract.evaluation.results import returned
from pinproof.contract.evaluation.values import (
    UNKNOWN,
    Absent,
    EngineClass,
    EngineFunction,
    EngineInstance,
    EngineModule,
    External,
    LibraryInstance,
    LibraryMember,
    LibraryModule,
    OpenMember,
    Unknown,
    Value,
    Values,
    library_value,
    union,
)  # fmt: skip
from pinproof.contract.syntax.bindings import Binding, put_in
from pinproof.contract.syntax.nodes import FunctionNode, dotted
from pinproof.contract.syntax.scopes import Scope

if TYPE_CHECKING:
    from pinproof.contract.evaluation.evaluator import Evaluator


def attribute(evaluator: Evaluator, value: Value, name: str) -> Values:
    """What `value.name` can stand for."""
    if isinstance(value, LibraryModule):
        members = value.library.members(value.module, name)
        return tuple(library_value(value.library, f"{value.module}.{name}", m) for m in members)
    if isinstance(value, LibraryMember | LibraryInstance):
        return _library_attribute(value, name)
    if isinstance(value, EngineModule):
        return _module_attribute(evaluator, value.name, name)
    if isinstance(value, EngineInstance):
        return _instance_attribute(evaluator, value, name)
    if isinstance(value, EngineClass):
        return _class_attribute(evaluator, value, name)
    if isinstance(value, External):
        return (External(f"{value.name}.{name}"),)
    if isinstance(value, OpenMember):
        return (OpenMember(value.library, f"{value.path}.{name}", value.reason),)
    if isinstance(value, Absent):
        return (value,)
    return UNKNOWN


def _library_attribute(value: LibraryMember | LibraryInstance, name: str) -> Values:
    path = f"{value.path}.{name}"
    if value.member.kind != "class":
        return UNKNOWN  # a function's attribute, a constant's method: nothing that a snapshot holds
    instance = isinstance(value, LibraryInstance)
    found = callables.attribute(value.library, value.member, name, instance=instance)
    if found is None:
        return (OpenMember(value.library.name, path, f"the attributes of {value.path} are not all known"),)
    if not found and isinstance(value, LibraryInstance) and not value.exact:
        return UNKNOWN
    if not found:
        return (Absent(value.library, path, f"{value.path} has no {name}"),)
    groups: list[Value] = []
    for member in found:
        if not isinstance(member.entry, Function) or callables.is_property(member.entry):
            groups.append(Unknown())
        else:
            bound = callables.binds_first(member.entry, instance=instance)
            owner = value if isinstance(value, LibraryInstance) else None
            owner = owner or LibraryInstance(value.library, value.path, value.member)
            groups.append(LibraryMember(value.library, path, member, bound, owner))
    return tuple(groups)


def _module_attribute(evaluator: Evaluator, module: str, name: str) -> Values:
    file = evaluator.codebase.module(module)
    if file is None:
        return UNKNOWN
    if name in file.scope.bindings or name in file.set_in_functions():
        return evaluator.module_name(file.scope, name)
    if evaluator.codebase.has_module(f"{module}.{name}"):
        return (EngineModule(f"{module}.{name}"),)
    for source in file.stars():
        found = evaluator.imported(source, name)
        if any(not isinstance(v, Unknown | External) for v in found):
            return found
    return UNKNOWN


def _instance_attribute(evaluator: Evaluator, value: EngineInstance, name: str) -> Values:
    found: list[Values] = []
    for cls in lineage(evaluator, value.of):
        scope = cls.scope
        found.extend(_read(evaluator, binding, scope, value) for binding in scope.bindings.get(name, ()))
        found.extend(evaluator.binding(b, inner) for inner, b in self_assignments(scope).get(name, ()))
        if found:
            break
    values = union(*found) if found else inherited.attribute(evaluator, value.of, name)
    if all(isinstance(v, Unknown) for v in values):
        return _given_to_constructor(evaluator, value.of, name)
    return values


def _given_to_constructor(evaluator: Evaluator, cls: EngineClass, name: str) -> Values:
    """What a field was given wherever the class's own module makes an object of it, by keyword.

    `FORMAT = Format(kernel="fp8_gemm")` makes `fmt.kernel` that string, for any `fmt: Format`.
    """
    if not any(b.kind == "parameter" for b in cls.scope.bindings.get(name, ())):
        return UNKNOWN
    module = cls.scope.file.scope
    groups: list[Values] = []
    for step in module.steps:
        if not isinstance(step.node, ast.Assign | ast.AnnAssign) or step.node.value is None:
            continue
        for call in ast.walk(step.node.value):
            if isinstance(call, ast.Call) and dotted(call.func) == cls.node.name:
                here = evaluator.at(module, step.path, step.order)
                groups.extend(evaluator.value(k.value, here) for k in call.keywords if k.arg == name)
    return union(*groups) if groups else UNKNOWN


def _class_attribute(evaluator: Evaluator, value: EngineClass, name: str) -> Values:
    for cls in lineage(evaluator, value):
        if name in cls.scope.bindings:
            return union(*(evaluator.binding(b, cls.scope) for b in cls.scope.bindings[name]))
    return UNKNOWN


def _read(evaluator: Evaluator, binding: Binding, scope: Scope, value: EngineInstance) -> Values:
    """A class-level name read from an object: methods are bound, properties give what they return."""
    node = binding.node
    if binding.kind == "def" and isinstance(node, FunctionNode):
        names = {(dotted(d) or "").rpartition(".")[2] for d in node.decorator_list}
        if names & {"property", "cached_property"}:
            return returned(evaluator, EngineFunction(node, scope, value), {}, keep=True)
        if "staticmethod" not in names:
            found = evaluator.binding(binding, scope)
            return tuple(
                EngineFunction(v.node, v.scope, value) if isinstance(v, EngineFunction) else v for v in found
            )
    return evaluator.binding(binding, scope)


def self_assignments(scope: Scope) -> dict[str, list[tuple[Scope, Binding]]]:
    """The `self.x = ...` of a class's methods, each with the method's scope."""
    if scope.stored is None:
        found: dict[str, list[tuple[Scope, Binding]]] = {}
        for step in scope.steps:
            if isinstance(step.node, FunctionNode) and step.node.args.args:
                inner = scope.inner(step.node, step.node.name, step)
                _read_self(inner, step.node.args.args[0].arg, found)
        scope.stored = found
    return scope.stored


def _read_self(scope: Scope, name: str, found: dict[str, list[tuple[Scope, Binding]]]) -> None:
    for step in scope.steps:
        node = step.node
        for owner, binding in put_in(step):
            if isinstance(owner, ast.Attribute) and dotted(owner.value) == name:
                found.setdefault(owner.attr, []).append((scope, binding))
        named = _set_by_name(node, name)
        if named is not None:
            found.setdefault(named[0], []).append((scope, Binding("value", named[1], step.path, step.order)))
        if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For | ast.With):
            continue
        for target in ast.walk(node) if not isinstance(node, ast.Assign | ast.AnnAssign) else _targets(node):
            if not (isinstance(target, ast.Attribute) and isinstance(target.ctx, ast.Store)):
                continue
            if isinstance(target.value, ast.Name) and target.value.id == name:
                found.setdefault(target.attr, []).append(
                    (scope, _stored(node, target, step.path, step.order))
                )


def _set_by_name(node: ast.stmt, name: str) -> tuple[str, ast.expr] | None:
    """The attribute and the value of `setattr(self, "attribute", value)`."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or dotted(call.func) != "setattr" or len(call.args) != 3:
        return None
    owner, attribute, value = call.args
    text = attribute.value if isinstance(attribute, ast.Constant) else None
    return (text, value) if isinstance(text, str) and dotted(owner) == name else None


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _stored(node: ast.stmt, target: ast.expr, path: tuple, order: int) -> Binding:  # type: ignore[type-arg]
    if isinstance(node, ast.Assign) and target in node.targets:
        return Binding("value", node.value, path, order)
    if isinstance(node, ast.AnnAssign):
        if node.value is not None:
            return Binding("value", node.value, path, order, node.annotation)
        return Binding("parameter", node.annotation, path, order)
    for item in node.items if isinstance(node, ast.With) else ():
        if item.optional_vars is target:
            return Binding("entered", item.context_expr, path, order)
    return Binding("unknown", node, path, order)
