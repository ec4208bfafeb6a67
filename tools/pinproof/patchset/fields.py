"""The header fields of a patch: which there are, what each may say, and what is wrong with one.

The form follows DEP-3 (Debian's patch tagging guidelines) and the closed list of Upstream-Status values
that Yocto requires.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator

from pinproof.errors import InputError
from pinproof.patchset.contracts import FORM, contracts_of, no_contract
from pinproof.patchset.patchfile import Patch

_URL = re.compile(r"https://[^\s<>\"]{4,300}")
_STATUS = re.compile(
    r"Pending|Submitted \[(https://[^\s\]]+)\]|Backport \[([^\]]+)\]|Denied \[([^\]]+)\]"
    r"|Inactive-Upstream \[([^\]]+)\]|Inappropriate \[([^\]]+)\]"
)
_VERSION = re.compile(r"v\d+\.\d+(\.\d+)?(rc\d+|\.post\d+)?")


def _origin(value: str) -> str | None:
    kind, _, rest = value.partition(", ")
    if kind in ("upstream", "backport", "vendor", "other") and _URL.fullmatch(rest):
        return None
    return "must be `upstream, URL` (or `backport, URL`, `vendor, URL`, `other, URL`)"


def _status(value: str) -> str | None:
    if _STATUS.fullmatch(value):
        return None
    return (
        "must be Pending, Submitted [url], Backport [version], Denied [why], "
        "Inactive-Upstream [when] or Inappropriate [why]"
    )


def _version(value: str) -> str | None:
    return None if _VERSION.fullmatch(value) else "must be a release such as v0.28.0"


def _date(value: str) -> str | None:
    try:
        datetime.date.fromisoformat(value)
    except ValueError:
        return "must be a date, YYYY-MM-DD"
    return None if re.fullmatch(r"\d{4}-\d{2}-\d{2}", value) else "must be a date, YYYY-MM-DD"


def _affects(value: str) -> str | None:
    if re.fullmatch(r"[A-Za-z][\w.-]* \S+( .*)?", value):
        return None
    return "must be `LIBRARY VERSION-OR-COMMIT`"


def _text(value: str) -> str | None:
    return None if len(value) >= 8 else "must say it in words"


def _probe(value: str) -> str | None:
    if re.fullmatch(r"[a-z][a-z0-9_]{1,60}", value):
        return None
    return "must be a probe's name (pinproof smoke --list-probes)"


# field -> (required, may stand more than once, what is wrong with a value)
FIELDS: dict[str, tuple[bool, bool, Callable[[str], str | None]]] = {
    "Origin": (True, False, _origin),
    "Upstream-Status": (True, False, _status),
    "Applied-Upstream": (False, False, _version),
    "Contract": (False, True, lambda value: None),
    "Affects": (True, True, _affects),
    "Probe": (False, False, _probe),
    "Remove-When": (True, False, _text),
    "Last-Update": (True, False, _date),
}


def field_problems(patch: Patch) -> Iterator[str]:
    """Everything wrong with a patch's header, one sentence each.

    Args:
        patch: a parsed patch.

    Yields:
        Missing, unknown, doubled and malformed fields; a missing reason; fields that contradict.
    """
    for line in patch.problems:
        yield f"{line[:60]!r} stands among the fields but is none (one field a line)"
    for name, values in patch.fields.items():
        if name not in FIELDS:
            yield f"unknown field {name}: (known: {', '.join(FIELDS)})"
            continue
        _, many, wrong = FIELDS[name]
        if len(values) > 1 and not many:
            yield f"{name}: stands {len(values)} times"
        for value in values:
            if problem := (wrong(value) if value else "is empty"):
                yield f"{name}: {problem}; found {value!r}"
    for name, (required, _, _) in FIELDS.items():
        if required and name not in patch.fields:
            yield f"{name}: is missing" + (" (say when the patch goes away)" if name == "Remove-When" else "")
    yield from _cross_problems(patch)


def _cross_problems(patch: Patch) -> Iterator[str]:
    if len(patch.prose.split()) < 8:
        yield "gives no reason: say in the message what broke and why this fixes it"
    status = patch.field("Upstream-Status") or ""
    backport = re.fullmatch(r"Backport \[([^\]]+)\]", status)
    applied = patch.field("Applied-Upstream")
    if backport and not applied:
        yield "Applied-Upstream: is missing although Upstream-Status says Backport"
    if backport and applied and applied != backport[1]:
        yield f"Applied-Upstream: says {applied}, Upstream-Status says {backport[1]}"
    try:
        contracts = contracts_of(patch)
    except InputError as error:
        yield error.message.split(": ", 1)[1]
        return
    if not contracts and no_contract(patch) is None:
        yield f"Contract: is missing (`{FORM}`)"
    for contract in contracts:
        if contract.file not in patch.paths():
            yield f"Contract: {contract.file} is not touched by the patch"
