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
        if fault is None and record.gate == "smoke":
            fault = _ran_without(record)
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


def _contract(details: Details) -> str | None:
    before, after = details["before"], details["after"]
    calls = after["calls"]
    failing = [call for call in calls if call["drifts"] and call["guard"] is None]
    if failing:
        return f"{len(failing)} calls still fail with the patch"
    if after["verdict"] != "applied":
        return f"the verdict with the patch is {after['verdict']}"
    if before["verdict"] != "needed":
        return f"the verdict without the patch is {before['verdict']}"
    if after.get("basis") == "text" or not calls:
        return "no call was looked at"
    if after.get("basis") and details["witness"]["outcome"] == "fail":
        return f"its witness says {details['witness']['summary']}"
    undecided = [call for call in calls if call["open"] is not None]
    return f"{len(undecided)} calls were not decided" if undecided else None


def _duplicates(details: Details) -> str | None:
    """What stands against the patch: an open same change always; another same one without a reason."""
    for hit in details["hits"]:
        same = hit["verdict"].startswith("same")
        open_same = hit["verdict"] == "same change" and hit["state"] == "open"
        excused = hit["because"] or (hit["declared"] and hit["state"] == "merged")
        if open_same or (same and not excused):
            return f"#{hit['number']} is the {hit['verdict']}"
    return "the scan did not see everything" if details["gaps"] else None


def _precommit(details: Details) -> str | None:
    hooks = details["hooks"]
    for outcome, words in (("fail", "failed"), ("not-run", "could not be run")):
        named = [hook["hook"] for hook in hooks if hook["outcome"] == outcome]
        if named:
            return f"{', '.join(named)} {words}"
    return None if any(hook["outcome"] == "pass" for hook in hooks) else "no hook ran"


def _smoke(details: Details) -> str | None:
    """A rung that failed or did not pass although it was needed; a run past the patch's own statements."""
    rungs = details["rungs"]
    for rung in rungs:
        if rung["outcome"] in ("fail", "error"):
            return f"the {rung['rung']} rung says {rung['outcome']}: {rung['summary']}"
    asked = "bind" if details["asked"] == "auto" else details["asked"]
    needed = next((rung for rung in rungs if rung["rung"] == asked), rungs[-1])
    if needed["outcome"] != "pass":
        return f"the {needed['rung']} rung says {needed['outcome']}"
    if details["patch"] is not None and not details["exercised"]:
        return "it went through no statement that the patch changes"
    return None if details["reached"] else "no rung passed"


def _ran_without(record: EvidenceRecord) -> str | None:
    """Smoke runs a tree as it lies there: a run of the unpatched files proves nothing for the patch."""
    ran = record.details["files"]
    for file in record.keys.files:
        if file.after is not None and ran.get(file.path) != file.after:
            return f"it ran {file.path} without the patch"
    return None


_FAULTS: dict[GateName, Callable[[Details], str | None]] = {
    "contract": _contract, "compile": _compile, "duplicates": _duplicates,
    "pre-commit": _precommit, "smoke": _smoke,
}  # fmt: skip
