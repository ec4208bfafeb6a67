"""The tree's hooks are run on the patched files by the real pre-commit; each outcome is shown as it is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pinproof.errors import Conflict, InputError, Refused
from pinproof.gate import GateResult
from pinproof.gates.precommit import precommit_gate
from pinproof.gates.precommit.gate import commit_message
from pinproof.tree import Tree, open_tree

from tests.gates.patches import make_patch
from tests.gates.precommit.hooktree import AFTER, BEFORE, MESSAGE, hook, make_hook_tree, snapshot, the_patch

SHOW = hook("show", 'cat "$@"', verbose=True)
REFUSE = hook("refuse", 'echo "no good: $1"; exit 1')
REWRITE = hook("rewrite", 'for f in "$@"; do sed -i "s/= /=  /" "$f"; done')


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where a test's tree lies, apart from the cache."""
    return tmp_path / "tree"


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def check(tree: Tree, **options: Any) -> GateResult:
    return precommit_gate(tree, the_patch(), **options)


def hooks_of(result: GateResult) -> dict[str, dict[str, Any]]:
    return {item["hook"]: item for item in result.details["hooks"]}


def outcomes(result: GateResult) -> dict[str, str]:
    return {name: item["outcome"] for name, item in hooks_of(result).items()}


def test_hooks_see_the_touched_files_with_the_patch_in(root: Path) -> None:
    result = check(make_hook_tree(root, SHOW, hook("docs", "exit 1", types=["markdown"])))
    assert (result.gate, result.outcome) == ("pre-commit", "pass")
    assert hooks_of(result)["show"]["output"] == AFTER.decode().strip()
    assert outcomes(result) == {"show": "pass", "docs": "skip"}
    assert hooks_of(result)["docs"]["reason"] == "no touched file is for it"


def test_a_tree_that_has_the_patch_already_gives_the_same_answer(root: Path) -> None:
    tree = make_hook_tree(root, SHOW)
    (root / "vllm/a.py").write_bytes(AFTER)
    assert hooks_of(check(tree))["show"]["output"] == AFTER.decode().strip()


def test_a_failing_hook_fails_the_gate_with_its_output_and_the_others_still_run(root: Path) -> None:
    result = check(make_hook_tree(root, REFUSE, SHOW, fail_fast=True))
    assert result.outcome == "fail"
    assert result.summary.startswith("refuse failed; 1 hooks passed")
    assert hooks_of(result)["refuse"]["output"] == "no good: vllm/a.py"
    assert outcomes(result)["show"] == "pass"


def test_a_failure_that_the_tree_has_without_the_patch_is_marked(root: Path) -> None:
    mine = hook("mine", 'grep -q "x = 1" "$1"')
    found = hooks_of(check(make_hook_tree(root, REFUSE, mine)))
    assert found["refuse"]["reason"] == "fails without the patch too, in the same words"
    assert (found["mine"]["outcome"], found["mine"]["reason"]) == ("fail", None)


def test_what_a_hook_rewrites_is_shown_as_a_diff_and_not_written(root: Path) -> None:
    tree = make_hook_tree(root, REWRITE)
    before = snapshot(root)
    result = check(tree)
    assert (result.outcome, hooks_of(result)["rewrite"]["modified"]) == ("fail", True)
    assert "-x = 2\n+x =  2\n" in result.details["diff"]
    assert (snapshot(root), result.details["fixed"]) == (before, [])


def test_fix_writes_what_hooks_rewrote_into_a_patched_tree_and_nothing_else(root: Path) -> None:
    tree = make_hook_tree(root, REWRITE)
    (root / "vllm/a.py").write_bytes(AFTER)
    (root / "vllm/a.py").chmod(0o755)
    before = snapshot(root)
    result = check(tree, fix=True)
    assert result.details["fixed"] == ["vllm/a.py"]
    assert snapshot(root) == {**before, "vllm/a.py": b"x =  2\n"}
    assert os.access(root / "vllm/a.py", os.X_OK)


def test_fix_is_refused_on_a_tree_without_the_patch(root: Path) -> None:
    tree = make_hook_tree(root, REWRITE)
    with pytest.raises(Refused, match="is not applied") as caught:
        check(tree, fix=True)
    assert "pinproof apply" in (caught.value.hint or "")


def test_hooks_of_the_manual_stage_run_too_and_none_runs_twice(tmp_path: Path) -> None:
    count = tmp_path / "count"
    both = hook("both", f"echo both >> {count}")
    manual = hook("manual", f"echo manual >> {count}", stages=["manual"])
    push = hook("push", "exit 1", stages=["pre-push"])
    tree = make_hook_tree(tmp_path / "tree", both, manual, push, default_stages=["pre-commit", "manual"])
    result = check(tree)
    assert count.read_text().split() == ["both", "manual"]
    assert outcomes(result) == {"both": "pass", "manual": "pass", "push": "skip"}
    assert hooks_of(result)["push"]["reason"] == "runs at pre-push only"


def test_the_commit_message_hook_gets_the_patchs_own_message_and_author(root: Path) -> None:
    script = (
        'grep -q Because "$1" || exit 1; printf "\\nSigned-off-by: %s <%s>\\n" "$(git config user.name)" '
        '"$(git config user.email)" >> "$(git rev-parse --git-path COMMIT_EDITMSG)"'
    )
    tree = make_hook_tree(root, SHOW, hook("signoff", script, stages=["commit-msg"]))
    found = hooks_of(check(tree))["signoff"]
    assert (found["outcome"], found["stage"]) == ("pass", "commit-msg")
    assert found["note"] == "adds Signed-off-by: Test Person <test@example.org>"


def test_the_message_is_the_patchs_without_its_diff() -> None:
    assert commit_message(the_patch()) == MESSAGE + "\n"


def test_a_hook_whose_program_is_missing_makes_the_gate_skip_and_not_pass(root: Path) -> None:
    missing = {"id": "gone", "name": "gone", "language": "system", "entry": "no-such-program-here"}
    result = check(make_hook_tree(root, SHOW, missing))
    assert (result.outcome, outcomes(result)) == ("skip", {"show": "pass", "gone": "not-run"})
    assert "no-such-program-here" in hooks_of(result)["gone"]["reason"]


def test_a_hook_that_hangs_is_ended_and_named_and_the_others_still_run(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    hang = hook("hang", f"echo $$ > {pid}; sleep 600")
    result = check(make_hook_tree(tmp_path / "tree", hang, SHOW), hook_limit_s=3.0)
    assert outcomes(result) == {"hang": "fail", "show": "pass"}
    assert "no answer within the time limit" in hooks_of(result)["hang"]["reason"]
    assert not alive(int(pid.read_text()))


def test_a_hook_that_writes_outside_the_tree_makes_the_result_an_error(root: Path) -> None:
    result = check(make_hook_tree(root, hook("stray", "touch ../stray")))
    assert (result.outcome, result.summary) == ("error", "a hook wrote outside the tree: ../stray (removed)")


def test_a_hook_that_writes_into_the_users_tree_makes_the_result_an_error(root: Path) -> None:
    tree = make_hook_tree(root, hook("stray", f"echo '# more' >> {root}/docs/index.md"))
    result = check(tree)
    assert result.outcome == "error"
    assert "docs/index.md changed in the tree" in result.summary


def test_variables_that_would_hide_hooks_or_redirect_git_are_not_passed_on(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, patch = make_hook_tree(root, REFUSE), the_patch()
    for name, value in (("SKIP", "refuse"), ("GIT_DIR", "/nowhere"), ("PRE_COMMIT_ALLOW_NO_CONFIG", "1")):
        monkeypatch.setenv(name, value)
    assert outcomes(precommit_gate(tree, patch)) == {"refuse": "fail"}


def test_modules_in_the_tree_do_not_shadow_pre_commits(root: Path) -> None:
    tree = make_hook_tree(root, SHOW)
    for name in ("yaml.py", "pre_commit.py", "json.py"):
        (root / name).write_text("raise SystemExit('the tree was imported')\n")
    assert check(tree).outcome == "pass"


def test_a_config_that_the_patch_changes_is_the_one_that_counts(root: Path) -> None:
    tree = make_hook_tree(root, REFUSE)
    old = (root / ".pre-commit-config.yaml").read_bytes()
    new = json.dumps({"repos": [{"repo": "local", "hooks": [SHOW]}]}).encode()
    path = ".pre-commit-config.yaml"
    assert outcomes(precommit_gate(tree, make_patch({path: old}, {path: new}))) == {"show": "pass"}


def test_a_file_name_like_an_option_stays_a_file_name(root: Path) -> None:
    tree = make_hook_tree(root, SHOW)
    result = precommit_gate(tree, make_patch({"-rf.py": None}, {"-rf.py": b"dash = 1\n"}))
    assert result.outcome in ("pass", "fail")  # cat sees the name as pre-commit hands it on
    assert (
        "dash" in hooks_of(result)["show"]["output"] or "invalid option" in hooks_of(result)["show"]["output"]
    )


def test_a_patch_that_only_deletes_runs_the_hooks_that_always_run(root: Path) -> None:
    tree = make_hook_tree(root, SHOW, hook("always", "git ls-files", always_run=True, pass_filenames=False))
    result = precommit_gate(tree, make_patch({"docs/index.md": b"# Title\n"}, {"docs/index.md": None}))
    assert outcomes(result) == {"show": "skip", "always": "pass"}
    assert "docs/index.md" not in hooks_of(result)["always"]["output"]


def test_when_no_hook_is_for_the_files_the_gate_is_skipped(root: Path) -> None:
    result = check(make_hook_tree(root, hook("docs", "exit 1", types=["markdown"])))
    assert (result.outcome, result.summary) == ("skip", "no hook is for the touched files")


def test_a_patch_that_does_not_apply_is_a_conflict(root: Path) -> None:
    tree = make_hook_tree(root, SHOW)
    (root / "vllm/a.py").write_bytes(b"x = 7\n")
    with pytest.raises(Conflict, match=r"vllm/a\.py"):
        check(tree)


def test_a_tree_without_a_config_is_skipped_with_the_reason(root: Path) -> None:
    tree = make_hook_tree(root)
    (root / ".pre-commit-config.yaml").unlink()
    result = check(tree)
    assert (result.outcome, result.details) == ("skip", {})
    assert "installed package carries none" in (result.reason or "")


def test_a_release_on_the_index_is_skipped_and_not_passed() -> None:
    from pinproof.tree import OverlayFiles

    class Nothing:
        def read(self, path: str) -> bytes | None:
            return None

        def paths(self, under: str = "", suffix: str = "") -> Any:
            return iter(())

    release = Tree("release", "vllm==0.28.0", OverlayFiles(Nothing(), {"vllm/a.py": BEFORE}))
    assert check(release).outcome == "skip"


def test_a_config_that_is_no_yaml_is_refused(root: Path) -> None:
    with pytest.raises(InputError, match="is no YAML"):
        check(make_hook_tree(root, raw="repos: ["))


def test_a_config_that_pre_commit_refuses_runs_nothing_and_says_why(root: Path) -> None:
    odd = {"id": "odd", "name": "odd", "language": "cobol", "entry": "x"}
    result = check(make_hook_tree(root, odd))
    assert result.outcome == "skip"
    assert "cobol" in hooks_of(result)["odd"]["reason"]


def test_an_unknown_repository_out_of_reach_is_shown_and_the_rest_still_runs(tmp_path: Path) -> None:
    unknown = {"repo": f"file://{tmp_path}/nowhere", "rev": "v1", "hooks": [{"id": "theirs"}]}
    mine = {"repo": "local", "hooks": [SHOW]}
    tree = make_hook_tree(tmp_path / "tree", raw=json.dumps({"repos": [unknown, mine]}))
    result = check(tree)
    assert (result.outcome, outcomes(result)) == ("skip", {"theirs": "not-run", "show": "pass"})
    assert "no package is known for it" in hooks_of(result)["theirs"]["reason"]


def test_progress_names_each_hook_when_it_starts_and_ends(root: Path) -> None:
    events: list[tuple[str, str, str]] = []
    check(make_hook_tree(root, SHOW, REFUSE), tell=lambda *event: events.append(event))
    ends = [event[1:] for event in events if event[0] == "end"]
    assert ends[:2] == [("show", "Passed"), ("refuse", "Failed")]
    assert ("note", "", "running the failed hooks on the tree without the patch") in events


def test_ctrl_c_ends_the_hooks_and_leaves_the_tree_as_it_was(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    tree = make_hook_tree(
        tmp_path / "tree", hook("slow", f"echo spoilt > vllm/a.py; echo $$ > {pid}; sleep 600")
    )
    before = snapshot(tmp_path / "tree")
    (tmp_path / "0001-a.patch").write_bytes(the_patch().raw)
    command = [sys.executable, "-m", "pinproof", "check", str(tmp_path / "0001-a.patch"), tree.name]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 20
    while not (pid.exists() and pid.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert snapshot(tmp_path / "tree") == before
    assert not alive(int(pid.read_text()))
    assert open_tree(tree.name).read("vllm/a.py") == BEFORE
