"""A record's outcome must follow from its own details: a claimed pass over a recorded failure is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pinproof.errors import InputError
from pinproof.gate import GateName
from pinproof.submit.records import EvidenceRecord

Details = dict[str, Any]


def check_outcome(record: EvidenceRecord) -> None:
    """Hold a record's outcome against what its details say.

    Raises:
        InputError: they contradict each other, or a skip or error gives no reason.
    """
    if record.outcome in ("skip", "error", "not-run"):
        if not (record.reason or "").strip():
            raise _refused(record, f"says {record.outcome} and gives no reason")
        return
    try:
        fault = _FAULTS[record.gate](record.details)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise _refused(record, f"its details are not those of this gate ({error!r})") from error
    if record.outcome == "pass" and fault is not None:
        raise _refused(record, f"says pass, but {fault}")
    if record.outcome == "fail" and fault is None:
        raise _refused(record, "says fail, but its details show no failure")


def _refused(record: EvidenceRecord, what: str) -> InputError:
    return InputError(f"the {record.gate} record {what}", hint=f"run the {record.gate} gate again")


def _compile(details: Details) -> str | None:
    faults, files, checked = details["faults"], details["files"], details["checked"]
    if faults:
        return f"{len(faults)} files do not compile"
    return "nothing was compiled" if files and not checked else None


_FAULTS: dict[GateName, Callable[[Details], str | None]] = {"compile": _compile}
