"""Who in the engine calls a method, and with what: the evidence behind every finding about an override."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import NamedTuple

import msgspec

from pinproof.contract.judging.binding import Arguments
from pinproof.seams.code import Found, FunctionNode, Module, World, dotted_name, methods

# A method that so many modules speak of is looked for in those of its own classes only.
_COMMON = 60


class Caller(msgspec.Struct, frozen=True):
    """One call of a method in the engine.

    Attributes:
        file, line: where it stands.
        arguments: what it passes.
        text: the call in the source's words, shortened.
        inside: the method that it stands in, when it is a call on `self`.
    """

    file: str
    line: int
    arguments: Arguments
    text: str
    inside: str | None = None


class _Call(NamedTuple):
    """A call in the engine: on what, in which class, in which of its methods."""

    node: ast.Call
    receiver: ast.expr
    owner: Found | None
    inside: str | None


class Callers:
    """The calls of the engine's methods.

    Args:
        world: the plugin and the engine.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._calls: dict[tuple[str, str], list[_Call]] = {}
        self._mentions: dict[str, list[str]] = {}
        self._definers: dict[str, set[str]] = {}

    def of(self, lineage: Collection[str], name: str) -> list[Caller]:
        """The calls that reach a method on an object of a class.

        Args:
            lineage: the canonical names of the class and its bases.
            name: the method.

        Returns:
            Calls through `self` in a class of the lineage, through a name annotated with one, and, where
            no class outside the lineage's hierarchy has a method of this name, through anything.
        """
        found = []
        unique = self._is_unique(lineage, name)
        for module in self._modules(lineage, name, unique):
            for call in self._in(module, name):
                if self._reaches(module, call.receiver, call.owner, lineage, unique):
                    found.append(_caller(module, call))
        return found

    def functions(self, owner: str, name: str) -> list[Caller]:
        """The calls that find a function in its module when they run: inside it, or through the module.

        Args:
            owner: the module in which the name is looked up.
            name: the function.
        """
        module = self._world.engine.module(owner)
        found = [] if module is None else [_plain(module, c) for c in _plain_calls(module.tree, name)]
        for other in self._mentioning(name):
            parsed = self._world.engine.module(other)
            for call in self._in(parsed, name) if parsed is not None else ():
                receiver = dotted_name(call.receiver)
                if parsed is not None and receiver is not None:
                    through = self._world.local(parsed, receiver)
                    if through.kind == "module" and through.name == owner:
                        found.append(_caller(parsed, call))
        return found

    def _mentioning(self, name: str) -> list[str]:
        if name not in self._mentions:
            self._mentions[name] = list(self._world.engine.mentioning(f".{name}(".encode()))
        return self._mentions[name]

    def _modules(self, lineage: Collection[str], name: str, unique: bool) -> Iterator[Module]:
        mentioning = self._mentioning(name)
        names = {m.name for cls in lineage for m in [self._world.find(cls).module] if m is not None}
        words = [cls.rpartition(".")[2].encode() for cls in lineage]
        for module in mentioning:
            near = module in names or unique
            if not near and len(mentioning) <= _COMMON:
                near = any(word in self._world.engine.data(module) for word in words)
            parsed = self._world.engine.module(module) if near else None
            if parsed is not None:
                yield parsed

    def _in(self, module: Module, name: str) -> list[_Call]:
        """The calls of `x.name(...)` in a module, each with the class whose method it stands in."""
        key = (module.name, name)
        if key not in self._calls:
            self._calls[key] = list(_calls(module, module.tree, name, None, None))
        return self._calls[key]

    def _reaches(
        self, module: Module, receiver: ast.expr, owner: Found | None, lineage: Collection[str], unique: bool
    ) -> bool:
        if isinstance(receiver, ast.Name) and receiver.id in ("self", "cls"):
            return owner is not None and owner.name in lineage
        if isinstance(receiver, ast.Call):  # super().name(): it reaches a base, not the override
            return False
        declared = _annotation(module, receiver, owner)
        if declared is not None:
            found = self._world.local(module, declared)
            if found.kind == "class":
                return found.name in lineage
        return unique and self._world.find(f"{module.name}.{dotted_name(receiver) or '?'}").kind != "module"

    def _is_unique(self, lineage: Collection[str], name: str) -> bool:
        """Whether each of the engine's definitions of a method belongs to the lineage's own hierarchy."""
        if name not in self._definers:
            self._definers[name] = set(_definers(self._world, name))
        roots = set(lineage)
        return all(
            definer in roots or any(c.name in roots for c in self._world.lineage(self._world.find(definer)))
            for definer in self._definers[name]
        )


def _definers(world: World, name: str) -> Iterator[str]:
    for module_name in world.engine.mentioning(f"def {name}(".encode()):
        module = world.engine.module(module_name)
        if module is None:
            continue
        if any(isinstance(n, FunctionNode) for n in module.names.get(name, [])):
            yield f"{module_name}.{name}"
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                found = Found("class", f"{module_name}.{node.name}", module, node)
                if any(m.name == name for m in methods(found)):
                    yield found.name


def _calls(
    module: Module, node: ast.AST, name: str, owner: Found | None, inside: str | None
) -> Iterator[_Call]:
    for child in ast.iter_child_nodes(node):
        cls, method = owner, inside
        if isinstance(child, ast.ClassDef):
            cls, method = Found("class", f"{module.name}.{child.name}", module, child), None
        elif isinstance(child, FunctionNode) and isinstance(node, ast.ClassDef):
            method = child.name
        elif (
            isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute) and child.func.attr == name
        ):
            yield _Call(child, child.func.value, owner, inside)
        yield from _calls(module, child, name, cls, method)


def _annotation(module: Module, receiver: ast.expr, owner: Found | None) -> str | None:
    """What `self.x` or a module's name is declared as, by an annotation or by the class it is made of."""
    if not (isinstance(receiver, ast.Attribute) and isinstance(receiver.value, ast.Name)):
        return None
    if receiver.value.id != "self" or owner is None or not isinstance(owner.node, ast.ClassDef):
        return None
    for node in ast.walk(owner.node):
        target = node.target if isinstance(node, ast.AnnAssign) else None
        if (
            isinstance(target, ast.Attribute)
            and target.attr == receiver.attr
            and isinstance(node, ast.AnnAssign)
        ):
            return dotted_name(node.annotation)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            for aim in node.targets:
                if isinstance(aim, ast.Attribute) and aim.attr == receiver.attr:
                    return dotted_name(node.value.func)
    return None


def _plain_calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def _plain(module: Module, node: ast.Call) -> Caller:
    return _caller(module, _Call(node, node.func, None, None))


def arguments(call: ast.Call) -> Arguments:
    """What a call passes, as its text shows it."""
    starred = any(isinstance(a, ast.Starred) for a in call.args)
    return Arguments(
        positional=sum(not isinstance(a, ast.Starred) for a in call.args),
        more_positional=starred,
        keywords=tuple(k.arg for k in call.keywords if k.arg is not None),
        more_keywords=any(k.arg is None for k in call.keywords),
    )


def _caller(module: Module, call: _Call) -> Caller:
    text = " ".join(ast.unparse(call.node).split())
    on_self = isinstance(call.receiver, ast.Name) and call.receiver.id in ("self", "cls")
    return Caller(
        module.path, call.node.lineno, arguments(call.node), text if len(text) <= 120 else text[:117] + "...",
        call.inside if on_self else None,
    )  # fmt: skip
