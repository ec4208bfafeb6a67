"""Git's own words about commits and diffs are read back whole."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from pinproof.duplicates.history import Trunk, changed_files, commits, diffs

from tests.duplicates.git_server import BEFORE, FILE, Upstream, changed


@pytest.fixture
def upstream(tmp_path: Path) -> Upstream:
    return Upstream(tmp_path, "owner/name")


def test_a_diff_is_read_as_paths_and_hunks() -> None:
    text = (
        "diff --git a/gone.py b/gone.py\ndeleted file mode 100644\nindex 1..0\n--- a/gone.py\n+++ /dev/null\n"
        "@@ -1 +0,0 @@\n-x\n"
        "diff --git a/old name.py b/new name.py\nsimilarity index 90%\nrename from old name.py\n"
        "rename to new name.py\n--- a/old name.py\t\n+++ b/new name.py\t\n@@ -1 +1 @@\n-a\n+b\n"
        "diff --git a/logo.png b/logo.png\nindex 1..2 100644\nBinary files a/logo.png and b/logo.png differ\n"
        "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
    )
    assert changed_files(text) == [
        ("gone.py", "@@ -1 +0,0 @@\n-x\n"),
        ("new name.py", "@@ -1 +1 @@\n-a\n+b\n"),
        ("logo.png", None),
        ("run.sh", ""),
    ]


def test_the_base_of_a_branch_is_what_git_calls_its_merge_base(upstream: Upstream) -> None:
    upstream.commit("topic", {FILE: changed(BEFORE, 3, "x")}, "First", "2026-01-02T00:00:00Z")
    upstream.commit("main", {"README.md": "two\n"}, "Go on", "2026-01-03T00:00:00Z")
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "checkout", "-q", "topic"], cwd=upstream.tree, check=True)
    subprocess.run([*git, "merge", "-q", "--no-edit", "main"], cwd=upstream.tree, check=True)
    upstream.commit("main", {"README.md": "three\n"}, "Further", "2026-01-04T00:00:00Z")
    known = list(commits(upstream.tree, ["main"]))
    side = {made.id: made.parents for made in commits(upstream.tree, ["topic", "^main"])}
    head = subprocess.run(
        ["git", "rev-parse", "topic"], cwd=upstream.tree, capture_output=True, text=True, check=True
    ).stdout.strip()
    asked = subprocess.run(
        ["git", "merge-base", "topic", "main"], cwd=upstream.tree, capture_output=True, text=True, check=True
    )
    assert Trunk(known).base(head, side) == asked.stdout.strip()
    assert Trunk([]).base(head, side) is None


def test_a_pair_that_cannot_be_read_does_not_hide_the_others(upstream: Upstream) -> None:
    upstream.commit("main", {FILE: changed(BEFORE, 3, "x")}, "Then", "2026-01-02T00:00:00Z")
    last, first = commits(upstream.tree, ["main"])
    pairs = [(first.tree, last.tree), ("1" * 40, last.tree), (last.tree, first.tree), (last.tree, last.tree)]
    one, lost, other, same = diffs(upstream.tree, pairs)
    assert [path for path, _ in one or []] == [path for path, _ in other or []] == [FILE]
    assert lost is None
    assert same == []


def test_any_message_is_read(upstream: Upstream) -> None:
    upstream.commit("main", {"README.md": "x\n"}, "Fix it (#7)\n\nLine\n\n\x01 odd\n", "2026-01-02T00:00:00Z")
    last = next(commits(upstream.tree, ["main"]))
    assert (last.subject, last.body.strip()) == ("Fix it (#7)", "Line\n\n\x01 odd")
