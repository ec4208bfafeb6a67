"""`pinproof report` on an index of this machine, end to end."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from pinproof.cli import main
from pinproof.patchset.patchfile import Patch
from pinproof.report.model import Report

from tests.actions.test_drift import library_wheel
from tests.history.world import CALLEE, two_releases
from tests.index_server import Index, index, wheel
from tests.report.sample import report

__all__ = ["index"]

RANGE = ["--releases", "0.27.0..0.28.0"]
LATE = b"import flashinfer\n\n\ndef f(q):\n    return flashinfer.decode(q, scale=1.0)\n"


@pytest.fixture
def world(index: Index, tmp_path: Path, patch: Patch, monkeypatch: pytest.MonkeyPatch) -> Index:
    """Two releases either side of the patch; flashinfer is pinned to 1.0, and 1.1 no longer takes `scale`."""
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    two_releases(index, tmp_path, patch)
    for version in ("0.27.0", "0.28.0"):
        served = index.files["vllm"][f"vllm-{version}-py3-none-any.whl"]
        served.content = _with_flashinfer(served.content, version)
    for version, parameters in (("1.0", "q, scale=None"), ("1.1", "q, sm_scale=None")):
        name = f"flashinfer_python-{version}-py3-none-any.whl"
        index.add("flashinfer-python", name, library_wheel(parameters))
    return index


def _with_flashinfer(content: bytes, version: str) -> bytes:
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    metadata = f"vllm-{version}.dist-info/METADATA"
    files[metadata] += b"Requires-Dist: flashinfer-python==1.0\n"
    return wheel({**files, "vllm/attention.py": LATE})


@pytest.fixture
def gathered(world: Index, capsys: pytest.CaptureFixture[str]) -> Report:
    assert main(["report", *RANGE, "--json"]) == 0
    return msgspec.json.decode(capsys.readouterr().out, type=Report)


def test_releases_patches_and_contracts_are_what_the_other_commands_say(gathered: Report) -> None:
    assert [(r.version, r.failing, r.bound) for r in gathered.releases] == [
        ("0.27.0", 0, 2),
        ("0.28.0", 0, 2),
    ]
    (patch,) = gathered.patches
    assert [(v.release[6:], v.without, v.verdict) for v in patch.verdicts] == [
        ("0.27.0", None, "not-needed"), ("0.28.0", "0001", "needed"), ("0.28.0", None, "applied"),
    ]  # fmt: skip
    assert [history.callee for history in gathered.histories] == [CALLEE]


def test_what_a_moved_pin_would_break_is_tried(gathered: Report) -> None:
    (move,) = gathered.moves
    assert (move.project, move.pinned, move.newest) == ("flashinfer-python", "1.0", "1.1")
    assert [(one.file, one.line) for one in move.breaks] == [("vllm/attention.py", 5)]


def test_a_vendored_copy_that_changes_is_a_bump_though_its_version_stays(gathered: Report) -> None:
    (bump,) = gathered.bumps
    assert (bump.library, bump.before, bump.after, bump.changed) == ("deep_gemm", "2.6.1", "2.6.1", 1)


def test_gates_without_a_record_are_not_run(gathered: Report) -> None:
    assert {gate.outcome for gate in gathered.patches[0].gates} == {"not run"}


def test_a_release_out_of_reach_is_named_and_the_exit_code_says_so(
    world: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world.files["vllm"]["vllm-0.28.0-py3-none-any.whl"].status = 500
    assert main(["report", *RANGE, "-o", str(tmp_path / "site")]) == 5
    assert "vllm==0.28.0" in (tmp_path / "site/index.html").read_text()


def test_no_release_at_all_is_an_error(world: Index, tmp_path: Path) -> None:
    for served in world.files["vllm"].values():
        served.status = 500
    assert main(["report", *RANGE, "-o", str(tmp_path / "site")]) == 5
    assert not (tmp_path / "site").exists()


def test_saved_facts_are_rendered_without_looking_anything_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "report.json"
    saved.write_bytes(msgspec.json.encode(report()))
    assert main(["report", "--from", str(saved), "-o", str(tmp_path / "site")]) == 0
    assert "index.html: " in capsys.readouterr().err
    assert (tmp_path / "site/contract-deep_gemm.run.html").exists()


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"releases": []}'])
def test_saved_facts_that_are_none_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.json").write_bytes(content)
    assert main(["report", "--from", str(tmp_path / "x.json"), "-o", str(tmp_path / "site")]) == 2
    assert not (tmp_path / "site").exists()


def test_a_place_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report"]) == 2
    assert "pinproof report -o site" in capsys.readouterr().err


def test_an_address_that_is_none_is_refused() -> None:
    assert main(["report", "-o", "x", "--url", "javascript:alert(1)"]) == 2
