"""The records that this repository carries are sound: sealed, consistent, and about the patch beside them."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest
from pinproof.gate import GATES, GateName
from pinproof.patchset.series import find_patch
from pinproof.submit.store import Store, load_evidence

PATCHES = Path(__file__).resolve().parents[2] / "patches/vllm"
CARRIED = [
    (folder.name, gate)
    for folder in sorted((PATCHES / "evidence").iterdir())
    for gate in GATES
    if (folder / f"{gate}.json").is_file()
]


@pytest.mark.parametrize(("patch", "gate"), CARRIED)
def test_a_carried_record_can_be_read_and_names_no_machine(patch: str, gate: GateName) -> None:
    store, found = Store(PATCHES / "evidence"), find_patch(patch, PATCHES)
    made = load_evidence(store, found, gate, datetime.now(timezone.utc))
    assert made is not None
    assert made.keys.patch == found.name
    text = store.path(found, gate).read_text()
    assert not [place for place in ("/tmp/", "/root/", "/home/") if place in text]


def test_the_first_patch_carries_what_was_run_for_it() -> None:
    gates = {gate for patch, gate in CARRIED if patch.startswith("0001-")}
    assert {"contract", "compile", "pre-commit", "smoke"} <= gates
