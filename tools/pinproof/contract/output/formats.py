"""A contract run in each form that a machine reads, and the files that one run writes beside its output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from pinproof.console import json_text
from pinproof.contract.model import Report
from pinproof.contract.output import gitlab, jobsummary, junit, render, sarif
from pinproof.contract.output.findings import Finding
from pinproof.errors import InputError

Form = Callable[[Report, Sequence[Finding]], str]


SCHEMA = "pinproof.contract/1"
FORMS: dict[str, Form] = {
    "json": lambda report, found: json_text(
        {"schema": "pinproof.contract/1", **render.machine(report, found)}
    ),
    "sarif": lambda _, found: json_text(sarif.log(found)),
    "github": lambda _, found: "".join(f"{line}\n" for line in render.github(found)),
    "gitlab": lambda _, found: json_text(gitlab.report(found)),
    "junit": junit.document,
    "markdown": jobsummary.document,
}


def wanted_files(given: Sequence[str]) -> list[tuple[str, Path]]:
    """`FORMAT=FILE` options as pairs.

    Raises:
        InputError: one is no such pair, or names no format.
    """
    pairs: list[tuple[str, Path]] = []
    for item in given:
        form, _, name = item.partition("=")
        if form not in FORMS or not name:
            raise InputError(
                f"--output {item!r}: write FORMAT=FILE", hint=f"FORMAT is one of {', '.join(FORMS)}"
            )
        pairs.append((form, Path(name)))
    return pairs


def known_ids(baseline: Path) -> frozenset[str]:
    """The ids of the findings of an earlier run's JSON.

    Raises:
        InputError: the file is not there, or is no such JSON.
    """
    try:
        earlier = msgspec.json.decode(baseline.read_bytes(), type=_Baseline)
    except (OSError, msgspec.DecodeError) as error:
        raise InputError(
            f"--baseline {baseline} cannot be read ({error})",
            hint="make it: pinproof contract TREE --json > FILE",
        ) from error
    return frozenset(finding.id for finding in earlier.findings)


class _Known(msgspec.Struct):
    id: str


class _Baseline(msgspec.Struct):
    schema: str
    findings: list[_Known]

    def __post_init__(self) -> None:
        if not self.schema.startswith("pinproof.contract/"):
            raise ValueError(f"schema {self.schema!r} is not pinproof.contract")
