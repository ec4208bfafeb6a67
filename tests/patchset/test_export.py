"""An export gives the same bytes on every machine, and refreshes a patch that was edited in the tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from pinproof.errors import Conflict
from pinproof.patchset.export import canonical, export_series
from pinproof.patchset.patchfile import Patch, parse_patch
from pinproof.tree import open_tree

from tests.trees import MODEL, model_file


def section_masked(raw: bytes) -> list[bytes]:
    """A patch without what depends on the rest of the file: blob ids and the text after the second @@."""
    lines = [line for line in raw.split(b"\n") if not line.startswith(b"index ")]
    return [b"@@".join(line.split(b"@@")[:2]) if line.startswith(b"@@") else line for line in lines]


@pytest.mark.parametrize("fixed", [False, True])
def test_a_tree_with_the_patch_in_or_out_exports_it(broken_tree: Path, patch: Patch, fixed: bool) -> None:
    (broken_tree / MODEL).write_bytes(model_file(patch, fixed=fixed))
    made = export_series([patch], open_tree(broken_tree))[patch.name]
    assert section_masked(made) == section_masked(patch.raw)


def test_an_export_of_an_export_changes_nothing(broken_tree: Path, patch: Patch) -> None:
    made = export_series([patch], open_tree(broken_tree))[patch.name]
    again = export_series([parse_patch(made, patch.name)], open_tree(broken_tree))[patch.name]
    assert made == again


def test_an_edit_beside_the_applied_patch_goes_into_it(broken_git_tree: Path, patch: Patch) -> None:
    (broken_git_tree / MODEL).write_bytes(model_file(patch, fixed=True) + b"# refreshed\n")
    made = parse_patch(export_series([patch], open_tree(broken_git_tree))[patch.name], patch.name)
    assert len(made.diffs[0].hunks) == 2
    assert made.diffs[0].hunks[1].lines[-1] == b"+# refreshed\n"


def test_an_edit_of_the_patchs_own_lines_refreshes_it_against_the_commit(
    broken_git_tree: Path, patch: Patch
) -> None:
    edited = model_file(patch, fixed=True).replace(b"situ_beta=self.activation_beta", b"situ_beta=self.beta")
    (broken_git_tree / MODEL).write_bytes(edited)
    made = export_series([patch], open_tree(broken_git_tree))[patch.name]
    assert b"+            situ_beta=self.beta,\n" in made
    assert b"-            activation_beta=self.activation_beta,\n" in made


def test_the_users_git_config_does_not_show_in_the_bytes(
    broken_tree: Path, patch: Patch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = export_series([patch], open_tree(broken_tree))[patch.name]
    config = tmp_path / "loud-config"
    config.write_text(
        "[diff]\n\tnoprefix = true\n\tcontext = 9\n\talgorithm = patience\n\tmnemonicPrefix = true\n"
        "[format]\n\tsignature = me\n\tsignOff = true\n\tattach = x\n\tto = a@b.c\n\tsubjectPrefix = RFC\n"
        "[core]\n\tautocrlf = true\n\tabbrev = 7\n[user]\n\tname = Someone\n\temail = s@e.x\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    assert export_series([patch], open_tree(broken_tree))[patch.name] == plain


def test_a_tree_that_fits_neither_way_is_a_conflict_with_its_hunk(broken_tree: Path, patch: Patch) -> None:
    (broken_tree / MODEL).write_bytes(b"other\n")
    with pytest.raises(Conflict, match="hunk 1"):
        export_series([patch], open_tree(broken_tree))


def test_git_am_takes_the_exported_patch(broken_git_tree: Path, patch: Patch) -> None:
    made = export_series([patch], open_tree(broken_git_tree))[patch.name]
    subprocess.run(["git", "am", "-q", "-"], input=made, cwd=broken_git_tree, check=True)
    assert (broken_git_tree / MODEL).read_bytes() == model_file(patch, fixed=True)


def test_the_canonical_form_of_the_real_patch_is_its_bytes(patch: Patch) -> None:
    assert canonical(patch) == patch.raw
