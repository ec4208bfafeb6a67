"""Upstream's own template decides sections and checklist; boxes are ticked by evidence, not by hope."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from pinproof.errors import InputError
from pinproof.submit.policy import Policy
from pinproof.submit.template import parse_template, questions_for, read_template, ticked
from pinproof.tree import Tree

from tests.submit.conftest import TEMPLATE_028, TEMPLATE_033

PATH = ".github/PULL_REQUEST_TEMPLATE.md"


def test_the_sections_of_both_shapes_keep_their_order() -> None:
    assert parse_template(TEMPLATE_028).sections == ("Purpose", "Test Plan", "Test Result")
    assert parse_template(TEMPLATE_033).sections == ("Overview", "Claims", "Validation", "Details")


def test_comments_boilerplate_and_what_the_bot_removes_are_left_out() -> None:
    tail = "\n".join(parse_template(TEMPLATE_033).tail)
    assert "<!--" not in tail
    assert "BEFORE SUBMITTING" not in tail
    assert tail.startswith("---\n\n<details>\n<summary> Pull Request Checklist </summary>")
    assert tail.endswith("</details>")


def test_the_trees_template_wins_over_the_policys(tree: Tree, policy: Policy) -> None:
    assert read_template(tree, policy).sections == ("Purpose", "Test Plan", "Test Result")
    other = tree.with_changes({PATH: TEMPLATE_033.encode()})
    assert read_template(other, policy).sections[0] == "Overview"


def test_a_section_that_the_policy_does_not_know_is_an_error(tree: Tree, policy: Policy) -> None:
    other = tree.with_changes({PATH: b"## Purpose\n\n## Benchmarks\n"})
    with pytest.raises(InputError, match="a section 'Benchmarks' that the policy does not know"):
        read_template(other, policy)


def test_foreign_markup_in_a_template_is_left_out() -> None:
    text = "## Purpose\n---\n<img src=x>\n- [ ] an item\n[link](https://x)\n<details>\n"
    assert parse_template(text).tail == ("---", "- [ ] an item", "<details>")


def boxes(text: str, policy: Policy, holds: set[str]) -> dict[str, bool]:
    lines = ticked(parse_template(text), policy, holds)
    return {line[6:30]: line.startswith("- [x]") for line in lines if line.startswith("- [")}


def test_boxes_are_ticked_only_by_what_holds(policy: Policy) -> None:
    gates = {"contract", "compile", "pre-commit"}
    found = boxes(TEMPLATE_028, policy, {*gates, "review"})
    assert list(found.values()) == [True, True, True, False]
    assert list(boxes(TEMPLATE_028, policy, {"contract", "compile"}).values()) == [False] * 4


TESTING = "---\n- [ ] **Testing and Validation:** Validates the change.\n"
PROVED = {"contract", "compile", "pre-commit", "smoke", "tests"}


@pytest.mark.parametrize("missing", [None, *sorted(PROVED)])
def test_the_box_about_testing_needs_every_gate_a_smoke_run_and_a_persons_test(
    policy: Policy, missing: str | None
) -> None:
    assert list(boxes(TESTING, policy, PROVED - {missing}).values()) == [missing is None]
    assert "tests" in questions_for(parse_template(TESTING), policy)


def test_the_box_about_ai_follows_the_persons_answer(policy: Policy) -> None:
    line = "AI assistance was used d"
    assert boxes(TEMPLATE_033, policy, {"assisted"})[line] is True
    assert boxes(TEMPLATE_033, policy, {"review"})[line] is False


def test_a_line_the_policy_does_not_name_stays_open(policy: Policy) -> None:
    assert list(boxes("---\n- [ ] Something new\n", policy, {"review", "assisted"}).values()) == [False]


def test_only_questions_that_a_line_of_the_template_needs_are_asked(policy: Policy) -> None:
    assert questions_for(parse_template(TEMPLATE_028), policy) == {}
    assert set(questions_for(parse_template(TEMPLATE_033), policy)) == {
        "pr-checklist",
        "design-fit",
        "quality",
    }


def test_a_policy_without_ticks_ticks_nothing(policy: Policy) -> None:
    bare = replace(policy, body=replace(policy.body, ticks=[]))
    assert not any(boxes(TEMPLATE_028, bare, {"review", "contract", "compile", "pre-commit"}).values())
