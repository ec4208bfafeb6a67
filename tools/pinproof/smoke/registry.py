"""Which probes are shipped; a patch names one in its header (`Probe: NAME`)."""

from __future__ import annotations

import importlib
from functools import lru_cache
from pathlib import Path

from pinproof.errors import InputError
from pinproof.smoke.probe import Probe


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """The shipped probes, sorted."""
    return tuple(sorted(path.parent.name for path in Path(__file__).parent.glob("probes/*/probe.py")))


def load(name: str) -> Probe:
    """The probe of this name.

    Raises:
        InputError: there is none. A name comes out of a patch's header, so only shipped ones are imported.
    """
    if name not in names():
        raise InputError(f"there is no probe {name[:60]!r}", hint=f"one of: {', '.join(names())}")
    probe = importlib.import_module(f"pinproof.smoke.probes.{name}.probe").PROBE
    assert isinstance(probe, Probe)
    return probe
