"""The main job: the contract before and after, whether the patch was in already or not."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.errors import Conflict, Refused
from pinproof.mainjob import run_main_job
from pinproof.patchset.patchfile import Patch
from pinproof.tree import open_tree

from tests.trees import FORK, MODEL, SITU, make_tree, model_file


@pytest.mark.parametrize("already_in", [False, True])
def test_the_contract_gate_shows_what_the_patch_mends(tmp_path: Path, patch: Patch, already_in: bool) -> None:
    root = make_tree(tmp_path / "tree", patch, fixed=already_in, declares=SITU)
    job = run_main_job(patch, open_tree(root), series=[patch])
    assert job.before.verdict == ("applied" if already_in else "needed")
    assert (job.contract.outcome, job.compile.outcome) == ("pass", "pass")
    assert job.contract.details["before"]["verdict"] == "needed"
    assert job.contract.details["after"]["verdict"] == "applied"
    assert (root / MODEL).read_bytes() == model_file(patch, fixed=True)


def test_a_dry_run_proves_it_and_writes_nothing(broken_tree: Path, patch: Patch) -> None:
    job = run_main_job(patch, open_tree(broken_tree), series=[patch], dry_run=True)
    assert (job.contract.outcome, job.after.verdict) == ("pass", "applied")
    assert (broken_tree / MODEL).read_bytes() == model_file(patch, fixed=False)


def test_a_patch_that_the_tree_does_not_want_ends_the_job(tmp_path: Path, patch: Patch) -> None:
    root = make_tree(tmp_path / "tree", patch, fixed=False, declares=FORK)
    with pytest.raises(Refused, match="not-needed"):
        run_main_job(patch, open_tree(root), series=[patch])


def test_a_conflict_ends_the_job_and_writes_nothing(broken_tree: Path, patch: Patch) -> None:
    (broken_tree / MODEL).write_bytes(
        model_file(patch, fixed=False).replace(b"fast_math=fast", b"fast_math=f")
    )
    before = (broken_tree / MODEL).read_bytes()
    with pytest.raises(Conflict):
        run_main_job(patch, open_tree(broken_tree), series=[patch])
    assert (broken_tree / MODEL).read_bytes() == before
