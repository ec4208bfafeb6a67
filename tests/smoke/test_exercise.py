from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pinproof.errors import InputError, Refused
from pinproof.patchset.patchfile import Patch, parse_patch
from pinproof.smoke import exercise
from pinproof.smoke.probe import CallSite
from pinproof.smoke.record import Statement
from pinproof.smoke.registry import load, names
from pinproof.tree import Tree, open_tree

from tests.smoke.patches import patch_between

SOURCE = '''"""A module."""
import os


class Experts:
    """Some experts."""

    def forward(self, x):
        """Run."""
        # a comment
        if x:
            kernel(
                x,
                beta=self.beta,
            )
        return x


def other():
    return helper(1)
'''


def changed_by(tmp_path: Path, old: str, new: str, *, holds: str = "new") -> tuple[Statement, ...]:
    """The statements that replacing `old` by `new` in SOURCE changes, in a tree that holds one side."""
    after = SOURCE.replace(old, new)
    assert after != SOURCE
    patch = patch_between("vllm/a.py", SOURCE, after)
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm/__init__.py").touch()
    (tmp_path / "vllm/a.py").write_text(after if holds == "new" else SOURCE)
    return exercise.changed_statements(open_tree(tmp_path), patch)


@pytest.mark.parametrize("holds", ["new", "old"])
def test_a_changed_keyword_is_the_whole_call_in_its_scope(tmp_path: Path, holds: str) -> None:
    (found,) = changed_by(tmp_path, "beta=self", "situ_beta=self", holds=holds)
    assert (found.first, found.last, found.scope) == (12, 15, "Experts.forward")
    assert found.calls == ("kernel",)


@pytest.mark.parametrize("holds", ["new", "old"])
def test_a_dropped_keyword_is_the_call_around_the_gap(tmp_path: Path, holds: str) -> None:
    (found,) = changed_by(tmp_path, "                beta=self.beta,\n", "", holds=holds)
    assert found.first == 12
    assert found.scope == "Experts.forward"


@pytest.mark.parametrize(
    ("old", "new"),
    [("# a comment", "# another"), ("        # a comment\n", "\n        # a comment\n"),
     ("                x,\n", "                # of tokens\n                x,\n")],
    ids=["comment", "blank line", "comment inside a call"],
)  # fmt: skip
def test_comments_and_blank_lines_change_no_statement(tmp_path: Path, old: str, new: str) -> None:
    assert changed_by(tmp_path, old, new) == ()


def test_a_docstring_is_no_statement_that_is_run(tmp_path: Path) -> None:
    found = changed_by(tmp_path, '"""Run."""', '"""Run it."""')
    assert [part.calls for part in found] in ([], [()])


def test_a_changed_condition_is_its_header_only(tmp_path: Path) -> None:
    (found,) = changed_by(tmp_path, "if x:", "if x is not None:")
    assert (found.first, found.last) == (11, 11)


def test_a_patch_that_does_not_go_with_the_tree_is_refused(tmp_path: Path) -> None:
    patch = patch_between("vllm/a.py", "a = 1\n", "a = 2\n")
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm/__init__.py").touch()
    (tmp_path / "vllm/a.py").write_text("b = 7\n")
    with pytest.raises(Refused, match="neither stands in"):
        exercise.changed_statements(open_tree(tmp_path), patch)


def test_a_probe_refuses_a_patch_none_of_whose_calls_it_exercises(tmp_path: Path) -> None:
    """The case that once passed: a comment in another file, and a call in another function."""
    found = changed_by(tmp_path, "helper(1)", "helper(2)")
    patch = patch_between("vllm/a.py", SOURCE, SOURCE.replace("helper(1)", "helper(2)"))
    for name in names():
        with pytest.raises(Refused, match=r"exercises nothing that .* changes: .*vllm/a.py:20 \(helper"):
            exercise.refuse_unrelated(load(name), patch, found)


def test_the_real_patch_is_exercised_by_its_own_probe_and_by_no_other(
    broken_tree: Path, patch: Patch
) -> None:
    changed = exercise.changed_statements(open_tree(broken_tree), patch)
    fitting = [name for name in names() if exercise.exercised_by(load(name), changed)]
    assert fitting == [patch.field("Probe")] == ["kimi_k3_megamoe"]


def test_a_call_in_a_function_inside_the_site_belongs_to_it() -> None:
    site = CallSite("a.py", "C.forward", "k")
    assert site.holds("a.py", "C.forward")
    assert site.holds("a.py", "C.forward.inner")
    assert not site.holds("a.py", "C.forward_other")
    assert not site.holds("a.py", "C")
    assert not site.holds("b.py", "C.forward")


def test_only_statements_of_which_a_line_was_run_count() -> None:
    parts = [Statement("a.py", 3, 5, "f"), Statement("a.py", 9, 9, "g"), Statement("b.py", 3, 5, "h")]
    assert exercise.were_run(parts, {"a.py": [5, 20]}) == (parts[0],)
    assert exercise.were_run(parts, {}) == ()
    assert exercise.watch_list(parts) == {"a.py": [[3, 5], [9, 9]], "b.py": [[3, 5]]}


@given(st.lists(st.sampled_from(["a = 1", "b = f(2)", "# c", "", "    "]), max_size=8),
       st.lists(st.sampled_from(["a = 1", "b = f(3)", "# d", ""]), max_size=8))  # fmt: skip
def test_changed_lines_are_lines_of_the_text_and_equal_texts_have_none(
    mine: list[str], other: list[str]
) -> None:
    assert exercise.changed_lines(mine, mine) == []
    assert all(1 <= line <= max(len(mine), 1) for line in exercise.changed_lines(mine, other))


@pytest.mark.parametrize("name", ["nothing", "../kimi_k3_megamoe", "os", ""])
def test_only_shipped_probes_are_loaded(name: str) -> None:
    with pytest.raises(InputError, match="there is no probe") as caught:
        load(name)
    assert "kimi_k3_megamoe" in str(caught.value.hint)


@pytest.mark.parametrize("name", names())
def test_every_shipped_probe_is_complete(name: str) -> None:
    probe = load(name)
    assert probe.name == name
    assert probe.calls
    assert "bind" in probe.rungs
    folder = Path(exercise.__file__).parent / "probes" / name
    assert (folder / "verdicts.py").is_file()
    assert (folder / "child/bind.py").is_file()


def test_a_file_that_is_not_python_holds_no_statement(tmp_path: Path) -> None:
    patch = patch_between("vllm/a.json", "{}\n", "[]\n")
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm/__init__.py").touch()
    (tmp_path / "vllm/a.json").write_text("[]\n")
    tree: Tree = open_tree(tmp_path)
    assert exercise.changed_statements(tree, patch) == ()
    assert parse_patch(patch.raw, "0009-x.patch").paths() == ("vllm/a.json",)
