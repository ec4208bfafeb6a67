"""What makes two changes alike, signal by signal, and what verdict follows."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

from pinproof.duplicates.diffs import facts_of_files
from pinproof.duplicates.index.opening import open_index
from pinproof.duplicates.pulls import from_graphql
from pinproof.duplicates.ranking import Scored, rank
from pinproof.duplicates.recall import candidates, rarity
from pinproof.duplicates.subject import describe
from pinproof.duplicates.verdicts import Hit, judge
from pinproof.patchset.patchfile import Patch

from tests.duplicates.conftest import KIMI, SMALL, kimi_pull, made_pull, patch_of, patch_text
from tests.duplicates.github_data import pull_node
from tests.duplicates.synthetic import Made

REPO = "vllm-project/vllm"


def ranked(
    tmp_path: Path, patch: Patch, *pulls: Made, diffs: bool = True
) -> tuple[list[Scored], dict[int, Hit]]:
    """Rank the small repository with these pull requests added, whose diffs are known."""
    index = open_index(tmp_path / "i.sqlite")
    index.store([from_graphql(pull_node(made), REPO) for made in (*SMALL.pulls.values(), *pulls)])
    for made in pulls if diffs else ():
        index.store_diff(made.number, made.head, facts_of_files(made.patches.items()), made.patches)
    subject = describe(patch, REPO)
    rare = rarity(index, subject)
    found = rank(subject, candidates(index, subject, rare), rare)
    index.db.close()
    return found, {scored.candidate.number: judge(subject, scored) for scored in found}


def test_the_same_lines_on_another_base_are_the_same_change(tmp_path: Path, patch: Patch) -> None:
    found, hits = ranked(tmp_path, patch, kimi_pull())
    assert found[0].candidate.number == 52500
    assert hits[52500].verdict == "same change"
    assert hits[52500].reason.startswith("changes the same lines in the same way")


def test_a_larger_pull_request_that_holds_the_change_is_the_same_change(tmp_path: Path, patch: Patch) -> None:
    more = {"vllm/other.py": patch_text("vllm/other.py", ["alpha = 1"], ["alpha = 2"] * 30)}
    larger = kimi_pull(52600, title="[Model] Rework Kimi", body="Rework.")
    larger.patches.update(more)
    _, hits = ranked(tmp_path, patch, larger)
    assert hits[52600].verdict == "same change"
    assert "holds 100% of the patch's changed lines" in hits[52600].reason


def test_without_its_diff_nothing_is_called_the_same_change(tmp_path: Path, patch: Patch) -> None:
    found, hits = ranked(tmp_path, patch, kimi_pull(), diffs=False)
    assert found[0].candidate.number == 52500
    assert hits[52500].verdict != "same change"


def test_the_same_kernel_call_of_another_model_is_not_the_same_change(tmp_path: Path, patch: Patch) -> None:
    path = "vllm/models/deepseek_v4/nvidia/model.py"
    other = made_pull(
        42844, title="[Model] DeepSeek-V4 MegaMoE", body="Calls `fp8_fp4_mega_moe`.",
        patches={path: patch_text(path, ["y = moe(x)"], ["y = fp8_fp4_mega_moe(x, activation_clamp=clamp)"])},
    )  # fmt: skip
    _, hits = ranked(tmp_path, patch, other)
    assert hits[42844].verdict in ("related", "different")


PIN_FILE = "cmake/external_projects/deepgemm.cmake"


def pin(number: int, commit: str) -> Made:
    return made_pull(
        number, title=f"[Build] Move DeepGEMM to {commit}", body="Newer kernels.",
        patches={PIN_FILE: patch_text(PIN_FILE, ["  GIT_TAG e21c821f39a2056d"], [f"  GIT_TAG {commit}"])},
    )  # fmt: skip


PIN_PATCH = patch_of(
    "[Build] Update DeepGEMM pin",
    "New tip.",
    PIN_FILE,
    ["  GIT_TAG e21c821f39a2056d"],
    ["  GIT_TAG 8b1392b978f5a03c"],
)


def test_a_bump_to_the_same_commit_is_the_same_change_and_one_to_another_is_not(tmp_path: Path) -> None:
    found, hits = ranked(tmp_path, PIN_PATCH, pin(51001, "8b1392b978f5a03c"), pin(51002, "a6b593d2826719dc"))
    assert [scored.candidate.number for scored in found[:2]] == [51001, 51002]
    assert hits[51001].verdict == "same change"
    assert hits[51002].verdict != "same change"
    assert "sets a6b593d, the patch 8b1392b" in hits[51002].reason


def test_two_fixes_of_one_issue_in_one_file_are_the_same_problem(tmp_path: Path) -> None:
    path = "vllm/v1/core/sched/utils.py"
    patch = patch_of("Stop early", "Fixes #53665", path, ["a_flag = 1"], ["a_flag = stop_now(a)"])
    other = made_pull(
        54000, title="keep grammar", body="Closes #53665",
        patches={path: patch_text(path, ["mask_rows = 1"], ["mask_rows = keep(b)"], at=900)},
    )  # fmt: skip
    _, hits = ranked(tmp_path, patch, other)
    assert hits[54000].verdict == "same problem, other approach"
    assert "fixes the same issue #53665" in hits[54000].reason


def test_the_same_error_message_in_the_same_file_is_the_same_problem(tmp_path: Path, patch: Patch) -> None:
    error = "It fails: fp8_fp4_mega_moe() got an unexpected keyword argument 'activation_beta'"
    path_only = {KIMI: patch_text(KIMI, ["one_thing = 1"], ["other_thing = 2"], at=20)}
    _, hits = ranked(tmp_path, patch, made_pull(52700, body=error, patches=path_only))
    assert hits[52700].verdict == "same problem, other approach"
    assert "quotes the same error" in hits[52700].reason


def test_an_issue_that_many_name_says_less_than_one_that_two_name(tmp_path: Path) -> None:
    patch = patch_of("Stop", "See #100 and #200.", "a.py", ["a_flag = 1"], ["a_flag = 2"])
    crowd = [made_pull(30_000 + at, body="Part of #100") for at in range(60)]
    found, _ = ranked(tmp_path, patch, *crowd, made_pull(31_000, body="Part of #200"))
    by_number = {scored.candidate.number: scored for scored in found}
    assert by_number[31_000].strength("issue") > by_number[30_000].strength("issue") > 0


def test_the_pull_request_that_the_patch_was_submitted_as_is_left_out(tmp_path: Path, patch: Patch) -> None:
    status = b"Upstream-Status: Submitted [https://github.com/vllm-project/vllm/pull/52500]"
    from pinproof.patchset.patchfile import parse_patch

    own = parse_patch(patch.raw.replace(b"Upstream-Status: Backport [v0.28.0]", status), patch.name)
    _, hits = ranked(tmp_path, own, kimi_pull())
    assert 52500 not in hits


def test_the_same_function_counts_where_lines_moved_far(tmp_path: Path, patch: Patch) -> None:
    scoped = "@@ -90,2 +90,2 @@ class KimiK3MegaMoEExperts(X):\n-        old_line = 1\n+        new_line = 2"
    found, _ = ranked(tmp_path, patch, made_pull(52800, patches={KIMI: scoped}))
    by_number = {scored.candidate.number: scored for scored in found}
    assert by_number[52800].signals["place"].words == "changes the same kimik3megamoeexperts"


def test_days_apart_lower_the_score_and_nothing_else(tmp_path: Path, patch: Patch) -> None:
    day = datetime(2026, 8, 15, tzinfo=timezone.utc)
    found, _ = ranked(
        tmp_path, patch, kimi_pull(1, created=day), kimi_pull(2, created=day - timedelta(days=300))
    )
    near, far = ({scored.candidate.number: scored for scored in found}[number] for number in (1, 2))
    assert near.score > far.score
    assert {name for name in near.signals if near.strength(name) != far.strength(name)} == {"time"}


def test_every_hit_says_why(tmp_path: Path, patch: Patch) -> None:
    _, hits = ranked(tmp_path, patch, kimi_pull())
    assert all(hit.reason for hit in hits.values() if hit.verdict != "different")
