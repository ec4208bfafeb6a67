"""Check one file: find its sites, judge each once."""

from __future__ import annotations

from collections.abc import Iterator

from pinproof.contract.codebase.relevant import Relevant
from pinproof.contract.evaluation.evaluator import Evaluator
from pinproof.contract.judging import sites as calls
from pinproof.contract.judging.judge import judge
from pinproof.contract.model import CallCheck


def check_whole(evaluator: Evaluator, path: str) -> list[CallCheck]:
    """The checks of one file; a file that breaks the gate is named as not read, and the others go on."""
    try:
        return list(check_file(evaluator, path, None))
    except Exception as error:
        evaluator.codebase.unread[path] = f"internal error: {type(error).__name__}"
        return []


def check_file(evaluator: Evaluator, path: str, callee: str | None) -> Iterator[CallCheck]:
    """The checks of one file; only those of `callee` when that is given."""
    codebase = evaluator.codebase
    name = callee.rsplit(".", 1)[-1] if callee else None
    if name is not None and name.encode() not in (codebase.tree.read(path) or b""):
        return
    file = codebase.file(path)
    if file is None:
        return
    seen: set[tuple[int, int, str]] = set()
    for site in calls.sites(evaluator, Relevant(file, [name]) if name else evaluator.relevant(file)):
        for check in judge(evaluator, site):
            key = (check.line, check.col, check.callee)
            if key not in seen and (callee is None or check.callee == callee):
                seen.add(key)
                yield check
