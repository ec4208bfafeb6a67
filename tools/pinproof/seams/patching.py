"""Judge the runtime patches of a plugin: are their targets there, and are they still what was patched?"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pinproof.contract.declared.parameters import parameters
from pinproof.contract.judging.binding import bind
from pinproof.contract.model import Place, Signature
from pinproof.seams import bodies
from pinproof.seams.callers import Callers
from pinproof.seams.code import Found, FunctionNode, World
from pinproof.seams.model import Seam
from pinproof.seams.overrides import is_property, signature
from pinproof.seams.overriding import told
from pinproof.seams.targets import Patch, Placed
from pinproof.seams.versions import Versions


def guard(placed: Placed, versions: Versions) -> str | None:
    """The test around a patch that does not hold on a version; None when it may run there."""
    for (test, wanted), text in zip(placed.tests, placed.patch.under, strict=True):
        answer = versions.holds(test, placed.names, placed.scope)
        if answer is not None and answer != wanted:
            return text
    return None


def judge(world: World, callers: Callers, versions: Versions, placed: Placed) -> Iterator[Seam]:
    """What is wrong with a patch on the engine in `world`, whose target is there."""
    found = world.find(placed.patch.target)
    if found.kind == "function":
        seam = _against_callers(world, callers, versions, placed, found)
        if seam is not None:
            yield seam


def moved(before: World, after: World, versions: Versions, placed: Placed) -> Iterator[Seam]:
    """What a change of the engine's version does to a patch: gone, changed, already in.

    Args:
        before, after: the plugin with the engine at the pin and at the other version.
        versions: answers for the other version.
        placed: the patch.
    """
    patch = placed.patch
    old, new = before.find(patch.target), after.find(patch.target)
    if old.kind in ("absent", "open"):
        return
    if new.kind == "absent":
        yield _gone(before, after, versions, patch, placed, old, new)
        return
    if patch.restores:
        return
    definition = FunctionNode | ast.ClassDef
    if not isinstance(old.node, definition) or not isinstance(new.node, definition):
        return
    if bodies.same(old.node, new.node) or patch.how == "enum":
        return
    if placed.function is not None and bodies.same(placed.function, new.node, names=False):
        yield _seam(
            "KC404", patch, new, f"{after.engine.label} does by itself what is put in place of {_last(patch)}"
        )
        return
    yield _changed(after, versions, placed, old, new)


def doubled(placed: list[Placed], versions: Versions) -> Iterator[Seam]:
    """Targets that two patches replace, where nothing shows that only one of them runs."""
    first: dict[str, Placed] = {}
    for item in placed:
        patch = item.patch
        if patch.restores or patch.how in ("enum", "delete") or guard(item, versions) is not None:
            continue
        other = first.setdefault(patch.target, item)
        if other is item or (other.patch.under != patch.under and (other.patch.under or patch.under)):
            continue
        if other.patch.file != patch.file and other.patch.replacement != patch.replacement:
            message = (
                f"{patch.target} is patched in {other.patch.file}:{other.patch.line} too; the later one wins"
            )
            yield Seam(
                code="KC405",
                level="note",
                file=patch.file,
                line=patch.line,
                name=patch.target,
                message=message,
            )


def _gone(
    before: World, after: World, versions: Versions, patch: Patch, placed: Placed, old: Found, new: Found
) -> Seam:
    where = _elsewhere(after, patch)
    owner = after.find(patch.owner)
    what = f"{patch.owner} has no {patch.name}" if owner.kind != "absent" else f"there is no {patch.owner}"
    return Seam(
        code="KC401", level="error", file=patch.file, line=patch.line, name=patch.target,
        message=f"{what} in {after.engine.label}: the patch "
        + ("reaches nothing" if owner.kind != "absent" else "cannot be applied")
        + (f"; {patch.name} is now in {', '.join(where)}" if where else ""),
        evidence=(f"{old.place}: {bodies.header(old.node) or _last(patch)} in {before.engine.label}",),
        before=bodies.header(old.node), after=where[0] if where else None, guard=guard(placed, versions),
    )  # fmt: skip


def _elsewhere(world: World, patch: Patch) -> list[str]:
    """The modules of the engine that define a function or class of the name at their top."""
    found = []
    for kind in (b"def ", b"class "):
        for name in world.engine.mentioning(kind + patch.name.encode()):
            module = world.engine.module(name)
            if module is not None and any(
                isinstance(n, FunctionNode | ast.ClassDef) for n in module.names.get(patch.name, [])
            ):
                found.append(name)
    return sorted(found)[:3]


def _changed(after: World, versions: Versions, placed: Placed, old: Found, new: Found) -> Seam:
    assert old.node is not None
    assert new.node is not None
    before, now = bodies.header(old.node), bodies.header(new.node)
    taken = f"{before} is now {now}; " if before != now else ""
    patch = placed.patch
    return Seam(
        code="KC403", level="review", file=patch.file, line=patch.line, name=patch.target,
        message=f"{_last(placed.patch)} is not the same in {after.engine.label}: {taken}"
        f"{bodies.summary(old.node, new.node)}; read this patch again",
        evidence=(f"{new.place}",), before=before, after=now, guard=guard(placed, versions),
        diff=tuple(bodies.difference(old.node, new.node)),
    )  # fmt: skip


def _against_callers(
    world: World, callers: Callers, versions: Versions, placed: Placed, found: Found
) -> Seam | None:
    """A replacement that does not take what the engine passes, where the original does."""
    owner = world.find(placed.patch.owner)
    if not isinstance(found.node, FunctionNode) or is_property(found.node) or placed.patch.restores:
        return None
    bound = owner.kind == "class"
    theirs = signature(found.node, found.place, placed.patch.target, bound=bound)
    mine = _replacement(placed, bound=bound)
    if theirs is None or mine is None or theirs.parameters == mine.parameters:
        return None
    calls = (
        callers.of([c.name for c in world.lineage(owner) if c.kind == "class"], placed.patch.name)
        if bound else callers.functions(owner.name, placed.patch.name)
    )  # fmt: skip
    failing = [
        (c, d) for c in calls for d in [bind(mine, c.arguments)] if d and not bind(theirs, c.arguments)
    ]
    if not failing:
        return None
    return Seam(
        code="KC402", level="error", file=placed.patch.file, line=placed.patch.line, name=placed.patch.target,
        message=f"what is put in place of {_last(placed.patch)} {told(failing[0][1][0])}; "
        f"{world.engine.label} calls it so",
        evidence=tuple(f"{c.file}:{c.line}: {c.text}" for c, _ in failing[:3]),
        before=mine.name, after=bodies.header(found.node), guard=guard(placed, versions),
    )  # fmt: skip


def _replacement(placed: Placed, *, bound: bool) -> Signature | None:
    node = placed.function
    if node is None or placed.descriptor in ("property", "cached_property"):
        return None
    if isinstance(node, ast.Lambda):
        given = parameters(node.args)
        place = Place(source="", file=placed.patch.file, line=placed.patch.line)
        taken = given[1:] if bound and placed.descriptor != "staticmethod" else given
        return Signature(name="lambda", parameters=tuple(taken), place=place)
    if any("wraps" in ast.dump(d) for d in node.decorator_list) and not node.args.kwarg:
        return None
    is_static = placed.descriptor == "staticmethod"
    return signature(node, f"{placed.patch.file}:{node.lineno}", node.name, bound=bound and not is_static)


def _seam(code: str, patch: Patch, found: Found, message: str) -> Seam:
    return Seam(
        code=code, level="review", file=patch.file, line=patch.line, name=patch.target, message=message,
        evidence=(found.place,),
    )  # fmt: skip


def _last(patch: Patch) -> str:
    return ".".join(patch.target.split(".")[-2:])
