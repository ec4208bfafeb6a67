"""The patch and its header say what to look for; nobody writes a query."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from pinproof.duplicates.subject import CHANGED, TOLD_AND_CHANGED, describe, parse_day
from pinproof.errors import InputError
from pinproof.patchset.patchfile import Patch

from tests.duplicates.conftest import patch_of

REPO = "vllm-project/vllm"


def test_the_real_patch_is_described_whole(patch: Patch) -> None:
    subject = describe(patch, REPO)
    assert subject.title == "Fix the Kimi-K3 MegaMoE SiTU keyword names"
    assert subject.files == ("vllm/models/kimi_k3/nvidia/model.py",)
    assert subject.errors[0][1].endswith("got an unexpected keyword argument 'activation_beta'")
    assert {"c8b1392b", "ce21c821"} <= subject.pins
    assert subject.mentions == {52035, 52445}
    assert subject.origin == {52445}
    assert subject.own == frozenset()
    assert subject.since == datetime(2025, 8, 15, tzinfo=timezone.utc)


def test_names_that_the_text_tells_and_the_lines_change_weigh_most(patch: Patch) -> None:
    names = describe(patch, REPO).names
    assert names["situ_beta"] == names["situ_linear_beta"] == TOLD_AND_CHANGED
    assert names["fp8_fp4_mega_moe"] < TOLD_AND_CHANGED


def test_a_name_on_changed_lines_only_weighs_less() -> None:
    patch = patch_of("Fix it", "Words only.", "a.py", ["old_name = 1"], ["new_name = 1"])
    assert describe(patch, REPO).names["new_name"] == CHANGED


def test_numbers_of_another_repository_are_not_ours(patch: Patch) -> None:
    assert describe(patch, "sgl-project/sglang").mentions == frozenset()


def test_a_patch_whose_date_is_none_is_refused() -> None:
    patch = patch_of("Fix it", "Words.", "a.py", ["one = 1"], ["one = 2"], date="some day")
    with pytest.raises(InputError, match="is not a date"):
        describe(patch, REPO)


@pytest.mark.parametrize("text", ["2026-8-1", "yesterday", "2026-02-30", ""])
def test_a_day_is_written_one_way(text: str) -> None:
    with pytest.raises(InputError, match="is not a day"):
        parse_day(text)
