"""Compile what an import will need, on all cores and ahead of it: a fresh machine has no bytecode.

The import itself compiles one module after the other. Here the modules that the named ones import, and what
these import in turn, are read from the sources and compiled in parallel; nothing is executed.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import os
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path

from .report import Job, run, say

FEWEST_CORES = 4
"""With fewer, the import alone is about as fast."""

Found = tuple[str, str]
"""A module's name and the path of its source."""


@cache
def source_of(name: str) -> str | None:
    """The file that an import of `name` would run, None where there is none; no parent is imported."""
    parent, _, last = name.rpartition(".")
    if not parent:
        folders = sys.path
    else:
        above = source_of(parent)
        folders = [os.path.dirname(above)] if above and above.endswith("__init__.py") else []  # noqa: PTH120
    for folder in folders:
        for path in (f"{folder}/{last}/__init__.py", f"{folder}/{last}.py"):
            if os.path.isfile(path):  # noqa: PTH113  (some ten thousand times)
                return path
    return None


def has_bytecode(path: str) -> bool:
    """Whether Python has compiled this file before."""
    return Path(importlib.util.cache_from_source(path)).is_file()


def compile_module(name: str, path: str) -> list[Found]:
    """Compile one module as an import would; what it imports at its top and is not compiled yet."""
    found: list[Found] = []
    with contextlib.suppress(SyntaxError, OSError, ValueError, RecursionError):
        SourceFileLoader(name, path).get_code(name)
        package = name if path.endswith("__init__.py") else name.rpartition(".")[0]
        for imported in set(imports(ast.parse(Path(path).read_bytes()), package)):
            source = source_of(imported)
            if source is not None and not has_bytecode(source):
                found.append((imported, source))
    return found


def imports(node: ast.AST, package: str) -> Iterator[str]:
    """The absolute names that a module's top level imports; of `from a import b` both a and a.b.

    Functions are left out, since they import later or never, and so is what only a type checker reads.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield from with_parents(alias.name)
        elif isinstance(child, ast.ImportFrom):
            base = absolute(child.module or "", child.level, package)
            yield from with_parents(base)
            yield from (f"{base}.{alias.name}" for alias in child.names if alias.name != "*")
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            for part in child.orelse:
                yield from imports(ast.Module([part], []), package)
        elif (
            isinstance(child, ast.stmt) and not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
        ) or isinstance(child, ast.ExceptHandler):
            yield from imports(child, package)


def with_parents(name: str) -> list[str]:
    """`a.b.c` as a, a.b, a.b.c: an import runs them all."""
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)]


def absolute(name: str, level: int, package: str) -> str:
    """The absolute name of a relative import: one dot is the package itself."""
    if level == 0:
        return name
    base = package.rsplit(".", level - 1)[0] if level > 1 else package
    return f"{base}.{name}" if name else base


def warm(roots: Iterable[str], workers: int) -> int:
    """Compile everything that the roots import and that is not compiled; how many modules that was."""
    seen: set[str] = set()
    pending: set[Future[list[Found]]] = set()
    with ProcessPoolExecutor(workers) as pool:

        def add(found: Iterable[Found]) -> None:
            for name, path in found:
                if path not in seen:
                    seen.add(path)
                    pending.add(pool.submit(compile_module, name, path))

        for root in roots:
            names = [(name, source_of(name)) for name in with_parents(root)]
            add([(name, path) for name, path in names if path])
        while pending:
            done, rest = wait(pending, return_when=FIRST_COMPLETED)
            pending.clear()
            pending.update(rest)
            for future in done:
                add(future.result())
    return len(seen)


def main(job: Job) -> None:
    """Warm up unless it was done before, or the machine has too few cores for it to help."""
    start = time.monotonic()
    cores = len(os.sched_getaffinity(0))
    last = source_of(job["imports"][-1])
    if cores < int(job.get("fewest_cores", FEWEST_CORES)) or last is None or has_bytecode(last):
        say("warm", modules=0, cores=cores)
        return
    modules = warm(job["imports"], cores)
    say("warm", modules=modules, cores=cores, seconds=round(time.monotonic() - start, 1))


if __name__ == "__main__":
    run(main)
