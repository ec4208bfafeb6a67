"""What a gate has proven is said even where it cannot be written down."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest
from pinproof.commands.recording import keep_results
from pinproof.gate import GateResult
from pinproof.patchset.series import find_patch, patch_dir

_RESULT = GateResult(gate="duplicates", outcome="skip", summary="nothing seen", reason="offline")


def _fails_with(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def keep(*_: object) -> Path:
        raise OSError(number, "no", "contract.json")

    folder = tmp_path / "patches"
    shutil.copytree(patch_dir(None), folder)
    monkeypatch.setattr("pinproof.submit.store.keep", keep)
    keep_results(find_patch("0001", folder), None, [_RESULT], folder)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_folder_that_may_not_be_written_costs_the_record_only(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _fails_with(number, tmp_path, monkeypatch)
    assert "not recorded: no: contract.json" in capsys.readouterr().err


def test_a_full_disk_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OSError, match="no"):
        _fails_with(errno.ENOSPC, tmp_path, monkeypatch)
