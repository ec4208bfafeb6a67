"""The commit message carries the person's sign-off and nothing of our header; the mail says the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from pinproof.errors import Refused
from pinproof.patchset.patchfile import Patch, parse_patch
from pinproof.submit.message import commit_message, mail, person_from_git, sign_off_fault
from pinproof.submit.policy import Policy
from pinproof.submit.records import Person
from pinproof.tree import Tree

from tests.submit.conftest import review_of


def test_the_message_holds_title_prose_and_sign_off_and_no_field_of_ours(
    patch: Patch, tree: Tree, policy: Policy
) -> None:
    message = commit_message(patch, review_of(patch, tree), policy)
    assert message.startswith(
        "[Bugfix][Model] Fix the Kimi-K3 MegaMoE SiTU keyword names\n\nThe DeepGEMM pin"
    )
    assert message.endswith("\n\nSigned-off-by: Test Person <test@example.org>\n")
    for name in patch.fields:
        assert f"{name}:" not in message


def test_assistants_are_credited_above_the_sign_off(patch: Patch, tree: Tree, policy: Policy) -> None:
    message = commit_message(patch, review_of(patch, tree, assistants=["Some Assistant"]), policy)
    assert message.endswith("Co-authored-by: Some Assistant\nSigned-off-by: Test Person <test@example.org>\n")


def test_another_author_of_the_patch_is_credited(patch: Patch, tree: Tree, policy: Policy) -> None:
    other = replace(patch, author="Grace Other <grace@example.org>")
    assert "\nCo-authored-by: Grace Other <grace@example.org>\n" in commit_message(
        other, review_of(patch, tree), policy
    )


def test_the_person_is_not_their_own_co_author(patch: Patch, tree: Tree, policy: Policy) -> None:
    own = replace(patch, author="Test Person <test@example.org>")
    assert "Co-authored-by" not in commit_message(own, review_of(patch, tree), policy)


def test_the_mail_is_the_same_bytes_each_time_and_keeps_the_diff(
    patch: Patch, tree: Tree, policy: Policy
) -> None:
    review = review_of(patch, tree)
    raw = mail(patch, review, policy)
    assert raw == mail(patch, review, policy)
    assert parse_patch(raw, patch.name).diffs == patch.diffs


def test_a_name_outside_ascii_survives_the_mail(patch: Patch, tree: Tree, policy: Policy) -> None:
    review = review_of(patch, tree, person=Person(name="Zoë Ünal", email="z@example.org"))
    assert parse_patch(mail(patch, review, policy), patch.name).author == "Zoë Ünal <z@example.org>"


def test_the_person_is_who_git_says(tmp_path: Path) -> None:
    assert person_from_git(tmp_path) == Person(name="Test Person", email="test@example.org")


def test_without_an_identity_the_person_is_told_how_to_set_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    with pytest.raises(Refused) as caught:
        person_from_git(tmp_path)
    assert "git config --global user.name" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("t\n\nSigned-off-by: A <a@x.org>\n", None),
        ("t\n\nSigned-off-by: A <b@x.org>\n", "signed off by b@x.org, but its author is a@x.org"),
        ("t\n\nbody\n", "it has no Signed-off-by"),
        ("t\n\n  Signed-off-by: A <a@x.org>\n", "it has no Signed-off-by"),
    ],
)
def test_the_sign_off_must_carry_the_authors_e_mail(message: str, fault: str | None) -> None:
    assert sign_off_fault(message, "a@x.org") == fault
