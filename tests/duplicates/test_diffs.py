"""Two diffs are compared by what they change, not by where their bases put it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pinproof.duplicates.diffs import facts_of_files, facts_of_patch
from pinproof.patchset.patchfile import Patch

from tests.duplicates.conftest import KIMI, RENAME, patch_text


def test_the_same_change_on_another_base_has_the_same_id(patch: Patch) -> None:
    theirs = facts_of_files([(KIMI, patch_text(KIMI, *RENAME, at=12, context="moved"))])
    assert facts_of_patch(patch.diffs).change_id == theirs.change_id


def test_white_space_alone_makes_no_other_change() -> None:
    one = facts_of_files([("a.py", patch_text("a.py", ["x = 11"], ["x  =  12"]))])
    other = facts_of_files([("a.py", patch_text("a.py", ["    x = 11"], ["    x = 12"]))])
    assert one.change_id == other.change_id


def test_another_value_another_file_or_another_sign_is_another_change() -> None:
    ids = {
        facts_of_files([(path, patch_text(path, removed, added))]).change_id
        for path, removed, added in [
            ("a.py", ["beta = 1"], ["beta = 2"]), ("a.py", ["beta = 1"], ["beta = 3"]),
            ("b.py", ["beta = 1"], ["beta = 2"]), ("a.py", ["beta = 2"], ["beta = 1"]),
        ]
    }  # fmt: skip
    assert len(ids) == 4


def test_the_order_of_files_does_not_matter() -> None:
    files = [("a.py", patch_text("a.py", ["one = 1"], [])), ("b.py", patch_text("b.py", ["two = 2"], []))]
    assert facts_of_files(files).change_id == facts_of_files(files[::-1]).change_id


def test_a_diff_of_brackets_and_blank_lines_has_no_id() -> None:
    assert facts_of_files([("a.py", patch_text("a.py", ["", ")"], ["]"]))]).change_id is None


def test_names_are_told_by_side(patch: Patch) -> None:
    facts = facts_of_patch(patch.diffs)
    assert facts.added == {"situ_beta", "situ_linear_beta"}
    assert facts.removed == set()  # activation_beta stays as the value
    assert {"activation_beta", "activation_linear_beta"} <= facts.kept


def test_the_place_is_the_changed_lines_in_the_innermost_scope(patch: Patch) -> None:
    (place,) = facts_of_patch(patch.diffs).places
    assert (place.path, place.first, place.last, place.scope) == (KIMI, 489, 491, "kimik3megamoeexperts")
    inner = facts_of_files(
        [("a.py", "@@ -5,3 +5,3 @@ class A:\n     def inner(self):\n-        x = 1\n+        x = 2")]
    )
    assert inner.places[0].scope == "inner"


def test_a_file_that_github_left_out_is_said_to_be_missing() -> None:
    facts = facts_of_files([("big.json", None), ("a.py", patch_text("a.py", ["beta = 1"], ["beta = 2"]))])
    assert not facts.whole
    assert facts.lines


@given(st.text())
def test_any_text_in_place_of_a_patch_is_survived(text: str) -> None:
    facts_of_files([("a.py", text), ("b.py", f"@@ -1,1 +1,1 @@\n{text}")])
