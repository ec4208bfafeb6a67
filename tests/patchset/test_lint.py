"""Lint finds what a reviewer would object to, and nothing in the real patch."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.patchset.lint import lint_folder
from pinproof.patchset.patchfile import Patch

from tests.conftest import REPO

NAME = "0001-kimi-k3-megamoe-situ-kwargs.patch"


def folder_with(tmp_path: Path, raw: bytes, series: str = NAME + "\n") -> Path:
    (tmp_path / "series").write_text(series)
    (tmp_path / NAME).write_bytes(raw)
    return tmp_path


def texts(folder: Path) -> list[str]:
    return [problem.text for problem in lint_folder(folder)]


def test_the_real_folder_has_nothing_to_mend() -> None:
    assert lint_folder(REPO / "patches/vllm") == []


PROBLEMS = [
    (b"Origin: upstream, https://github.com/vllm-project/vllm/pull/52445\n", b"", "Origin: is missing"),
    (b"Remove-When: every supported vLLM release is >= 0.28.0\n", b"", "say when the patch goes away"),
    (b"Remove-When: every supported vLLM release is >= 0.28.0", b"Remove-When: later", "say it in words"),
    (b"Backport [v0.28.0]", b"Merged", "must be Pending, Submitted"),
    (b"Backport [v0.28.0]", b"Backport", "must be Pending, Submitted"),
    (b"Applied-Upstream: v0.28.0\n", b"", "Applied-Upstream: is missing"),
    (b"Applied-Upstream: v0.28.0", b"Applied-Upstream: v0.29.0", "Upstream-Status says v0.28.0"),
    (b"Last-Update: 2026-11-30", b"Last-Update: 30 Nov 2026", "must be a date"),
    (b"Last-Update: 2026-11-30", b"Last-Update:", "is empty"),
    (b"Affects:", b"Affect:", "unknown field Affect"),
    (b"Affects: DeepGEMM 8b", b"Affects: 8b", "must be `LIBRARY"),
    (b"Last-Update:", b"Origin: upstream, https://example.org/x\nLast-Update:", "Origin: stands 2 times"),
    (b"Last-Update:", b"free text here\nLast-Update:", "one field a line"),
    (b"Contract: vllm/models/kimi_k3/nvidia/model.py", b"Contract: vllm/other.py", "is not touched"),
    (b" situ_beta,situ_linear_beta\n", b"\n", "is not `FILE CALLEE"),
    (b"Contract: vllm/models/kimi_k3/nvidia/model.py deep_gemm.fp8_fp4_mega_moe situ_beta,situ_linear_beta\n",
     b"", "Contract: is missing"),
    (b"Subject: [PATCH] [", b"Subject: [PATCH 1/1] [", "a re-export would write"),
    (b"index d7a08a6da2aeb434206c7b43e07cc94eb01425a1..f7e8c54f1bf342813fa149eec65a01cb48443a61",
     b"index d7a08a6..f7e8c54", "a re-export would write"),
    (b"@@ -486,8 +486,8 @@", b"@@ -486,8 +487,8 @@", "a re-export would write"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "says"), PROBLEMS)
def test_each_kind_of_problem_is_named(
    tmp_path: Path, patch: Patch, old: bytes, new: bytes, says: str
) -> None:
    assert old in patch.raw
    found = texts(folder_with(tmp_path, patch.raw.replace(old, new)))
    assert any(says in text for text in found), found


def test_a_signature_is_bytes_that_a_re_export_would_not_write(tmp_path: Path, patch: Patch) -> None:
    assert texts(folder_with(tmp_path, patch.raw + b"-- \n2.39.5\n\n"))


def test_a_patch_without_prose_gives_no_reason(tmp_path: Path, patch: Patch) -> None:
    start = patch.raw.index(b"The DeepGEMM pin")
    stop = patch.raw.index(b"Origin:")
    found = texts(folder_with(tmp_path, patch.raw[:start] + b"Fix.\n\n" + patch.raw[stop:]))
    assert any("gives no reason" in text for text in found)


def test_a_patch_that_series_does_not_list_is_named(tmp_path: Path, patch: Patch) -> None:
    assert texts(folder_with(tmp_path, patch.raw, series="# none\n")) == ["is not listed in series"]


def test_a_patch_listed_twice_is_named(tmp_path: Path, patch: Patch) -> None:
    assert "is listed twice" in texts(folder_with(tmp_path, patch.raw, series=f"{NAME}\n{NAME}\n"))[0]


def test_a_listed_patch_that_does_not_exist_is_named(tmp_path: Path, patch: Patch) -> None:
    found = texts(folder_with(tmp_path, patch.raw, series=f"{NAME}\n0002-missing.patch\n"))
    assert len(found) == 1
    assert "does not exist" in found[0]


def test_a_series_entry_that_is_a_path_is_refused(tmp_path: Path, patch: Patch) -> None:
    found = texts(folder_with(tmp_path, patch.raw, series="../0001-x.patch\n"))
    assert "is not a patch name" in found[0]
