"""Judge the overrides of a plugin against what its engine declares and calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import msgspec

from pinproof.contract.judging.binding import bind, nearest
from pinproof.contract.model import Drift, Signature
from pinproof.seams.bodies import header
from pinproof.seams.callers import Caller, Callers, arguments
from pinproof.seams.code import Found, FunctionNode, World, methods, own_member, own_members
from pinproof.seams.model import Seam
from pinproof.seams.overrides import Override, is_property, overrides, signature

_KINDS = {"unexpected-keyword": "KC301", "missing-required": "KC302", "too-many-positional": "KC303"}


def judge(world: World, callers: Callers, cls: Found, lineage: list[Found]) -> Iterator[Seam]:
    """What is wrong with one class's overrides on the version of the engine in `world`.

    Args:
        world: the plugin, and the engine at the version in question.
        callers: the calls of that engine.
        cls, lineage: a class of the plugin, and its bases.
    """
    for override in overrides(world, cls, lineage):
        seam = _against_callers(world, callers, override, lineage)
        if seam is not None:
            yield seam
    yield from _super_calls(world, cls, lineage)
    yield from _abstract(world, cls, lineage)


def gone(before: World, after: World, callers: Callers, override: Override, cls: Found) -> Seam | None:
    """The finding that a method which `override` hid in `before` is not there in `after`; None when it is.

    Nothing calls such a method any more, unless something else of that name is called on the object.
    """
    lineage = [c for c in after.lineage(cls) if c.kind == "class" and after.is_engine(c.name)]
    name = override.node.name
    if not lineage or any(own_member(c, name) is not None for c in lineage):
        return None
    if callers.of([c.name for c in lineage], name):
        return None
    members = sorted(
        {m for c in lineage for m, node in own_members(c).items() if isinstance(node, FunctionNode)}
    )
    near = nearest((name,), members)
    return Seam(
        code="KC304", level="error", file=cls.module.path if cls.module else "", line=override.node.lineno,
        name=override.engine.name,
        message=f"{_short(override.engine.name)}() is overridden, and {after.engine.label} has no such method"
        + (f"; nearest: {', '.join(near)}" if near else ""),
        evidence=(f"{override.engine.place}: {header(override.engine.node)} in {before.engine.label}",),
        before=header(override.engine.node),
    )  # fmt: skip


def _against_callers(
    world: World, callers: Callers, override: Override, lineage: Sequence[Found]
) -> Seam | None:
    assert override.cls.module is not None
    assert isinstance(override.engine.node, FunctionNode)
    place = f"{override.cls.module.path}:{override.node.lineno}"
    mine = signature(override.node, place, override.node.name)
    theirs = signature(override.engine.node, override.engine.place, override.engine.name)
    if mine is None or theirs is None or mine.parameters == theirs.parameters:
        return None
    failing: list[tuple[Caller, tuple[Drift, ...]]] = []
    for caller in callers.of(override.lineage, override.node.name):
        drifts = bind(mine, caller.arguments)
        if drifts and not bind(theirs, caller.arguments) and not _is_hidden(world, caller, override, lineage):
            failing.append((caller, drifts))
    if not failing:
        return None
    drift = failing[0][1][0]
    return Seam(
        code=_KINDS[drift.kind], level="error", file=override.cls.module.path, line=override.node.lineno,
        name=override.engine.name,
        message=f"{override.cls.name.rpartition('.')[2]}.{override.node.name}() {told(drift)}; "
        f"{world.engine.label} calls it so",
        evidence=tuple(f"{c.file}:{c.line}: {c.text}" for c, _ in failing[:3]),
        before=header(override.node), after=header(override.engine.node),
    )  # fmt: skip


def _is_hidden(world: World, caller: Caller, override: Override, lineage: Sequence[Found]) -> bool:
    """Whether the plugin overrides the calling method itself, and never hands on to the engine's.

    A base from another plugin of the same engine (vllm_ascend for vllm_omni) may do so unseen.
    """
    if any(c.kind == "open" and c.name.startswith(world.engine.packages) for c in lineage):
        return True
    if caller.inside is None:
        return False
    for cls in lineage:
        if cls.kind != "class" or world.is_engine(cls.name):
            continue
        member = own_member(cls, caller.inside)
        if isinstance(member, FunctionNode):
            return not _hands_on(member, caller.inside)
    return False


def _hands_on(node: ast.AST, name: str) -> bool:
    """Whether a method calls `super().name(...)` or `Base.name(...)`."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and inner.attr == name:
            owner = inner.value
            if isinstance(owner, ast.Call) or (
                isinstance(owner, ast.Name) and owner.id not in ("self", "cls")
            ):
                return True
    return False


def told(drift: Drift) -> str:
    names = ", ".join(repr(name) for name in drift.names)
    if drift.kind == "unexpected-keyword":
        return f"takes no keyword {names}"
    if drift.kind == "missing-required":
        return f"requires {names}"
    return f"takes fewer positional arguments: {drift.names[0]}"


def _super_calls(world: World, cls: Found, lineage: list[Found]) -> Iterator[Seam]:
    """`super().m(...)` where the engine's m is the next in line, and does not take it or is not there."""
    beyond = lineage[1:]
    known = all(
        c.kind == "class" for c in beyond if c.name.rpartition(".")[2] not in ("object", "ABC", "Generic")
    )
    direct = [b for b in world.bases(cls) if b.kind == "class"]
    for method in methods(cls):
        for call in ast.walk(method):
            name = _super_method(call)
            if name is None or not isinstance(call, ast.Call):
                continue
            target = _next(world, direct, name)
            if target is None:
                if (
                    known
                    and not name.startswith("__")
                    and not any(own_member(c, name) for c in beyond if c.kind == "class")
                ):
                    yield _super(
                        cls, call, f"super().{name}()", f"no base class in {world.engine.label} has {name}"
                    )
                continue
            if not world.is_engine(target.name) or not isinstance(target.node, FunctionNode):
                continue
            taken = None if is_property(target.node) else signature(target.node, target.place, target.name)
            drifts = bind(taken, arguments(call)) if taken is not None else ()
            if drifts and taken is not None:
                yield _misfit(cls, call, drifts[0], taken, target)


def _next(world: World, direct: list[Found], name: str) -> Found | None:
    """What super().name finds; None when it may be of a base that is not known."""
    if len(direct) != 1:
        return None  # the order of several bases decides, and a mixin may stand between
    for cls in world.lineage(direct[0]):
        if cls.kind != "class" or (len(world.bases(cls)) > 1 and own_member(cls, name) is None):
            return None
        member = own_member(cls, name)
        if member is not None:
            return Found("function", f"{cls.name}.{name}", cls.module, member)
    return None


def _super_method(node: ast.AST) -> str | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        if isinstance(owner, ast.Call) and getattr(owner.func, "id", "") == "super" and not owner.args:
            return node.func.attr
    return None


def _misfit(cls: Found, call: ast.Call, drift: Drift, taken: Signature, target: Found) -> Seam:
    return msgspec.structs.replace(
        _super(cls, call, target.name, f"super().{taken.name.rpartition('.')[2]}() {told(drift)}"),
        evidence=(f"{target.place}: {header(target.node)}",), after=header(target.node),
    )  # fmt: skip


def _super(cls: Found, call: ast.Call, name: str, message: str) -> Seam:
    path = cls.module.path if cls.module else ""
    return Seam(code="KC306", level="error", file=path, line=call.lineno, name=name, message=message)


def _abstract(world: World, cls: Found, lineage: list[Found]) -> Iterator[Seam]:
    """Abstract methods of the engine that a class leaves out, where the plugin makes objects of it."""
    if any(
        c.kind != "class" and c.name.rpartition(".")[2] not in ("ABC", "object", "Generic") for c in lineage
    ):
        return
    if not any(_is_abc(c) for c in lineage):
        return
    missing: dict[str, Found] = {}
    for owner in reversed([c for c in lineage if c.kind == "class"]):
        for name, node in own_members(owner).items():
            if isinstance(node, FunctionNode) and _is_abstract(node):
                missing[name] = Found("function", f"{owner.name}.{name}", owner.module, node)
            else:
                missing.pop(name, None)
    if not missing or not all(world.is_engine(m.name) for m in missing.values()):
        return
    made = _made(world, cls)
    if made is None or cls.module is None:
        return
    first = next(iter(missing.values()))
    yield Seam(
        code="KC305", level="error", file=cls.module.path, line=cls.line, name=first.name,
        message=f"{cls.name.rpartition('.')[2]} does not implement {', '.join(sorted(missing))}, "
        f"and {made} makes one",
        evidence=tuple(f"{m.place}: {header(m.node)}" for m in missing.values()),
    )  # fmt: skip


def _made(world: World, cls: Found) -> str | None:
    """Where the plugin makes an object of a class, in the class's own module."""
    name = cls.name.rpartition(".")[2]
    for node in ast.walk(cls.module.tree) if cls.module is not None else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            return f"line {node.lineno}"
    return None


def _is_abc(cls: Found) -> bool:
    if not isinstance(cls.node, ast.ClassDef):
        return cls.name.rpartition(".")[2] == "ABC"
    return any("ABCMeta" in ast.dump(k.value) for k in cls.node.keywords)


def _is_abstract(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("abstract" in ast.dump(d) for d in node.decorator_list)


def _short(name: str) -> str:
    return ".".join(name.split(".")[-2:])
