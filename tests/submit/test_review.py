"""A review is a person's: typed at a terminal, hunk by hunk, with what each gate proved in view."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest
from msgspec.structs import replace
from pinproof.cli import main
from pinproof.patchset.patchfile import Patch
from pinproof.submit.hunks import numbered_hunks
from pinproof.submit.policy import Policy
from pinproof.submit.records import ReviewRecord
from pinproof.submit.requirements import fresh_evidence
from pinproof.submit.review import proofs_for
from pinproof.submit.store import Store, load_review
from pinproof.tree import Tree

from tests.submit.conftest import MODEL, NAME, NOW, TEMPLATE_033, write_tree
from tests.submit.planted import store_all
from tests.submit.terminal import at_terminal

HUNK = ("answer for them? [yes/no]", "yes")
NO_AI = ("writing this patch? [yes/no]", "no")


@pytest.fixture
def patches(patch: Patch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "patches"
    folder.mkdir(exist_ok=True)
    (folder / "series").write_text(NAME + "\n")
    (folder / NAME).write_bytes(patch.raw)
    monkeypatch.setenv("PINPROOF_PATCHES", str(folder))
    return folder


def recorded(patches: Path, patch: Patch) -> ReviewRecord | None:
    return load_review(Store(patches / "evidence"), patch, datetime.now(timezone.utc))


def test_yes_to_every_hunk_and_the_answer_about_ai_are_recorded(
    patches: Path, patch: Patch, tree: Tree
) -> None:
    done = at_terminal(["review", "0001", tree.name], [HUNK, NO_AI])
    assert done.returncode == 0, done.output
    made = recorded(patches, patch)
    assert made is not None
    assert (made.person.name, made.person.email) == ("Test Person", "test@example.org")
    assert [(hunk.path, hunk.hunk) for hunk in made.hunks] == [(MODEL, 1)]
    assert (made.assistance.used, made.assistance.assistants) == (False, [])


def test_the_hunk_and_what_each_gate_proved_are_shown(patches: Path, patch: Patch, tree: Tree) -> None:
    store_all(Store(patches / "evidence"), patch, tree)
    done = at_terminal(["review", "0001", tree.name], [HUNK, NO_AI])
    assert "-            activation_beta=self.activation_beta," in done.output
    assert "contract: pass:" in done.output
    assert "pre-commit: pass: 2 hooks passed" in done.output


def test_a_no_records_nothing_and_exits_3(patches: Path, patch: Patch, tree: Tree) -> None:
    done = at_terminal(["review", "0001", tree.name], [(HUNK[0], "no")])
    assert done.returncode == 3
    assert recorded(patches, patch) is None


def test_anything_but_yes_or_no_is_asked_again(patches: Path, patch: Patch, tree: Tree) -> None:
    done = at_terminal(["review", "0001", tree.name], [(HUNK[0], "y"), (HUNK[0], ""), HUNK, NO_AI])
    assert done.returncode == 0, done.output


def test_assistants_must_be_named_when_ai_assisted(patches: Path, patch: Patch, tree: Tree) -> None:
    asked = ("Which assistants?", "")
    answers = [HUNK, (NO_AI[0], "yes"), asked, ("Which assistants?", "Some Assistant, Helper Two <h@x.org>")]
    assert at_terminal(["review", "0001", tree.name], answers).returncode == 0
    made = recorded(patches, patch)
    assert made is not None
    assert made.assistance.assistants == ["Some Assistant", "Helper Two <h@x.org>"]


def test_questions_of_upstreams_template_are_asked(patches: Path, patch: Patch, tmp_path: Path) -> None:
    root = write_tree(tmp_path / "new", **{".github/PULL_REQUEST_TEMPLATE.md": TEMPLATE_033})
    answers = [HUNK, NO_AI, ("pr-checklist skill", "no"), ("smallest change", "yes"), ("up to date", "yes")]
    assert at_terminal(["review", "0001", str(root)], answers).returncode == 0
    made = recorded(patches, patch)
    assert made is not None
    assert made.answers == {"pr-checklist": False, "design-fit": True, "quality": True}


def test_a_pipe_cannot_review(
    patches: Path, patch: Patch, tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["review", "0001", tree.name]) == 3
    assert "needs a person at a terminal" in capsys.readouterr().err
    assert recorded(patches, patch) is None


def test_no_flag_answers_for_the_person(
    patches: Path, tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["review", "0001", tree.name, "--yes"])
    assert caught.value.code == 2
    assert "unrecognized arguments: --yes" in capsys.readouterr().err


def test_the_end_of_input_records_nothing(patches: Path, patch: Patch, tree: Tree) -> None:
    done = at_terminal(["review", "0001", tree.name], [(HUNK[0], "\x04")])
    assert done.returncode == 3
    assert recorded(patches, patch) is None


def test_a_patch_edited_while_it_was_read_is_not_recorded(patches: Path, patch: Patch, tree: Tree) -> None:
    def edit() -> str:
        (patches / NAME).write_bytes(patch.raw + b"\n")
        return "no"

    done = at_terminal(["review", "0001", tree.name], [HUNK, (NO_AI[0], edit)])
    assert done.returncode == 3
    assert "changed while this ran" in done.output
    assert recorded(patches, patch) is None


def test_proofs_name_the_call_in_the_hunk_before_and_after(
    patch: Patch, tree: Tree, policy: Policy, store: Store
) -> None:
    store_all(store, patch, tree)
    (hunk,) = numbered_hunks(patch)
    # The small tree's file is shorter than the patch's line numbers: move the hunk to where it is there.
    here = replace(hunk, hunk=replace(hunk.hunk, old_start=10, new_start=10))
    lines = list(proofs_for(here, fresh_evidence(patch, tree, policy, store, NOW)))
    drift = "unexpected-keyword activation_beta, activation_linear_beta"
    assert f"deep_gemm.fp8_fp4_mega_moe {drift}" in lines[0]
    assert "deep_gemm.fp8_fp4_mega_moe binds" in lines[0]


def test_a_gate_without_evidence_says_so(patch: Patch) -> None:
    (hunk,) = numbered_hunks(patch)
    assert list(proofs_for(hunk, {})) == [
        f"{gate}: no evidence" for gate in ("contract", "compile", "pre-commit", "duplicates", "smoke")
    ]
