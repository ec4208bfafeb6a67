"""Every attack of docs/security.md fails; and it succeeds once its defence is taken away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.security import attacks, writes
from tests.security.attacks import Case, wheel_climbs_out

CASES = (*attacks.CASES, *writes.CASES)


def name(case: Case) -> str:
    return case.attack.__name__


@pytest.mark.parametrize("case", CASES, ids=name)
def test_an_attack_does_no_harm(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert case.attack(tmp_path, monkeypatch) is False


@pytest.mark.parametrize("case", CASES, ids=name)
def test_it_would_without_its_defence(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the attack proves nothing, or the defence is not needed."""
    case.remove(monkeypatch)
    assert case.attack(tmp_path, monkeypatch) is True


def test_a_wheels_member_names_are_no_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Members go into a database under their names; no code here unpacks a wheel."""
    assert wheel_climbs_out(tmp_path, monkeypatch) is False


def test_the_page_names_every_threat_that_is_tested() -> None:
    page = (REPO / "docs/security.md").read_text("utf-8")
    assert {case.threat for case in CASES} == {case.threat for case in CASES if f"| {case.threat} |" in page}
