"""Status says what is known and names what is not; it never guesses about upstream."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from pinproof.cli import main
from pinproof.errors import CannotCheck
from pinproof.patchset.patchfile import Patch, parse_patch
from pinproof.submit.status import patch_status
from pinproof.submit.store import Store
from pinproof.tree import Tree

from tests.submit.conftest import FIXED, MODEL, NAME, NOW
from tests.submit.planted import store_all

URL = "https://github.com/vllm-project/vllm/pull/52445"


def submitted(patch: Patch) -> Patch:
    return parse_patch(patch.raw.replace(b"Status: Pending", f"Status: Submitted [{URL}]".encode()), NAME)


@pytest.fixture
def gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A gh that answers with the file `answer`, and only when it is asked for exactly this."""
    wanted = ["pr", "view", URL, "--json", "state,isDraft,reviewDecision,mergedAt"]
    (tmp_path / "gh").write_text(
        f"#!{sys.executable}\nimport pathlib, sys\nassert sys.argv[1:] == {wanted!r}, sys.argv\n"
        f"print(pathlib.Path({str(tmp_path / 'answer')!r}).read_text())\n"
    )
    (tmp_path / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return tmp_path / "answer"


def test_verdicts_and_records_are_listed(patch: Patch, tree: Tree, store: Store) -> None:
    store_all(store, patch, tree)
    fixed = replace_name(tree.with_changes({MODEL: FIXED.encode()}), "fixed")
    found = patch_status(patch, [replace_name(tree, "broken"), fixed], store, NOW)
    assert found.verdicts == {"broken": "needed", "fixed": "applied"}
    assert set(found.evidence.values()) == {"pass"}
    assert (found.stated, found.upstream) == ("Pending", None)


def replace_name(tree: Tree, name: str) -> Tree:
    from dataclasses import replace as with_field

    return with_field(tree, name=name)


def test_records_of_an_edited_patch_say_so(patch: Patch, tree: Tree, store: Store) -> None:
    store_all(store, patch, tree)
    edited = parse_patch(patch.raw.replace(b"The values do not change", b"No value changes"), NAME)
    assert set(patch_status(edited, [], store, NOW).evidence.values()) == {"edited"}


def test_a_damaged_record_says_refused(patch: Patch, tree: Tree, store: Store) -> None:
    store_all(store, patch, tree)
    store.path(patch, "smoke").write_text("{")
    assert patch_status(patch, [], store, NOW).evidence["smoke"] == "refused"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"state": "OPEN", "isDraft": True, "reviewDecision": "", "mergedAt": None}, "open, draft"),
        ({"state": "OPEN", "isDraft": False, "reviewDecision": "REVIEW_REQUIRED", "mergedAt": None},
         "open, review required"),
        ({"state": "MERGED", "isDraft": False, "reviewDecision": "APPROVED",
          "mergedAt": "2026-08-16T08:00:00Z"}, "merged 2026-08-16"),
        ({"state": "CLOSED"}, "not known: gh gave no answer that can be read"),
    ],
)  # fmt: skip
def test_upstreams_answer_is_told(
    patch: Patch, store: Store, gh: Path, answer: dict[str, object], says: str
) -> None:
    gh.write_text(json.dumps(answer))
    assert patch_status(submitted(patch), [], store, NOW).upstream == says


def test_without_gh_upstream_was_not_asked(
    patch: Patch, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert patch_status(submitted(patch), [], store, NOW).upstream == "not asked: gh is not installed"


def test_with_the_registry_out_of_reach_the_command_says_so_and_exits_5(
    patch: Patch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pinproof import releases

    def unreachable(project: str) -> list[str]:
        raise CannotCheck(f"cannot reach the package index for {project}")

    monkeypatch.setattr(releases, "versions", unreachable)
    (tmp_path / "series").write_text(NAME + "\n")
    (tmp_path / NAME).write_bytes(patch.raw)
    assert main(["status", "--patches", str(tmp_path)]) == 5
    assert "releases not looked at: cannot reach" in capsys.readouterr().out


def test_a_malformed_range_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--releases", "0.28.0"]) == 2
    assert "is not A..B" in capsys.readouterr().err


def test_the_struct_is_what_json_shows(patch: Patch, store: Store) -> None:
    import msgspec

    found = patch_status(patch, [], store, NOW)
    assert set(msgspec.to_builtins(replace(found))) == {"patch", "stated", "upstream", "verdicts", "evidence"}
