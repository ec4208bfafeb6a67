"""The branch is one signed-off commit on the base, equal to what was reviewed; the checkout is untouched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pinproof.errors import Conflict, Refused
from pinproof.patchset.patchfile import Patch, parse_patch
from pinproof.submit.branch import Branch, commit_patch, publish_locally
from pinproof.submit.policy import Policy
from pinproof.submit.records import Person
from pinproof.submit.worktree import locked_clone, require_toplevel, worktree_at

from tests.submit.conftest import FIXED, MODEL, PERSON, Hub, git, review_of

NAME = "pinproof/kimi-k3-megamoe-situ-kwargs"


def make(hub: Hub, patch: Patch, policy: Policy, person: Person = PERSON) -> Branch:
    with locked_clone(hub.clone), worktree_at(hub.clone, "upstream/main") as path:
        made = commit_patch(path, patch, review_of(patch, hub.tree(), person=person), policy)
        publish_locally(hub.clone, made)
    return made


def test_the_branch_is_one_signed_commit_on_the_base(hub: Hub, patch: Patch, policy: Policy) -> None:
    made = make(hub, patch, policy)
    assert made.name == NAME
    assert git(hub.clone, "rev-parse", NAME) == made.commit
    assert git(hub.clone, "rev-parse", f"{NAME}^") == git(hub.clone, "rev-parse", "upstream/main")
    assert git(hub.clone, "show", f"{NAME}:{MODEL}") == FIXED.strip()
    shown = git(hub.clone, "log", "-1", "--format=%an <%ae>|%cn <%ce>|%s", NAME)
    who = "Test Person <test@example.org>"
    assert shown == f"{who}|{who}|[Bugfix][Model] Fix the Kimi-K3 MegaMoE SiTU keyword names"


def test_the_checkout_index_and_head_stay_as_they_are(hub: Hub, patch: Patch, policy: Policy) -> None:
    (hub.clone / MODEL).write_text("dirty\n")
    (hub.clone / "new.txt").write_text("untracked\n")
    before = (git(hub.clone, "status", "--porcelain"), git(hub.clone, "rev-parse", "HEAD"))
    with locked_clone(hub.clone), worktree_at(hub.clone, "upstream/main") as path:
        from pinproof.tree import open_tree

        commit_patch(path, patch, review_of(patch, open_tree(path)), policy)
    assert (git(hub.clone, "status", "--porcelain"), git(hub.clone, "rev-parse", "HEAD")) == before
    assert (hub.clone / MODEL).read_text() == "dirty\n"
    assert git(hub.clone, "worktree", "list", "--porcelain").count("worktree ") == 1


def test_making_it_again_gives_the_same_commit(hub: Hub, patch: Patch, policy: Policy) -> None:
    assert make(hub, patch, policy) == make(hub, patch, policy)


def test_the_result_is_clean_for_git_am(hub: Hub, patch: Patch, policy: Policy, tmp_path: Path) -> None:
    make(hub, patch, policy)
    git(hub.clone, "format-patch", "-q", "-1", "-o", str(tmp_path / "out"), NAME)
    git(tmp_path, "clone", "-q", str(hub.upstream), "fresh")
    git(tmp_path / "fresh", "am", "-q", "--keep-non-patch", *map(str, (tmp_path / "out").iterdir()))
    assert (tmp_path / "fresh" / MODEL).read_text() == FIXED


def test_a_person_with_a_name_outside_ascii_is_the_author(hub: Hub, patch: Patch, policy: Policy) -> None:
    made = make(hub, patch, policy, Person(name="Zoë Ünal", email="z@example.org"))
    assert git(hub.clone, "log", "-1", "--format=%an", made.commit) == "Zoë Ünal"


def test_a_branch_that_a_person_went_on_with_is_not_replaced(hub: Hub, patch: Patch, policy: Policy) -> None:
    made = make(hub, patch, policy)
    git(hub.clone, "update-ref", f"refs/heads/{NAME}", "upstream/main")
    with pytest.raises(Refused, match="holds commits that pinproof did not make"):
        publish_locally(hub.clone, made)


def test_a_branch_of_ours_follows_a_moved_base(hub: Hub, patch: Patch, policy: Policy) -> None:
    first = make(hub, patch, policy)
    hub.advance("README.md", "new")
    git(hub.clone, "fetch", "-q", "upstream")
    second = make(hub, patch, policy)
    assert first.commit != second.commit == git(hub.clone, "rev-parse", NAME)


def test_a_branch_that_is_checked_out_is_not_moved(hub: Hub, patch: Patch, policy: Policy) -> None:
    make(hub, patch, policy)
    git(hub.clone, "switch", "-q", NAME)
    hub.advance("README.md", "new")
    git(hub.clone, "fetch", "-q", "upstream")
    with pytest.raises(Refused, match="is checked out"):
        make(hub, patch, policy)


@pytest.mark.parametrize(
    "line", ["From: Mallory <m@example.org>", "Subject: other", "diff -u x", "Index: x", "---", "-- >8 --"]
)
def test_prose_that_means_something_to_git_am_never_changes_the_commit_unseen(
    hub: Hub, patch: Patch, policy: Policy, line: str
) -> None:
    raw = patch.raw.replace(b"The DeepGEMM pin moved", line.encode() + b"\n\nThe DeepGEMM pin moved", 1)
    hostile = parse_patch(raw, patch.name)
    try:
        made = make(hub, hostile, policy)
    except (Refused, Conflict):
        assert "pinproof" not in git(hub.clone, "for-each-ref", "refs/heads")
    else:
        author, message = git(hub.clone, "log", "-1", "--format=%an <%ae>%x00%B", made.commit).split("\0")
        assert author == "Test Person <test@example.org>"
        assert message.split() == made.message.split()
        assert line in message or line == "---"  # which ends the message, for our parser as for git's
        assert git(hub.clone, "show", f"{made.commit}:{MODEL}") == FIXED.strip()


def test_hooks_and_filters_of_the_clone_do_not_run(
    hub: Hub, patch: Patch, policy: Policy, tmp_path: Path
) -> None:
    marker = tmp_path / "ran"
    for hook in (
        "applypatch-msg",
        "pre-applypatch",
        "post-applypatch",
        "post-checkout",
        "reference-transaction",
    ):
        path = hub.clone / ".git/hooks" / hook
        path.write_text(f"#!/bin/sh\ntouch {marker}\n")
        path.chmod(0o755)
    git(hub.clone, "config", "filter.evil.smudge", f"touch {marker}; cat")
    git(hub.clone, "config", "filter.evil.clean", f"touch {marker}; cat")
    (hub.clone / ".git/info/attributes").write_text("* filter=evil\n")
    made = make(hub, patch, policy)
    assert not marker.exists()
    assert git(hub.clone, "log", "-1", "--format=%H", NAME) == made.commit


def test_a_folder_that_is_no_clone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="is not a git clone"):
        require_toplevel(tmp_path)


def test_a_second_submit_in_the_same_clone_is_refused(hub: Hub) -> None:
    with (
        locked_clone(hub.clone),
        pytest.raises(Refused, match="another submit is at work in this clone"),
        locked_clone(hub.clone),
    ):
        pass


def test_a_run_killed_in_the_worktree_leaves_no_branch_and_the_next_one_clears_up(
    hub: Hub, patch: Patch, policy: Policy
) -> None:
    code = (
        "import os, sys\nfrom pathlib import Path\n"
        "from pinproof.submit.worktree import locked_clone, worktree_at\n"
        "root = Path(sys.argv[1])\n"
        "with locked_clone(root), worktree_at(root, 'upstream/main') as path:\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(hub.clone)], env=os.environ, check=False)
    assert done.returncode == -signal.SIGKILL
    assert git(hub.clone, "worktree", "list", "--porcelain").count("worktree ") == 2
    assert "pinproof" not in git(hub.clone, "for-each-ref")
    make(hub, patch, policy)
    assert git(hub.clone, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert list((Path(os.environ["PINPROOF_CACHE"]) / "submit").iterdir()) == []
