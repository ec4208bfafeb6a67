"""The checklist is ticked by records only; what a person must answer stays open; docs show the same items."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest
from pinproof.cli import main
from pinproof.patchset.patchfile import Patch, parse_patch
from pinproof.submit.checklist import as_markdown, fill, load_checklist
from pinproof.submit.policy import Policy
from pinproof.submit.store import Store, save
from pinproof.tree import Tree

from tests.submit.conftest import NAME, NOW, review_of
from tests.submit.planted import store_all

REPO = Path(__file__).resolve().parents[2]
BY_RECORD = [item.by for item in load_checklist() if item.by != "person"]


def ticks(patch: Patch, tree: Tree | None, policy: Policy, store: Store) -> dict[str, bool]:
    return {
        one.item.by: one.ticked for one in fill(patch, tree, policy, store, NOW) if one.item.by != "person"
    }


@pytest.mark.parametrize("with_tree", [True, False])
def test_with_all_records_every_item_but_the_persons_is_ticked(
    patch: Patch, tree: Tree, policy: Policy, store: Store, with_tree: bool
) -> None:
    store_all(store, patch, tree)
    save(store, patch, review_of(patch, tree))
    found = ticks(patch, tree if with_tree else None, policy, store)
    assert found == dict.fromkeys(BY_RECORD, True)


@pytest.mark.parametrize("with_tree", [True, False])
def test_without_records_nothing_is_ticked_by_one(
    patch: Patch, tree: Tree, policy: Policy, store: Store, with_tree: bool
) -> None:
    found = ticks(patch, tree if with_tree else None, policy, store)
    assert not any(ticked for name, ticked in found.items() if name != "lint")


@pytest.mark.parametrize("with_tree", [True, False])
def test_records_of_an_edited_patch_tick_nothing(
    patch: Patch, tree: Tree, policy: Policy, store: Store, with_tree: bool
) -> None:
    store_all(store, patch, tree)
    save(store, patch, review_of(patch, tree))
    edited = parse_patch(patch.raw.replace(b"The values do not change", b"No value changes"), NAME)
    found = ticks(edited, tree if with_tree else None, policy, store)
    assert not any(ticked for name, ticked in found.items() if name != "lint")


def test_a_persons_items_are_never_ticked(patch: Patch, tree: Tree, policy: Policy, store: Store) -> None:
    store_all(store, patch, tree)
    mine = [one for one in fill(patch, tree, policy, store, NOW) if one.item.by == "person"]
    assert mine
    assert {(one.ticked, one.why) for one in mine} == {(False, "asked of you")}


def test_each_ticked_item_links_its_record(patch: Patch, tree: Tree, policy: Policy, store: Store) -> None:
    store_all(store, patch, tree)
    shown = as_markdown(fill(patch, tree, policy, store, NOW), patch)
    assert f"([record](evidence/{NAME.removesuffix('.patch')}/contract.json))" in shown
    assert "*missing: no person has read every hunk yet*" in shown


def test_a_forged_record_ticks_nothing_and_says_so(
    patch: Patch, tree: Tree, policy: Policy, store: Store
) -> None:
    store_all(store, patch, tree)
    path = store.path(patch, "compile")
    path.write_bytes(path.read_bytes().replace(b"under Python", b"under any Python"))
    for where in (tree, None):
        found = {one.item.by: one for one in fill(patch, where, policy, store, NOW)}["compile"]
        assert not found.ticked
        assert "record refused" in found.why


def test_the_command_prints_it_and_exits_1_while_a_record_is_missing(
    patch: Patch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "series").write_text(NAME + "\n")
    (tmp_path / NAME).write_bytes(patch.raw)
    assert main(["checklist", "0001", "--patches", str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith("Reviewer's checklist of `0001-")
    assert main(["checklist", "0001", "--patches", str(tmp_path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["schema"] == "pinproof.checklist/1"


@pytest.mark.parametrize("page", ["docs/reviewer-checklist.md", ".github/PULL_REQUEST_TEMPLATE.md"])
def test_the_pages_show_every_item(page: str) -> None:
    words = " ".join((REPO / page).read_text().split())
    for item in load_checklist():
        assert item.text in words, f"{page} lacks: {item.text}"


def test_the_exported_schema_is_current() -> None:
    from pinproof.submit.evidence import schema_text

    assert (REPO / "docs/evidence.schema.json").read_text() == schema_text(), (
        "run: pinproof evidence schema > docs/evidence.schema.json"
    )


def test_records_are_valid_by_the_exported_schema(patch: Patch, tree: Tree, store: Store) -> None:
    import jsonschema

    store_all(store, patch, tree)
    save(store, patch, review_of(patch, tree, now=datetime.now(timezone.utc)))
    validator = jsonschema.Draft202012Validator(json.loads((REPO / "docs/evidence.schema.json").read_text()))
    files = sorted(store.folder(patch).iterdir())
    assert len(files) == 6
    for file in files:
        validator.validate(json.loads(file.read_text()))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**json.loads(files[0].read_text()), "outcome": "splendid"})
