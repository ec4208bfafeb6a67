"""Tests for a platform, told by what they resolve to: modules and attributes of the watch list."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from pinproof.contract.codebase.codebase import Codebase
from pinproof.contract.evaluation.position import Position
from pinproof.contract.syntax.scopes import Scope
from pinproof.contract.watch.watchlist import platforms


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    own = "|".join(map(re.escape, platforms().own))
    other = "|".join(map(re.escape, (*platforms().other, *platforms().other_tests)))
    ask = r"_*(?:is|on|use|has)_"
    # `use_intel_xpu_backend`, `is_cpu_amx_available`; not `is_not_npu`.
    what = rf"(?:[a-z0-9]+_)?(?:{other})(?:_amx)?(?:_(?:available|platform|backend|runtime))?"
    elsewhere = rf"{ask}(?!not_|non_|no_){what}"
    return re.compile(rf"{ask}(?:{own})", re.I), re.compile(elsewhere, re.I)


def words(name: str) -> set[str]:
    """The words of an identifier: `XPUWorker` and `xpu_worker` are both xpu and worker."""
    return {w.lower() for w in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)}


def named(name: str) -> str | None:
    """The other platform that an identifier speaks of."""
    return min(words(name).intersection(platforms().other), default=None)


def is_plugin(codebase: Codebase) -> bool:
    """Whether the tree is made for another platform: then no platform test says where its code runs."""
    return any(named(package) for package in codebase.packages)


def answer(path: str) -> bool | None:
    """Whether `vllm.platforms.current_platform.is_rocm`, by its full name, holds on the watched platform."""
    if path in platforms().present:
        return True
    if path in platforms().missing:
        return False
    module, _, last = path.rpartition(".")
    if not any(part in platforms().modules for part in _parents(module)):
        return None
    own, other = _patterns()
    if own.fullmatch(last):
        return True
    return False if other.fullmatch(last) else None


def _parents(module: str) -> list[str]:
    """A module's name, those of the packages around it, and each with the top package left open."""
    parts = module.split(".")
    whole = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
    return [*whole, *(".".join(("*", *parts[1:end])) for end in range(2, len(parts) + 1))]


def origin(node: ast.expr, at: Position) -> str | None:
    """The full name that the imports of a file give `current_platform.is_rocm`; None when it is no import."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Call) and not node.args and not node.keywords:
        inner = origin(node.func, at)
        return ".".join((inner, *reversed(parts))) if inner else None
    if not isinstance(node, ast.Name):
        return None
    scope: Scope | None = at.scope
    while scope is not None and node.id not in scope.bindings:
        scope = scope.parent
    for binding in scope.bindings[node.id] if scope is not None else ():
        alias = binding.extra
        if not isinstance(alias, ast.alias):
            return None
        base = alias.name if alias.asname or binding.kind == "from" else alias.name.split(".")[0]
        if isinstance(binding.node, ast.ImportFrom):
            assert scope is not None
            base = f"{scope.file.absolute(binding.node.module, binding.node.level)}.{alias.name}"
        return ".".join((base, *reversed(parts)))
    return None
