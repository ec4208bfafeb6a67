"""What a probe is: the calls that it exercises and how each rung is run for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinproof.smoke.record import Rung, RungResult

if TYPE_CHECKING:
    from pinproof.smoke.session import Session

RungRunner = Callable[["Session", Sequence[RungResult]], RungResult]
"""Runs one rung, given the session and the results of the rungs below it."""


@dataclass(frozen=True)
class CallSite:
    """A function of the tree whose calls a probe runs for real.

    Attributes:
        file: its path in the tree.
        scope: its dotted name inside the file, as in `KimiK3MegaMoEExperts.forward`.
        callee: what it calls, for people.
    """

    file: str
    scope: str
    callee: str

    def holds(self, file: str, scope: str) -> bool:
        """Whether a statement in `scope` of `file` belongs to this site; nested functions do."""
        return file == self.file and f"{scope}.".startswith(f"{self.scope}.")

    def __str__(self) -> str:
        return f"{self.callee} in {self.file} {self.scope}"


@dataclass(frozen=True)
class Probe:
    """A harness for some calls of the tree.

    Attributes:
        name: as in `Probe: NAME` in a patch's header; its folder under smoke/probes/.
        about: one line for people.
        calls: the call sites that its run passes through, over all releases it covers.
        rungs: how each rung is run; a rung that is not here does not exist for this probe.
        imports: the modules that its children import, for compiling them ahead.
        numerics_on: the major compute capability without which rung kernel compares no numbers of the
            kernel itself; None where any CUDA GPU will do.
    """

    name: str
    about: str
    calls: tuple[CallSite, ...]
    rungs: Mapping[Rung, RungRunner]
    imports: tuple[str, ...]
    numerics_on: int | None = None
