"""Records are listed, shown, imported after validation, and skipped under a name."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from msgspec.structs import replace
from pinproof.cli import main
from pinproof.errors import InputError, Refused
from pinproof.gate import GateName
from pinproof.patchset.patchfile import Patch, parse_patch
from pinproof.submit.evidence import record
from pinproof.submit.importing import import_record
from pinproof.submit.policy import Policy
from pinproof.submit.records import EvidenceRecord, encode, sealed
from pinproof.submit.store import Store, keep, load_evidence, save
from pinproof.tree import Tree

from tests.submit.conftest import BROKEN, MODEL, NAME, NOW
from tests.submit.planted import planted, proved, store_all


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


def kinds(store: Store, patch: Patch) -> list[str]:
    return sorted(file.stem for file in store.folder(patch).glob("*.json"))


def made_for(patch: Patch, tree: Tree, gate: GateName = "smoke", now: datetime = NOW) -> EvidenceRecord:
    return record(patch, tree, proved(patch, tree)[gate], now)


def test_a_sound_record_from_elsewhere_is_taken_in(patch: Patch, tree: Tree, policy: Policy) -> None:
    made = made_for(patch, tree)
    assert import_record(encode(made), "smoke.json", patch, tree, policy, NOW) == made


def test_a_record_of_another_patch_is_foreign(patch: Patch, tree: Tree, policy: Policy) -> None:
    other = parse_patch(patch.raw.replace(b"The values do not change", b"No value changes"), NAME)
    with pytest.raises(Refused, match="is about another patch"):
        import_record(encode(made_for(other, tree)), "smoke.json", patch, tree, policy, NOW)


def test_a_record_of_another_tree_is_foreign(patch: Patch, tree: Tree, policy: Policy) -> None:
    other = tree.with_changes({MODEL: b"# more\n" + BROKEN.encode()})
    with pytest.raises(Refused, match=r"does not speak about this tree: .* is another file"):
        import_record(encode(made_for(patch, other)), "smoke.json", patch, tree, policy, NOW)


def test_a_record_whose_outcome_does_not_follow_is_refused(patch: Patch, tree: Tree, policy: Policy) -> None:
    made = made_for(patch, tree)
    rungs = [{**made.details["rungs"][0], "outcome": "error", "summary": "boom"}]
    lie = sealed(replace(made, details={**made.details, "rungs": rungs}))
    with pytest.raises(InputError, match="says pass, but the bind rung says error: boom"):
        import_record(encode(lie), "smoke.json", patch, tree, policy, NOW)


def test_a_record_with_another_gates_details_is_refused(patch: Patch, tree: Tree, policy: Policy) -> None:
    lie = sealed(replace(made_for(patch, tree), details=planted({})["pre-commit"].details))
    with pytest.raises(InputError, match="its details are not those of this gate"):
        import_record(encode(lie), "smoke.json", patch, tree, policy, NOW)


def test_a_record_that_is_too_old_is_refused(patch: Patch, tree: Tree, policy: Policy) -> None:
    made = made_for(patch, tree, "duplicates")
    with pytest.raises(Refused, match="25 h old"):
        import_record(encode(made), "d.json", patch, tree, policy, NOW + timedelta(hours=25))


def test_add_stores_a_record_and_refuses_a_damaged_one(
    patch: Patch, tree: Tree, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gpu.json"
    file.write_bytes(encode(made_for(patch, tree)))
    assert main(["evidence", "add", str(file), "0001", tree.name]) == 0
    assert kinds(store, patch) == ["smoke"]
    file.write_bytes(file.read_bytes()[:-9])
    assert main(["evidence", "add", str(file), "0001", tree.name]) == 2
    assert "gpu.json: is truncated or damaged" in capsys.readouterr().err
    assert kinds(store, patch) == ["smoke"]


def test_a_dated_ahead_record_is_refused_by_the_command(
    patch: Patch, tree: Tree, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gpu.json"
    ahead = datetime.now(timezone.utc) + timedelta(days=1)
    file.write_bytes(encode(made_for(patch, tree, now=ahead)))
    assert main(["evidence", "add", str(file), "0001", tree.name]) == 2
    assert "dated in the future" in capsys.readouterr().err
    assert kinds(store, patch) == []


def test_list_shows_every_item_and_exits_1_while_one_is_open(
    patch: Patch, tree: Tree, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    store_all(store, patch, tree, datetime.now(timezone.utc))
    assert main(["evidence", "list", "0001", tree.name, "--json"]) == 1
    found = {item["item"]: item for item in json.loads(capsys.readouterr().out)["items"]}
    assert found["smoke"]["state"] == "met"
    assert found["smoke"]["date"].endswith("Z")
    assert found["review"]["state"] == "missing"


def test_show_prints_the_record_as_stored(
    patch: Patch, tree: Tree, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    save(store, patch, made_for(patch, tree))
    assert main(["evidence", "show", "smoke", "0001"]) == 0
    assert capsys.readouterr().out.encode() == store.path(patch, "smoke").read_bytes()
    assert main(["evidence", "show", "compile", "0001"]) == 2


def test_skip_records_reason_and_name(
    patch: Patch, tree: Tree, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evidence", "skip", "smoke", "0001", tree.name]
    assert main([*command, "--because", "no SM100 GPU is available here"]) == 0
    assert kinds(store, patch) == ["skip-smoke"]
    assert "skipped by Test Person <test@example.org>" in capsys.readouterr().out
    assert main(command) == 2
    assert main(["evidence", "skip", "contract", "0001", tree.name, "--because", "it is slow today"]) == 3
    assert main(["evidence", "skip", "magic", "0001", tree.name, "--because", "it is slow today"]) == 2


@pytest.mark.parametrize("action", ["add", "skip", "show"])
def test_an_action_without_its_arguments_says_how_it_is_used(
    action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evidence", action]) == 2
    assert f"usage: pinproof evidence {action}" in capsys.readouterr().err


def test_keep_stores_what_a_command_ran(patch: Patch, tree: Tree, store: Store) -> None:
    path = keep(patch, tree, proved(patch, tree)["compile"])
    assert path == store.path(patch, "compile")
    made = load_evidence(store, patch, "compile", datetime.now(timezone.utc))
    assert made is not None
    assert made.outcome == "pass"


def test_no_path_of_the_machine_is_in_any_stored_record(patch: Patch, tree: Tree, store: Store) -> None:
    store_all(store, patch, tree)
    for file in store.folder(patch).iterdir():
        assert str(tree.root) not in file.read_text()
        assert str(Path.home()) + "/" not in file.read_text()
