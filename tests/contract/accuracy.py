"""The accuracy harness: run the gate on recorded cases and say for each whether it found what is there.

    python -m tests.contract.accuracy [--only TEXT] [--within SECONDS] [--json]

tests/data/contract/cases.json holds facts only: an engine and a library release, file, line, callee,
names, and what is to be said. Defects are counted as distinct (engine, library, callee), traps one by one.
`--within` stops before the first case that would begin after so many seconds; it says how many were left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import msgspec
from pinproof.contract.check import check_tree
from pinproof.contract.model import CallCheck, Report
from pinproof.errors import PinproofError
from pinproof.releases import release_tree

CASES = Path(__file__).parent.parent / "data/contract/cases.json"
# A call's line is where it opens; a case may name the line of the argument.
NEAR = 6
TRAP = "not-a-bug"


class Case(msgspec.Struct, frozen=True):
    """One recorded fact; `verdict` is a drift kind, or not-a-bug for a trap."""

    id: str
    engine: str
    version: str
    library: str
    spec: str
    file: str
    line: int
    callee: str
    names: tuple[str, ...]
    verdict: str


class Outcome(msgspec.Struct, frozen=True):
    """What became of one case: `right`, and why not."""

    case: Case
    right: bool
    why: str = ""


def cases(only: str = "") -> list[Case]:
    """The recorded cases whose id holds `only`."""
    return [c for c in msgspec.json.decode(CASES.read_bytes(), type=list[Case]) if only in c.id]


def outcomes(wanted: list[Case], within: float | None = None) -> Iterator[Outcome]:
    """Run the gate once for each engine and library release, on the files that the cases name."""
    start = time.monotonic()
    for _, group in groupby(sorted(wanted, key=_release), key=_release):
        if within is not None and time.monotonic() - start > within:
            return
        together = list(group)
        first = together[0]
        try:
            tree = release_tree(first.engine, first.version)
            files = sorted({c.file for c in together})
            report = check_tree(tree, libraries={first.library: first.spec}, files=files)
        except PinproofError as error:
            yield from (Outcome(c, False, error.message) for c in together)
            continue
        yield from (_judge(c, report) for c in together)


def _release(case: Case) -> tuple[str, ...]:
    return (case.engine, case.version, case.library, case.spec)


def _judge(case: Case, report: Report) -> Outcome:
    near = [c for c in report.calls if c.file == case.file and abs(c.line - case.line) <= NEAR]
    failing = [c for c in near if c.failing]
    if case.verdict == TRAP:
        return Outcome(case, not failing, "" if not failing else f"reported {failing[0].callee}")
    kinds = {drift.kind for call in failing for drift in call.drifts}
    return Outcome(case, case.verdict in kinds, _why(case, near, report))


def _why(case: Case, near: list[CallCheck], report: Report) -> str:
    for unchecked in report.unchecked:
        if unchecked.library == case.library:
            return unchecked.reason
    for call in near:
        if call.open or call.guard:
            return call.open or f"guarded by {call.guard}"
    return "the call is not followed to the library"


def score(found: list[Outcome]) -> tuple[int, int, int, int]:
    """Distinct defects found, distinct defects, silent traps, traps."""
    defects = {(o.case.engine, o.case.library, o.case.callee): False for o in found if o.case.verdict != TRAP}
    for outcome in found:
        if outcome.case.verdict != TRAP and outcome.right:
            defects[outcome.case.engine, outcome.case.library, outcome.case.callee] = True
    traps = [o for o in found if o.case.verdict == TRAP]
    return sum(defects.values()), len(defects), sum(o.right for o in traps), len(traps)


def main() -> int:
    """Run the cases and print each miss and the score."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="")
    parser.add_argument("--within", type=float)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    wanted = cases(args.only)
    found = []
    for outcome in outcomes(wanted, args.within):
        found.append(outcome)
        mark = "ok  " if outcome.right else "MISS"
        why = "" if outcome.right else f": {outcome.why}"
        print(f"{mark} {outcome.case.id} {outcome.case.verdict}{why}", file=sys.stderr, flush=True)
    hit, defects, silent, traps = score(found)
    if args.json:
        print(json.dumps([msgspec.to_builtins(o) for o in found]))
    print(f"{sum(o.right for o in found)} of {len(found)} cases; distinct defects {hit} of {defects}; "
          f"traps silent {silent} of {traps}; left out {len(wanted) - len(found)}")  # fmt: skip
    return 0 if all(o.right for o in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
