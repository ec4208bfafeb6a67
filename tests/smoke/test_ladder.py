from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from pinproof.errors import Refused
from pinproof.gate import Outcome
from pinproof.patchset.patchfile import Patch
from pinproof.paths import cache_dir, file_lock
from pinproof.smoke import ladder
from pinproof.smoke.exercise import changed_statements
from pinproof.smoke.probe import CallSite, Probe, RungRunner
from pinproof.smoke.probes.kimi_k3_megamoe import rungs as kimi_rungs
from pinproof.smoke.record import Rung, RungResult, SmokeRecord, sha256
from pinproof.smoke.registry import load
from pinproof.smoke.session import Session
from pinproof.tree import Tree, open_tree

from tests.trees import MODEL


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
    kimi = load("kimi_k3_megamoe")
    refused = done("kernel", "pass", verdict="contract holds, kernel refused this architecture")
    assert ladder.numerics(kimi, (refused,)) == "not run"
    assert ladder.numerics(kimi, (done("kernel", "pass", verdict="ran", capability=[12, 0]),)) == "not run"
    assert ladder.numerics(kimi, (done("kernel", "pass", verdict="ran", capability=[10, 3]),)) == "pass"
    assert ladder.numerics(kimi, (done("kernel", "fail", verdict="ran", capability=[10, 0]),)) == "fail"


def test_a_kernel_that_runs_anywhere_is_compared_anywhere() -> None:
    ran = done("kernel", "pass", verdict="ran", capability=[9, 0])
    assert ladder.numerics(load("fused_moe_triton"), (ran,)) == "pass"


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


def probe_of(**rungs: RungRunner) -> Probe:
    """A probe for the real patch's call whose rungs are given."""
    site = CallSite(MODEL, "KimiK3MegaMoEExperts.forward", "fp8_fp4_mega_moe")
    return Probe("test", "a test's", (site,), cast(Any, rungs), imports=())


def saying(rung: Rung, outcome: Outcome, lines: list[int] | None = None, **details: object) -> RungRunner:
    """A rung that ends so, having run these lines of the model."""

    def run(session: Session, below: Sequence[RungResult]) -> RungResult:
        session.lines.setdefault(MODEL, set()).update(lines or [])
        return done(rung, outcome, **details)

    return run


def test_a_failing_rung_stops_the_climb(tmp_path: Path, broken_tree: Path) -> None:
    probe = probe_of(bind=saying("bind", "fail"), kernel=saying("kernel", "pass"))
    session = Session(open_tree(broken_tree), "python3", tmp_path, 1, {})
    assert [r.outcome for r in ladder.climb(session, probe, "auto")] == ["fail", "not-run"]


def test_a_probe_has_the_rungs_that_it_defines(tmp_path: Path, broken_tree: Path) -> None:
    session = Session(open_tree(broken_tree), "python3", tmp_path, 1, {})
    probe = probe_of(bind=saying("bind", "pass"))
    assert [r.rung for r in ladder.climb(session, probe, "auto")] == ["bind"]
    (missing,) = ladder.climb(session, probe, "model")
    assert (missing.outcome, missing.reason) == ("not-run", "probe test has no rung model")


def test_compile_gets_the_scales_that_the_call_delivered() -> None:
    values = {"situ_beta": 1.75, "situ_linear_beta": 6.5, "activation": "situ", "fast_math": True}
    bind = done("bind", "pass", values=values)
    assert kimi_rungs.delivered([bind]) == {"situ_beta": 1.75, "situ_linear_beta": 6.5}
    assert kimi_rungs.delivered([done("bind", "fail", values=values)]) == {}


def call_lines(tree: Tree, patch: Patch) -> list[int]:
    (statement,) = changed_statements(tree, patch)
    return [statement.first, statement.last]


def test_a_run_through_the_changed_call_is_a_pass_and_names_it(broken_tree: Path, patch: Patch) -> None:
    tree = open_tree(broken_tree)
    probe = probe_of(bind=saying("bind", "pass", call_lines(tree, patch)))
    gate = ladder.smoke_gate(ladder.subject_of(tree, probe, patch), sys.executable)
    assert gate.outcome == "pass"
    (through,) = msgspec.convert(gate.details, SmokeRecord).exercised
    assert (through.file, through.scope) == (MODEL, "KimiK3MegaMoEExperts.forward")
    assert through.calls == ("deep_gemm.fp8_fp4_mega_moe",)


def test_a_run_past_the_changed_call_is_no_pass(broken_tree: Path, patch: Patch) -> None:
    tree = open_tree(broken_tree)
    probe = probe_of(bind=saying("bind", "pass", [1, 2]), compile=saying("compile", "pass"))
    for rung in ("auto", "bind", "compile"):
        gate = ladder.smoke_gate(ladder.subject_of(tree, probe, patch), sys.executable, cast(Any, rung))
        assert gate.outcome == "skip"
        assert gate.reason == ladder.UNEXERCISED
        assert gate.clear


def test_without_a_patch_the_tree_alone_is_run(broken_tree: Path) -> None:
    subject = ladder.subject_of(open_tree(broken_tree), probe_of(bind=saying("bind", "pass")))
    gate = ladder.smoke_gate(subject, sys.executable)
    assert gate.outcome == "pass"
    record = msgspec.convert(gate.details, SmokeRecord)
    assert (record.patch, record.exercised, record.probe) == (None, (), "test")
    assert set(record.files) == {MODEL}


def test_an_interpreter_without_torch_is_a_skip_and_the_record_says_what_was_there(
    broken_tree: Path, patch: Patch
) -> None:
    subject = ladder.subject_of(open_tree(broken_tree), load("kimi_k3_megamoe"), patch)
    gate = ladder.smoke_gate(subject, sys.executable, "bind")
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
    subject = ladder.subject_of(open_tree(broken_git_tree), load("kimi_k3_megamoe"), patch)
    ladder.smoke_gate(subject, sys.executable, "bind")
    status = subprocess.run(
        ["git", "status", "--porcelain", "--ignored"], cwd=broken_git_tree, capture_output=True
    )
    assert status.stdout == b""


def test_two_runs_at_once_on_a_tree_are_refused(broken_tree: Path) -> None:
    tree = open_tree(broken_tree)
    key = sha256(f"{tree.disk_root().resolve()}\0{sys.executable}".encode())[:16]
    subject = ladder.subject_of(tree, load("kimi_k3_megamoe"))
    with (
        file_lock(cache_dir("smoke", key) / "lock"),
        pytest.raises(Refused, match="another smoke run is at work"),
    ):
        ladder.smoke_gate(subject, sys.executable, "bind")
