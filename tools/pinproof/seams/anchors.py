"""Find the texts by which a plugin rewrites its engine's source, and whether they are still there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import msgspec

from pinproof.seams.code import Code, FunctionNode, Module, World
from pinproof.seams.model import Seam
from pinproof.seams.names import Names, Scope, expressions, own
from pinproof.seams.targets import is_test

# Shorter than this, a text is a marker or a name and no anchor in source.
_SHORTEST = 12
_FILE = re.compile(r"[\w/.-]+\.py")


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    """A text that a plugin looks for in a file of its engine, to put another in its place.

    Attributes:
        file, line: where the plugin replaces it.
        path: the engine's file, from its root.
        old: the text that is looked for.
        new: what replaces it, where that is written as plain text.
    """

    file: str
    line: int
    path: str
    old: str
    new: str | None = None


def anchors(world: World) -> list[Anchor]:
    """Every `content.replace(old, new)` in a function that names one of the engine's files."""
    found: list[Anchor] = []
    for name in sorted(world.plugin.names()):
        data = world.plugin.data(name)
        if b".replace(" in data and b".py" in data and not is_test(name):
            module = world.plugin.module(name)
            if module is not None:
                found += _in_module(world.engine, module)
    return found


def _in_module(engine: Code, module: Module) -> Iterator[Anchor]:
    names = Names(module)
    for scope in names.scopes():
        if not isinstance(scope.node, FunctionNode):
            continue
        paths = list(_paths(engine, scope.node))
        for item in own(scope.node.body) if paths else ():
            for node in expressions(item):
                old, new = _replaced(names, scope, node)
                for text in old:
                    if len(text) >= _SHORTEST:
                        yield Anchor(
                            file=module.path,
                            line=getattr(node, "lineno", 0),
                            path=paths[0],
                            old=text,
                            new=new,
                        )


def _paths(engine: Code, function: FunctionNode) -> Iterator[str]:
    """The engine's files that a function names, as a path from the engine's package or its root."""
    for node in ast.walk(function):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _FILE.fullmatch(node.value):
            text = node.value.lstrip("/")
            for package in engine.packages:
                path = text if text.startswith(package + "/") else f"{package}/{text}"
                if engine.read(path) is not None or _is_inside(engine, path):
                    yield path


def _is_inside(engine: Code, path: str) -> bool:
    """Whether a file that is not there would lie in a folder of the engine; else it is another package's."""
    folders = path.split("/")[:-1]
    return len(folders) > 1 and next(iter(engine.folder("/".join(folders[:2]))), None) is not None


def _replaced(names: Names, scope: Scope, node: ast.AST) -> tuple[list[str], str | None]:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) >= 2):
        return [], None
    if node.func.attr != "replace":
        return [], None
    new = names.strings(node.args[1], scope)
    return names.strings(node.args[0], scope), new[0] if len(new) == 1 else None


def judge(world: World, anchor: Anchor) -> Seam | None:
    """The finding that an anchor is not in the engine's file, or that what it puts in is there already."""
    data = world.engine.read(anchor.path)
    text = (data or b"").decode(errors="replace")
    first = next((line.strip() for line in anchor.old.splitlines() if line.strip()), "")[:70]
    if data is not None and anchor.new is not None and anchor.new in text:
        return Seam(
            code="KC404", level="review", file=anchor.file, line=anchor.line, name=anchor.path,
            message=f"{world.engine.label} has in {anchor.path} what this rewrite puts in",
        )  # fmt: skip
    if anchor.old in text:
        return None
    why = f"there is no {anchor.path}" if data is None else f"{anchor.path} has no such text"
    return Seam(
        code="KC406", level="error", file=anchor.file, line=anchor.line, name=anchor.path,
        message=f"the text that this rewrite looks for is gone: {why} in {world.engine.label} ({first!r})",
    )  # fmt: skip
