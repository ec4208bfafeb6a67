from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest
from pinproof.errors import Refused
from pinproof.gate import Outcome
from pinproof.patchset.patchfile import Patch
from pinproof.paths import cache_dir, file_lock
from pinproof.smoke import ladder
from pinproof.smoke.record import Rung, RungResult, SmokeRecord, sha256
from pinproof.smoke.session import Session
from pinproof.tree import Tree, open_tree


def done(rung: Rung, outcome: Outcome, **details: object) -> RungResult:
    return RungResult(rung=rung, outcome=outcome, summary=f"{rung} {outcome}", reason="why", details=details)


@pytest.mark.parametrize(
    ("results", "outcome"),
    [
        (
            [done("bind", "pass"), done("compile", "pass"), done("kernel", "skip"), done("model", "skip")],
            "pass",
        ),
        (
            [done("bind", "pass"), done("compile", "skip"), done("kernel", "pass"), done("model", "pass")],
            "pass",
        ),
        (
            [done("bind", "skip"), done("compile", "pass"), done("kernel", "pass"), done("model", "pass")],
            "skip",
        ),
        ([done("bind", "fail"), done("compile", "not-run")], "fail"),
        ([done("bind", "pass"), done("kernel", "error")], "error"),
    ],
    ids=["no GPU", "no nvcc", "no packages", "broken", "fault"],
)
def test_auto_passes_when_bind_passed_and_nothing_failed(results: list[RungResult], outcome: Outcome) -> None:
    assert ladder.overall("auto", tuple(results)) == outcome


@pytest.mark.parametrize("outcome", ["pass", "skip", "fail", "error"])
def test_a_rung_asked_for_by_name_decides_alone(outcome: Outcome) -> None:
    assert ladder.overall("kernel", (done("kernel", outcome),)) == outcome


def test_how_far_it_got_is_the_highest_rung_that_passed() -> None:
    assert (
        ladder.reached((done("bind", "pass"), done("compile", "pass"), done("kernel", "skip"))) == "compile"
    )
    assert ladder.reached((done("bind", "fail"),)) is None


def test_sm100_numerics_are_run_only_where_the_kernel_ran_on_sm100() -> None:
    refused = done("kernel", "pass", verdict="contract holds, kernel refused this architecture")
    assert ladder.sm100_numerics((refused,)) == "not run"
    assert ladder.sm100_numerics((done("kernel", "pass", verdict="ran", capability=[12, 0]),)) == "not run"
    assert ladder.sm100_numerics((done("kernel", "pass", verdict="ran", capability=[10, 3]),)) == "pass"
    assert ladder.sm100_numerics((done("kernel", "fail", verdict="ran", capability=[10, 0]),)) == "fail"


def test_the_twin_has_the_patch_the_other_way_round(broken_tree: Path, patch: Patch) -> None:
    path = patch.diffs[0].path
    broken = open_tree(broken_tree)
    fixed = ladder.twin_of(broken, patch)
    assert fixed is not None
    assert b"situ_beta=self.activation_beta" in (fixed.read(path) or b"")
    back = ladder.twin_of(fixed, patch)
    assert back is not None
    assert back.read(path) == broken.read(path)


def test_without_a_patch_or_where_it_does_not_apply_there_is_no_twin(tmp_path: Path, patch: Patch) -> None:
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm/__init__.py").touch()
    assert ladder.twin_of(open_tree(tmp_path), patch) is None
    assert ladder.twin_of(open_tree(tmp_path), None) is None


def test_a_failing_rung_stops_the_climb(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, broken_tree: Path
) -> None:
    monkeypatch.setattr(ladder, "run_bind", lambda session: done("bind", "fail"))
    session = Session(open_tree(broken_tree), "python3", tmp_path, 1, {})
    results = ladder.climb(session, "auto")
    assert [r.outcome for r in results] == ["fail", "not-run", "not-run", "not-run"]


def test_compile_gets_the_scales_that_the_call_delivered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, broken_tree: Path
) -> None:
    seen: list[dict[str, float]] = []

    def compile_rung(tree: Tree, base: Path, scales: dict[str, float]) -> RungResult:
        seen.append(scales)
        return done("compile", "fail")

    values = {"situ_beta": 1.75, "situ_linear_beta": 6.5, "activation": "situ", "fast_math": True}
    monkeypatch.setattr(ladder, "run_bind", lambda session: done("bind", "pass", values=values))
    monkeypatch.setattr(ladder, "run_compile", compile_rung)
    ladder.climb(Session(open_tree(broken_tree), "python3", tmp_path, 1, {}), "auto")
    assert seen == [{"situ_beta": 1.75, "situ_linear_beta": 6.5}]


def test_an_interpreter_without_torch_is_a_skip_and_the_record_says_what_was_there(
    broken_tree: Path, patch: Patch
) -> None:
    gate = ladder.smoke_gate(open_tree(broken_tree), sys.executable, "bind", patch=patch)
    assert gate.outcome == "skip"
    assert gate.clear == "PYTHON -m pip install torch"
    assert "SM100 numerics: not run" in gate.summary
    record = msgspec.convert(gate.details, SmokeRecord)
    assert record.patch == {"name": patch.name, "sha256": sha256(patch.raw)}
    assert record.files[patch.diffs[0].path] == sha256((broken_tree / patch.diffs[0].path).read_bytes())
    assert record.versions["torch"] is None
    assert record.gpu is None
    assert str(broken_tree) not in msgspec.json.encode(gate).decode()


def test_the_tree_is_left_as_it_was(broken_git_tree: Path, patch: Patch) -> None:
    import subprocess

    ladder.smoke_gate(open_tree(broken_git_tree), sys.executable, "bind", patch=patch)
    status = subprocess.run(
        ["git", "status", "--porcelain", "--ignored"], cwd=broken_git_tree, capture_output=True
    )
    assert status.stdout == b""


def test_two_runs_at_once_on_a_tree_are_refused(broken_tree: Path) -> None:
    tree = open_tree(broken_tree)
    key = sha256(f"{tree.disk_root().resolve()}\0{sys.executable}".encode())[:16]
    with (
        file_lock(cache_dir("smoke", key) / "lock"),
        pytest.raises(Refused, match="another smoke run is at work"),
    ):
        ladder.smoke_gate(tree, sys.executable, "bind")
