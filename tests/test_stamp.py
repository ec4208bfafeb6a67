"""The stamp changes with any code or data of the package, in whatever folder, and with nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pinproof import stamp

CHANGED = ("cli.py", "contract/declared/native/schemas.py", "contract/watch/list.toml")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small package in the place of this one."""
    for name in (
        "cli.py",
        "contract/check.py",
        "contract/declared/native/schemas.py",
        "contract/watch/list.toml",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1\n")
    monkeypatch.setattr(stamp, "_ROOT", tmp_path)
    _forget()
    yield tmp_path
    _forget()


def _forget() -> None:
    stamp.content.cache_clear()
    stamp.times.cache_clear()


def after(take: Callable[[], str], change: Callable[[], object]) -> tuple[str, str]:
    """The stamp before and after a change."""
    before = take()
    change()
    _forget()
    return before, take()


@pytest.mark.parametrize("take", [stamp.content, stamp.times])
@pytest.mark.parametrize(
    "name", ["cli.py", "contract/declared/native/schemas.py", "contract/watch/list.toml"]
)
def test_a_change_in_any_folder_changes_the_stamp(package: Path, take: Callable[[], str], name: str) -> None:
    before, now = after(take, lambda: (package / name).write_text("22\n"))
    assert before != now


@pytest.mark.parametrize("take", [stamp.content, stamp.times])
def test_a_file_moved_to_another_folder_changes_the_stamp(package: Path, take: Callable[[], str]) -> None:
    before, now = after(take, lambda: (package / "cli.py").rename(package / "contract/cli.py"))
    assert before != now


@pytest.mark.parametrize("take", [stamp.content, stamp.times])
def test_what_python_compiles_does_not_change_the_stamp(package: Path, take: Callable[[], str]) -> None:
    def compiled() -> None:
        (package / "__pycache__").mkdir()
        (package / "__pycache__/cli.cpython-311.pyc").write_bytes(b"\x00")

    before, now = after(take, compiled)
    assert before == now


def test_a_stamp_of_some_folders_leaves_the_others_out(package: Path) -> None:
    def take() -> str:
        return stamp.content("contract/declared", "contract/watch")

    before, same = after(take, lambda: (package / "cli.py").write_text("22\n"))
    assert before == same
    before, now = after(take, lambda: (package / "contract/watch/list.toml").write_text("22\n"))
    assert before != now
