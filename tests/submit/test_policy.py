"""A policy is data: a malformed one is refused by its key, and titles and sizes follow it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from pinproof.errors import InputError
from pinproof.gate import GATES
from pinproof.patchset.patchfile import Patch
from pinproof.submit.policy import BLOCKS, Policy, counted_lines, load_policy, title_fault

VLLM = Path(__file__).resolve().parents[2] / "tools/pinproof/submit/policies/vllm.toml"


def test_vllms_policy_asks_for_every_gate_and_a_person(policy: Policy) -> None:
    assert {gate for gate, asked in policy.gates.items() if asked.required} == set(GATES)
    assert policy.human.review
    assert policy.human.assistance
    assert policy.gates["duplicates"].max_age_hours == 24
    assert [gate for gate, asked in policy.gates.items() if asked.may_skip] == ["smoke"]


def test_every_block_is_used_in_both_shapes_of_the_template(policy: Policy) -> None:
    sections = policy.body.sections
    for shape in (("Purpose", "Test Plan", "Test Result"), ("Overview", "Claims", "Validation", "Details")):
        used = {block for name in shape for block in sections[name]}
        assert set(BLOCKS) - used <= {"claims"}


def test_a_policy_of_ones_own_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(VLLM.read_text().replace("rfc_over_lines = 500", "rfc_over_lines = 5"))
    assert load_policy(str(file)).size.rfc_over_lines == 5


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("required = true", "required = 3", r"gates\[\.\.\.\]\.required"),
        ("[gates.contract]", "[gates.magic]", "Invalid enum value 'magic'"),
        ('"summary", "root-cause"', '"poem", "root-cause"', "Invalid enum value 'poem'"),
        ("review = true", "review = true\nhurry = true", "unknown field `hurry`"),
        ('schema = "pinproof.policy/1"', 'schema = "pinproof.policy/9"', "schema"),
        ("[size]", "[size", "mine.toml: "),
    ],
)
def test_a_malformed_policy_is_refused_by_its_key(tmp_path: Path, old: str, new: str, says: str) -> None:
    file = tmp_path / "mine.toml"
    text = VLLM.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=says):
        load_policy(str(file))


def test_an_unknown_policy_names_those_there_are() -> None:
    with pytest.raises(InputError, match="no policy 'nope'") as caught:
        load_policy("nope")
    assert "vllm" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("title", "fault"),
    [
        ("[Bugfix] Fix it", None),
        ("[Bugfix][Model] Fix it", None),
        ("[CI/Build][KV Connector] Fix it", None),
        ("[bugfix] Fix it", None),
        ("Fix it", "one or more [tags]"),
        ("[Bugfix] [Model] Fix it", "without spaces between them"),
        ("[Bugfix]Fix it", "one or more [tags]"),
        ("[Magic] Fix it", "[Magic] is not a tag"),
        ("[Bugfix] " + "x" * 200, "characters; 120 are allowed"),
    ],
)
def test_titles_follow_the_policy(policy: Policy, title: str, fault: str | None) -> None:
    found = title_fault(title, policy)
    assert (found is None) if fault is None else (fault in (found or ""))


def test_lines_count_where_the_policy_counts_them(patch: Patch, policy: Policy) -> None:
    assert counted_lines(patch, policy) == 4
    other = replace(policy, size=replace(policy.size, not_counted=["vllm/*"]))
    assert counted_lines(patch, other) == 0
