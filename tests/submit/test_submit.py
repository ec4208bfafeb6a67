"""From records to a draft pull request, against a bare upstream, a fork and a gh that checks its calls."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from msgspec.structs import replace
from pinproof.cli import main
from pinproof.gate import GATES, GateName
from pinproof.patchset.patchfile import Patch
from pinproof.patchset.series import load_patch
from pinproof.submit.draft import Draft
from pinproof.submit.evidence import record
from pinproof.submit.policy import load_policy
from pinproof.submit.records import encode, sealed
from pinproof.submit.requirements import unmet
from pinproof.submit.store import Store, save

from tests.submit.conftest import FIXED, MODEL, NAME, Hub, git, review_of
from tests.submit.planted import proved, store_all
from tests.submit.terminal import at_terminal
from tests.submit.test_requirements import broken

BRANCH = "pinproof/kimi-k3-megamoe-situ-kwargs"
OLD_PIN = "8b1392b978f5a03c828dd1711090d7fb50958b8a"
URL = "https://github.com/vllm-project/vllm/pull/52445"
# Stands for gh: refuses any call that is not exactly one of the two that a submission may make.
GH = f"""\
#!{sys.executable}
import json, os, pathlib, sys
state = pathlib.Path(os.environ["GH_STATE"])
args = sys.argv[1:]
assert not any("ghp_" in arg for arg in args), "a token on the command line"
with (state / "calls").open("a") as calls:
    calls.write(json.dumps(args) + "\\n")
if (state / "fail").exists():
    print("HTTP 401: Bad credentials (https://u:ghp_{"x" * 36}@api.github.com)", file=sys.stderr)
    sys.exit(1)
if args[:2] == ["pr", "list"]:
    assert args[2:] == ["--repo", "vllm-project/vllm", "--state", "open", "--head",
                        "{BRANCH}", "--json", "url,headRepositoryOwner"], args
    mine = {{"url": "{URL}", "headRepositoryOwner": {{"login": "test"}}}}
    print(json.dumps([mine] if (state / "opened").exists() else []))
elif args[:2] == ["pr", "create"]:
    assert args[2:11] == ["--draft", "--repo", "vllm-project/vllm", "--base", "main", "--head",
                          "test:{BRANCH}", "--title",
                          "[Bugfix][Model] Fix the Kimi-K3 MegaMoE SiTU keyword names"], args
    assert args[11] == "--body-file" and len(args) == 13, args
    (state / "body").write_bytes(pathlib.Path(args[12]).read_bytes())
    (state / "opened").touch()
    print("Creating draft pull request")
    print((state / "url").read_text() if (state / "url").exists() else "{URL}")
else:
    sys.exit(f"unexpected: {{args}}")
"""


@pytest.fixture
def patches(patch: Patch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "patches"
    folder.mkdir()
    (folder / "series").write_text(NAME + "\n")
    (folder / NAME).write_bytes(patch.raw)
    monkeypatch.setenv("PINPROOF_PATCHES", str(folder))
    return folder


@pytest.fixture
def store(patches: Path) -> Store:
    return Store(patches / "evidence")


@pytest.fixture
def ready(hub: Hub, patch: Patch, store: Store) -> datetime:
    """A patch with all its evidence and a review, made a minute ago."""
    now = datetime.now(timezone.utc) - timedelta(minutes=1)
    store_all(store, patch, hub.tree(), now)
    save(store, patch, review_of(patch, hub.tree(), now=now, assistants=["Some Assistant"]))
    return now


@pytest.fixture
def gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    state = tmp_path / "gh"
    (state / "bin").mkdir(parents=True)
    (state / "bin/gh").write_text(GH)
    (state / "bin/gh").chmod(0o755)
    monkeypatch.setenv("GH_STATE", str(state))
    monkeypatch.setenv("PATH", f"{state / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return state


def calls(gh: Path) -> list[list[str]]:
    log = gh / "calls"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


CONFIRM = ("type test:" + BRANCH, "test:" + BRANCH)


def test_by_default_everything_is_shown_and_nothing_is_sent(
    hub: Hub, ready: datetime, gh: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["submit", "0001", str(hub.clone)]) == 0
    shown = capsys.readouterr().out
    commit = git(hub.clone, "rev-parse", BRANCH)
    ref = f"refs/heads/{BRANCH}"
    assert (
        "git push --no-follow-tags --no-signed --recurse-submodules=no --receive-pack=git-receive-pack"
        in shown
    )
    assert f"--force-with-lease={ref}: -- fork {commit}:{ref}" in shown
    assert "gh pr create --draft --repo vllm-project/vllm --base main" in shown
    assert "Signed-off-by: Test Person <test@example.org>" in shown
    assert "## Test Result" in shown
    assert BRANCH not in git(hub.fork, "for-each-ref")
    assert calls(gh) == []


def test_after_a_typed_confirmation_it_is_pushed_to_the_fork_and_a_draft_is_opened(
    hub: Hub, ready: datetime, gh: Path, patches: Path
) -> None:
    done = at_terminal(["submit", "0001", str(hub.clone), "--push"], [CONFIRM])
    assert done.returncode == 0, done.output
    assert git(hub.fork, "show", f"{BRANCH}:{MODEL}") == FIXED.strip()
    assert "pinproof" not in git(hub.upstream, "for-each-ref")
    assert [call[:2] for call in calls(gh)] == [["pr", "list"], ["pr", "create"]]
    assert (gh / "body").read_text().startswith("## Purpose\n\nFix the Kimi-K3")
    header = load_patch(patches / NAME)
    assert header.field("Upstream-Status") == f"Submitted [{URL}]"
    assert URL in done.output


def test_after_sending_the_evidence_is_still_fresh(
    hub: Hub, ready: datetime, gh: Path, patches: Path, store: Store
) -> None:
    at_terminal(["submit", "0001", str(hub.clone), "--push"], [CONFIRM])
    sent = load_patch(patches / NAME)
    assert unmet(sent, hub.tree(), load_policy(), store, datetime.now(timezone.utc)) == []


def test_sending_twice_pushes_once_and_opens_one(hub: Hub, ready: datetime, gh: Path) -> None:
    for _ in range(2):
        done = at_terminal(["submit", "0001", str(hub.clone), "--push"], [CONFIRM])
        assert done.returncode == 0, done.output
    assert [call[1] for call in calls(gh)] == ["list", "create", "list"]


@pytest.mark.parametrize("answer", ["yes", "", f"test:{BRANCH}x"])
def test_another_answer_sends_nothing(
    hub: Hub, ready: datetime, gh: Path, patches: Path, answer: str
) -> None:
    done = at_terminal(["submit", "0001", str(hub.clone), "--push"], [(CONFIRM[0], answer)])
    assert done.returncode == 3
    assert "not sent" in done.output
    assert BRANCH not in git(hub.fork, "for-each-ref")
    assert calls(gh) == []
    assert load_patch(patches / NAME).field("Upstream-Status") == "Pending"


def test_a_pipe_cannot_push(hub: Hub, ready: datetime, gh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["submit", "0001", str(hub.clone), "--push"]) == 3
    assert "--push needs a person at a terminal" in capsys.readouterr().err


def test_a_failing_gh_is_reported_without_its_token_and_a_second_run_goes_on(
    hub: Hub, ready: datetime, gh: Path, patches: Path
) -> None:
    (gh / "fail").touch()
    done = at_terminal(["submit", "0001", str(hub.clone), "--push"], [CONFIRM])
    assert done.returncode == 2
    assert "the branch is on the fork; gh pr list failed: HTTP 401" in done.output
    assert "ghp_" not in done.output
    assert load_patch(patches / NAME).field("Upstream-Status") == "Pending"
    (gh / "fail").unlink()
    assert at_terminal(["submit", "0001", str(hub.clone), "--push"], [CONFIRM]).returncode == 0


def test_an_answer_of_gh_that_is_no_pull_request_of_upstream_is_not_recorded(
    hub: Hub, ready: datetime, gh: Path, patches: Path
) -> None:
    (gh / "url").write_text("https://github.com/evil/vllm/pull/1")
    done = at_terminal(["submit", "0001", str(hub.clone), "--push"], [CONFIRM])
    assert done.returncode == 2
    assert "gave no pull request of vllm-project/vllm" in done.output
    assert load_patch(patches / NAME).field("Upstream-Status") == "Pending"


def break_record(path: Path, how: str, patch: Patch, hub: Hub, gate: GateName, now: datetime) -> None:
    """Take a gate's record away, cut it, or put one in its place that failed or lies."""
    if how == "missing":
        path.unlink()
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:-40])
    else:
        made = record(patch, hub.tree(), broken(proved(patch, hub.tree())[gate]), now)
        path.write_bytes(encode(made if how == "failed" else sealed(replace(made, outcome="pass"))))


@pytest.mark.parametrize("how", ["missing", "failed", "forged", "cut"])
def test_each_gates_evidence_broken_in_turn_is_refused_and_nothing_is_made(
    hub: Hub, ready: datetime, patch: Patch, store: Store, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for gate in GATES:
        path = store.path(patch, gate)
        good = path.read_bytes()
        break_record(path, how, patch, hub, gate, ready)
        assert main(["submit", "0001", str(hub.clone)]) == 3
        state = "missing" if how == "missing" else "failed"
        assert f"is not ready: {gate} is {state}" in capsys.readouterr().err
        assert "pinproof" not in git(hub.clone, "for-each-ref", "refs/heads")
        path.write_bytes(good)
    assert main(["submit", "0001", str(hub.clone), "--stdout"]) == 0


def test_a_forged_contract_record_that_hangs_together_fails_when_the_gate_is_run_again(
    hub: Hub, ready: datetime, patch: Patch, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    # Upstream moved the pin to a library that takes neither pair of names; the forger kept the keys in step.
    cmake = "cmake/external_projects/deepgemm.cmake"
    text = (hub.clone / cmake).read_text().replace(OLD_PIN, "0820030756945b2daec208e8e8255268360f337d")
    hub.advance(cmake, text)
    git(hub.clone, "pull", "-q", "upstream", "main")
    for gate in ("contract", "smoke"):
        save(store, patch, record(patch, hub.tree(), proved(patch, hub.tree())[gate], ready))
    assert main(["submit", "0001", str(hub.clone)]) == 4
    assert "stays broken with the patch" in capsys.readouterr().err
    assert "pinproof" not in git(hub.clone, "for-each-ref", "refs/heads")


def test_without_a_review_it_is_refused(
    hub: Hub, ready: datetime, patch: Patch, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    store.path(patch, "review").unlink()
    assert main(["submit", "0001", str(hub.clone)]) == 3
    said = capsys.readouterr().err
    assert "review is missing: no person has read every hunk yet" in said
    assert f"pinproof review 0001 {hub.clone}" in said


def test_nobody_signs_off_for_another(hub: Hub, ready: datetime, capsys: pytest.CaptureFixture[str]) -> None:
    git(hub.clone, "config", "user.email", "someone@example.org")
    assert main(["submit", "0001", str(hub.clone)]) == 3
    assert "reviewed the patch, but git says you are <someone@example.org>" in capsys.readouterr().err


def test_a_base_that_moved_elsewhere_only_moves_the_branch(hub: Hub, ready: datetime) -> None:
    assert main(["submit", "0001", str(hub.clone)]) == 0
    moved = hub.advance("README.md", "new")
    assert main(["submit", "0001", str(hub.clone)]) == 0
    assert git(hub.clone, "rev-parse", f"{BRANCH}^") == moved


def test_a_base_that_moved_in_the_touched_file_asks_for_the_proofs_again(
    hub: Hub, ready: datetime, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.advance(MODEL, "# more\n" + (hub.clone / MODEL).read_text())
    assert main(["submit", "0001", str(hub.clone)]) == 3
    assert f"but {MODEL} is another file in this tree" in capsys.readouterr().err


def test_a_base_that_has_the_fix_already_is_refused(
    hub: Hub, ready: datetime, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.advance(MODEL, FIXED)
    assert main(["submit", "0001", str(hub.clone)]) == 3
    assert "on upstream's base: applied" in capsys.readouterr().err


def test_a_base_can_be_named_when_offline(hub: Hub, ready: datetime) -> None:
    hub.upstream.rename(hub.upstream.with_name("gone"))
    assert main(["submit", "0001", str(hub.clone), "--base", "upstream/main", "--stdout"]) == 0


@pytest.mark.parametrize("base", ["nope", "--output=x", "HEAD:vllm"])
def test_a_base_that_is_no_commit_is_refused(
    hub: Hub, ready: datetime, base: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["submit", "0001", str(hub.clone), f"--base={base}"]) == 3
    assert "is not a commit" in capsys.readouterr().err


def test_the_body_goes_to_stdout_and_file_alone(
    hub: Hub, ready: datetime, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "body.md"
    assert main(["submit", "0001", str(hub.clone), "--stdout", "--body-file", str(file)]) == 0
    out = capsys.readouterr().out
    assert out == file.read_text()
    assert (
        "| a version that takes it | `activation_beta`, `activation_linear_beta` | `deep_gemm e21c821f39a2"
        in out
    )
    assert out.startswith("## Purpose")


def test_json_says_what_would_run(hub: Hub, ready: datetime, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["submit", "0001", str(hub.clone), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["fork"], found["sent"]) == ("pinproof.submit/1", "test/vllm", False)
    assert found["commands"][1][:3] == ["gh", "pr", "create"]


def test_a_token_in_a_remotes_url_is_never_shown(
    hub: Hub, ready: datetime, capsys: pytest.CaptureFixture[str]
) -> None:
    token = "ghp_" + "s" * 36
    git(hub.clone, "config", f"url.{hub.fork}.insteadOf", f"https://ada:{token}@github.com/test/vllm.git")
    git(hub.clone, "remote", "set-url", "fork", f"https://ada:{token}@github.com/test/vllm.git")
    assert main(["submit", "0001", str(hub.clone)]) == 0
    captured = capsys.readouterr()
    assert token not in captured.out + captured.err


def test_the_patch_edited_while_the_branch_was_made_makes_none(
    hub: Hub, ready: datetime, patches: Path, patch: Patch, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def edit(draft: Draft) -> str:
        (patches / NAME).write_bytes(patch.raw + b"\n")
        return "body"

    monkeypatch.setattr("pinproof.submit.prepare.render_body", edit)
    assert main(["submit", "0001", str(hub.clone)]) == 3
    assert "changed while this ran" in capsys.readouterr().err
    assert "pinproof" not in git(hub.clone, "for-each-ref", "refs/heads")


def test_the_patch_edited_between_showing_and_sending_is_not_sent(
    hub: Hub, ready: datetime, gh: Path, patches: Path, patch: Patch
) -> None:
    def edit() -> str:
        (patches / NAME).write_bytes(patch.raw.replace(b"No value", b"x") + b"\n")
        return CONFIRM[1]

    done = at_terminal(["submit", "0001", str(hub.clone), "--push"], [(CONFIRM[0], edit)])
    assert done.returncode == 3
    assert "changed while this ran" in done.output
    assert BRANCH not in git(hub.fork, "for-each-ref")
    assert calls(gh) == []


def test_the_branch_moved_between_showing_and_sending_changes_nothing_that_is_sent(
    hub: Hub, ready: datetime, gh: Path
) -> None:
    def move() -> str:
        git(hub.clone, "update-ref", f"refs/heads/{BRANCH}", "upstream/main")
        return CONFIRM[1]

    done = at_terminal(["submit", "0001", str(hub.clone), "--push"], [(CONFIRM[0], move)])
    assert done.returncode == 0, done.output
    assert git(hub.fork, "show", f"{BRANCH}:{MODEL}") == FIXED.strip()


def test_the_body_file_edited_between_showing_and_sending_is_written_again(
    hub: Hub, ready: datetime, gh: Path, tmp_path: Path
) -> None:
    file = tmp_path / "body.md"

    def edit() -> str:
        file.write_text("buy now")
        return CONFIRM[1]

    command = ["submit", "0001", str(hub.clone), "--push", "--body-file", str(file)]
    assert at_terminal(command, [(CONFIRM[0], edit)]).returncode == 0
    assert (gh / "body").read_text().startswith("## Purpose")


def test_a_fork_branch_that_someone_else_moved_meanwhile_is_not_overwritten(
    hub: Hub, ready: datetime, gh: Path
) -> None:
    def race() -> str:
        git(hub.fork, "update-ref", f"refs/heads/{BRANCH}", "main")
        return CONFIRM[1]

    done = at_terminal(["submit", "0001", str(hub.clone), "--push"], [(CONFIRM[0], race)])
    assert done.returncode == 2
    assert "nothing was sent" in done.output
    assert git(hub.fork, "rev-parse", BRANCH) == git(hub.fork, "rev-parse", "main")
    assert calls(gh) == []


def test_a_fork_pointed_at_upstream_between_showing_and_sending_is_not_pushed_to(
    hub: Hub, ready: datetime, gh: Path
) -> None:
    def swap() -> str:
        git(hub.clone, "remote", "set-url", "--push", "fork", str(hub.upstream))
        return CONFIRM[1]

    done = at_terminal(["submit", "0001", str(hub.clone), "--push"], [(CONFIRM[0], swap)])
    assert done.returncode == 3
    assert "pinproof" not in git(hub.upstream, "for-each-ref")


def test_a_fork_pointed_elsewhere_between_showing_and_sending_is_not_pushed_to(
    hub: Hub, ready: datetime, gh: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(hub.fork), "hub/else/vllm.git")

    def swap() -> str:
        git(hub.clone, "remote", "set-url", "fork", str(tmp_path / "hub/else/vllm.git"))
        return CONFIRM[1]

    done = at_terminal(["submit", "0001", str(hub.clone), "--push"], [(CONFIRM[0], swap)])
    assert done.returncode == 3
    assert "the remote fork changed while this ran" in done.output
    assert "pinproof" not in git(tmp_path / "hub/else/vllm.git", "for-each-ref")


def test_two_submits_at_once_make_one_branch(hub: Hub, ready: datetime) -> None:
    command = [sys.executable, "-m", "pinproof", "submit", "0001", str(hub.clone), "--stdout"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    said = [run.communicate() for run in runs]
    codes = [run.returncode for run in runs]
    assert 0 in codes
    assert set(codes) <= {0, 3}, said
    for code, (_, err) in zip(codes, said, strict=True):
        assert code == 0 or b"another submit is at work" in err
    assert git(hub.clone, "rev-list", "--count", f"upstream/main..{BRANCH}") == "1"
    assert git(hub.clone, "worktree", "list", "--porcelain").count("worktree ") == 1


def test_a_submit_killed_at_any_moment_leaves_a_whole_branch_or_none(hub: Hub, ready: datetime) -> None:
    command = [sys.executable, "-m", "pinproof", "submit", "0001", str(hub.clone), "--stdout"]
    for delay in (0.3, 0.6, 0.8, 1.0, 1.3):
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        timer = threading.Timer(delay, run.kill)
        timer.start()
        run.wait()
        timer.cancel()
        branches = git(hub.clone, "for-each-ref", "--format=%(refname)", "refs/heads/pinproof")
        if branches:
            assert git(hub.clone, "show", f"{BRANCH}:{MODEL}") == FIXED.strip()
            assert git(hub.clone, "rev-list", "--count", f"upstream/main..{BRANCH}") == "1"
        assert git(hub.clone, "status", "--porcelain") == ""
    assert main(["submit", "0001", str(hub.clone), "--stdout"]) == 0
    assert git(hub.clone, "worktree", "list", "--porcelain").count("worktree ") == 1


def test_vllms_own_sign_off_hook_leaves_the_message_as_it_is(
    hub: Hub, ready: datetime, tmp_path: Path
) -> None:
    """The hook's script, as vLLM's .pre-commit-config.yaml has it (0.27.1 to 0.33.0)."""
    assert main(["submit", "0001", str(hub.clone), "--stdout"]) == 0
    git(hub.clone, "worktree", "add", "-q", str(tmp_path / "at"), BRANCH)
    message = tmp_path / "at" / git(tmp_path / "at", "rev-parse", "--git-path", "COMMIT_EDITMSG")
    text = git(hub.clone, "log", "-1", "--format=%B", BRANCH) + "\n"
    message.write_text(text)
    script = """\
if ! grep -q "^Signed-off-by: $(git config user.name) <$(git config user.email)>" \
"$(git rev-parse --git-path COMMIT_EDITMSG)"; then
  printf "\\nSigned-off-by: $(git config user.name) <$(git config user.email)>\\n" \
>> "$(git rev-parse --git-path COMMIT_EDITMSG)"
fi
"""
    subprocess.run(["bash", "-c", script], cwd=tmp_path / "at", check=True)
    assert message.read_text() == text
    assert len(re.findall("^Signed-off-by: ", text, re.MULTILINE)) == 1
