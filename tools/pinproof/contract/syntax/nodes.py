"""Small questions to syntax trees: dotted names, annotations, statements, absolute imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def defaults(args: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """The parameters that have a default, each with it."""
    plain = [*args.posonlyargs, *args.args]
    yield from zip((a.arg for a in plain[len(plain) - len(args.defaults) :]), args.defaults, strict=True)
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        if default is not None:
            yield arg.arg, default


def lines(data: bytes) -> list[bytes]:
    """The lines of a file as Python counts them: a lone carriage return ends one too, in strings too."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data.split(b"\n")


def dotted(node: ast.AST | None) -> str | None:
    """`a.b.c` for a chain of names, None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def alternatives(node: ast.expr) -> list[ast.expr]:
    """The members of a union annotation, None left out; the annotation itself when it is not a union."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
        try:
            return alternatives(ast.parse(node.value.strip(), mode="eval").body)
        except (SyntaxError, ValueError):
            return []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*alternatives(node.left), *alternatives(node.right)]
    if isinstance(node, ast.Subscript) and dotted(node.value) in ("Union", "typing.Union", "t.Union"):
        return [a for e in getattr(node.slice, "elts", [node.slice]) for a in alternatives(e)]
    return [] if _is_none(node) else [node]


def annotation(node: ast.expr | None) -> str | None:
    """The class an annotation names: `X`, `"X"`, `X | None` and `Optional[X]` are all X."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
        try:
            return annotation(ast.parse(node.value.strip(), mode="eval").body)
        except (SyntaxError, ValueError):
            return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = [side for side in (node.left, node.right) if not _is_none(side)]
        return annotation(sides[0]) if len(sides) == 1 else None
    if isinstance(node, ast.Subscript) and dotted(node.value) in (
        "Optional",
        "typing.Optional",
        "t.Optional",
    ):
        return annotation(node.slice)
    return dotted(node)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement of a body, those in compound statements too, none of nested defs and classes."""
    for item in body:
        yield item
        if not isinstance(item, FunctionNode | ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                inner = getattr(item, name, None)
                if inner:
                    yield from statements(inner)
            for part in (*getattr(item, "handlers", ()), *getattr(item, "cases", ())):
                yield from statements(part.body)


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Every node inside `node`, but nothing inside a def, lambda or class nested in it."""
    stack = list(ast.iter_child_nodes(node))
    while stack:
        child = stack.pop()
        yield child
        if not isinstance(child, FunctionNode | ast.Lambda | ast.ClassDef):
            stack.extend(ast.iter_child_nodes(child))


def absolute(module: str, package: bool, source: str | None, level: int) -> str:
    """The absolute name of the module in `from <level dots><source> import ...` inside `module`."""
    if not level:
        return source or ""
    parts = module.split(".")
    keep = len(parts) - (level - 1 if package else level)
    base = parts[: max(keep, 0)]
    return ".".join([*base, source] if source else base)
