"""Make a history: a column a release, read in several processes and remembered by the wheel's hash."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from pinproof import stamp
from pinproof.errors import InputError, PinproofError
from pinproof.history.lookup import library_of, near, watched_for
from pinproof.history.model import Column, History
from pinproof.history.story import rows
from pinproof.patchset.contracts import contracts_of
from pinproof.patchset.patchfile import Patch
from pinproof.progress import progress
from pinproof.releases import release_tree
from pinproof.remember import keep, place, recall

# What an open range allows is asked again after a day, as the contract gate does.
_OPEN_RANGE_S = 86_400.0
_MOST_PROCESSES = 4


class Wanted(NamedTuple):
    """One column to read: a release, and a patch to take out of it."""

    project: str
    version: str
    without: Patch | None = None


def history(callee: str, wanted: Sequence[Wanted]) -> History:
    """The history of a callee.

    Args:
        callee: its full name in the library, e.g. `deep_gemm.fp8_fp4_mega_moe`.
        wanted: the columns, oldest first.

    Raises:
        InputError: no watched library has this name, or none of the releases declares or calls it.
    """
    watched = watched_for(callee)
    columns = tuple(_columns(callee, wanted))
    if all(column.read and not column.parameters and not column.callers for column in columns):
        raise _unknown(callee, wanted[-1], columns[-1])
    return History(
        callee=callee, library=watched.name, project=wanted[0].project, rows=rows(columns), columns=columns
    )


def wanted(project: str, versions: Iterable[str], patches: Iterable[Patch], callee: str) -> list[Wanted]:
    """The columns to read: every release, and one that took a patch in also without it, just before.

    Only a patch whose Contract names the callee adds a column: it shows what the fix was for.
    """
    mine = [p for p in patches if any(contract.callee == callee for contract in contracts_of(p))]
    fixed_in = {(patch.field("Applied-Upstream") or "").removeprefix("v"): patch for patch in mine}
    found: list[Wanted] = []
    for version in versions:
        if version in fixed_in:
            found.append(Wanted(project, version, fixed_in[version]))
        found.append(Wanted(project, version))
    return found


def _unknown(callee: str, last: Wanted, column: Column) -> InputError:
    library, _ = library_of(release_tree(last.project, last.version), watched_for(callee))
    close = near(library, callee) if library is not None else ()
    return InputError(
        f"none of these releases declares or calls {callee}",
        hint=f"did you mean {' or '.join(close)}?" if close else column.missing,
    )


def _columns(callee: str, wanted: Sequence[Wanted]) -> list[Column]:
    found: dict[int, Column] = {}
    places = [_place(callee, one) for one in wanted]
    for index, path in enumerate(places):
        kept = recall(path, Column, fresh=_fresh) if path is not None else None
        if kept is not None:
            found[index] = kept
    missing = [index for index in range(len(wanted)) if index not in found]
    with progress(f"reading {callee}", len(wanted), unit="releases") as bar:
        bar.advance(len(found))
        for index, column in _read_all(callee, wanted, missing):
            bar.advance()
            found[index] = column
            path = places[index]
            if path is not None and column.read and column.library:
                keep(path, column)
    return [found[index] for index in range(len(wanted))]


def _read_all(callee: str, wanted: Sequence[Wanted], indices: Sequence[int]) -> Iterable[tuple[int, Column]]:
    """The columns as they become ready; several processes where there is more than one to read."""
    workers = min(len(indices), os.cpu_count() or 1, _MOST_PROCESSES)
    if workers < 2:
        yield from ((index, _read(callee, wanted[index])) for index in indices)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool

    left = set(indices)
    with (
        contextlib.suppress(BrokenProcessPool),
        ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool,
    ):
        running = {pool.submit(_read, callee, wanted[index]): index for index in indices}
        for done in as_completed(running):
            column = done.result()
            left.discard(running[done])
            yield running[done], column
    # A helper process that was killed (memory) costs time, not the answer.
    yield from ((index, _read(callee, wanted[index])) for index in sorted(left))


def _read(callee: str, one: Wanted) -> Column:
    from pinproof.history.read import read_column, unread

    try:
        return read_column(release_tree(one.project, one.version), callee, one.without)
    except PinproofError as error:
        return unread(f"{one.project}=={one.version}", one.without, error)


def _place(callee: str, one: Wanted) -> Path | None:
    """Where a column is remembered; None when the release's wheel is not known."""
    try:
        wheel = getattr(release_tree(one.project, one.version).files, "sha256", None)
    except PinproofError:
        return None
    patch = one.without.sha256 if one.without else ""
    code = stamp.content("contract", "history", "patchset")
    return place("history", code, callee, f"{one.project}=={one.version}", str(wheel), patch)


def _fresh(column: Column) -> float | None:
    return None if column.settled else _OPEN_RANGE_S
