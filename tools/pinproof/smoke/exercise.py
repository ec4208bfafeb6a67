"""Which statements a patch changes, whether a probe exercises them, and which of them were run."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pinproof.errors import Refused
from pinproof.patchset.change import contents_after, text_state
from pinproof.patchset.patchfile import Patch
from pinproof.smoke.probe import Probe
from pinproof.smoke.record import Statement
from pinproof.tree import Tree


def changed_statements(tree: Tree, patch: Patch) -> tuple[Statement, ...]:
    """The statements that a patch changes, on the side that the tree holds.

    Comments, blank lines and files that are not Python hold no statement; a line that the other side has
    and this one lacks stands for the statement around the place.

    Raises:
        Refused: the patch neither stands in the tree nor applies to it.
    """
    state = text_state(tree, patch)
    if state not in ("applied", "applies"):
        raise Refused(
            f"{patch.name} neither stands in {tree.name} nor applies to it",
            hint=f"pinproof verdict {patch.number} {tree.name} says why; --probe NAME alone runs the tree",
        )
    found: list[Statement] = []
    for path, other in contents_after(tree, patch, reverse=state == "applied").items():
        mine = tree.read(path)
        if path.endswith(".py") and mine is not None:
            found += _changed(path, mine, other or b"")
    return tuple(dict.fromkeys(found))


def _changed(path: str, mine: bytes, other: bytes) -> Iterator[Statement]:
    module, before = _parsed(mine), _parsed(other)
    if module is None or (before is not None and ast.dump(module) == ast.dump(before)):
        return
    statements = list(_statements(path, module))
    for line in changed_lines(mine.decode().split("\n"), other.decode(errors="replace").split("\n")):
        around = [part for part in statements if part.first <= line <= part.last]
        if around:
            yield max(around, key=lambda part: (part.first, -part.last))


def _parsed(source: bytes) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def changed_lines(mine: Sequence[str], other: Sequence[str]) -> list[int]:
    """The lines of `mine`, one-based, that differ from `other` in code.

    Where `other` has code that `mine` lacks, the line before the gap.
    """
    found: list[int] = []
    matcher = difflib.SequenceMatcher(None, mine, other, autojunk=False)
    for tag, first, stop, there, end in matcher.get_opcodes():
        if tag == "equal":
            continue
        code = [at + 1 for at in range(first, stop) if _is_code(mine[at])]
        if not code and any(map(_is_code, other[there:end])):
            code = [max(first, 1)]
        found += code
    return found


def _is_code(line: str) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith("#")


def _statements(path: str, node: ast.AST, scope: str = "") -> Iterator[Statement]:
    """Every statement that does something when it is run, with the scope around it."""
    for child in ast.iter_child_nodes(node):
        inner = scope
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner = f"{scope}.{child.name}".strip(".")
        if isinstance(child, ast.stmt) and not _is_text(child):
            yield _statement(path, child, scope)
        yield from _statements(path, child, inner)


def _is_text(node: ast.stmt) -> bool:
    """A docstring, or another constant that stands alone: nothing is run for it."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _statement(path: str, node: ast.stmt, scope: str) -> Statement:
    body = getattr(node, "body", None)
    last = node.end_lineno or node.lineno
    if isinstance(body, list) and body:
        last = max(node.lineno, body[0].lineno - 1)
        calls: tuple[str, ...] = ()
    else:
        calls = tuple(ast.unparse(part.func)[:80] for part in ast.walk(node) if isinstance(part, ast.Call))
    return Statement(path, node.lineno, last, scope, calls)


def exercised_by(probe: Probe, changed: Iterable[Statement]) -> list[Statement]:
    """Those of the statements that lie in one of the probe's call sites."""
    return [part for part in changed if any(site.holds(part.file, part.scope) for site in probe.calls)]


def refuse_unrelated(probe: Probe, patch: Patch, changed: Sequence[Statement]) -> None:
    """Refuse a patch that touches none of the probe's calls: its run would prove nothing for it.

    Raises:
        Refused: always then; the message names what the patch changes and what the probe exercises.
    """
    if exercised_by(probe, changed):
        return
    where = "; ".join(map(str, changed[:3])) or "no Python statement"
    raise Refused(
        f"probe {probe.name} exercises nothing that {patch.name} changes: it changes {where}",
        hint=f"the probe exercises {'; '.join(map(str, probe.calls))}",
    )


def watch_list(statements: Iterable[Statement]) -> dict[str, list[list[int]]]:
    """The line ranges that a child is to watch, by file."""
    watched: dict[str, list[list[int]]] = {}
    for part in statements:
        watched.setdefault(part.file, []).append([part.first, part.last])
    return watched


def were_run(statements: Iterable[Statement], lines: Mapping[str, Iterable[int]]) -> tuple[Statement, ...]:
    """Those of the statements of which a child ran at least one line."""
    seen = {(path, line) for path, numbers in lines.items() for line in numbers}
    return tuple(
        part for part in statements
        if any((part.file, line) in seen for line in range(part.first, part.last + 1))
    )  # fmt: skip
