"""Which releases exist and what their files are: from the index once, then from the cache."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pinproof.errors import CannotCheck, InputError
from pinproof.index.settings import settings
from pinproof.releases import (
    distributions,
    download_sdist,
    parse_release,
    pick,
    release_tree,
    versions,
    versions_between,
)

from tests.index_server import Index, index, sdist, wheel

__all__ = ["index"]

SDIST = {"vllm-1.0/PKG-INFO": b"Name: vllm\nVersion: 1.0\n", "vllm-1.0/vllm/__init__.py": b""}


def publish(index: Index, *releases: str) -> None:
    for version in releases:
        index.add("vllm", f"vllm-{version}-cp38-abi3-manylinux_2_31_x86_64.whl", wheel({"vllm/x.py": b"1"}))
        index.add("vllm", f"vllm-{version}.tar.gz", sdist(SDIST))


def age(path: Path, seconds: float) -> None:
    stamp = path.stat().st_mtime - seconds
    os.utime(path, (stamp, stamp))


def test_final_releases_in_version_order_without_yanked_ones(index: Index) -> None:
    publish(index, "0.9.0", "0.10.0", "0.10.0rc1")
    index.add("vllm", "vllm-0.9.5.tar.gz", sdist(SDIST)).yanked = True
    index.add("vllm", "vllm-legacy_thing.exe", b"")
    assert versions("vllm") == ["0.9.0", "0.10.0"]


def test_the_wheel_for_this_machine_comes_before_the_others(index: Index) -> None:
    index.add("vllm", "vllm-1.0-cp38-abi3-manylinux_2_31_aarch64.whl", b"a")
    index.add("vllm", "vllm-1.0-cp38-abi3-manylinux_2_31_x86_64.whl", b"b")
    assert "x86_64" in pick("vllm", "1.0", "wheel").filename


def test_a_release_that_does_not_exist_names_the_newest(index: Index) -> None:
    publish(index, "0.9.0", "0.10.0")
    with pytest.raises(InputError, match=r"vllm has no release 7\.7\.7") as caught:
        pick("vllm", "7.7.7", "wheel")
    assert "0.9.0, 0.10.0" in (caught.value.hint or "")


def test_a_project_that_does_not_exist_is_named(index: Index) -> None:
    with pytest.raises(InputError, match="no project 'vlllm'"):
        distributions("vlllm")


def test_a_release_without_a_wheel_is_read_from_its_sdist(index: Index) -> None:
    """All of vllm-ascend since 0.27.1rc1 has an sdist only."""
    index.add("vllm", "vllm-1.0.tar.gz", sdist(SDIST))
    tree = release_tree("vllm", "1.0")
    assert (tree.kind, tree.packages, tree.read("vllm/__init__.py")) == ("release", ("vllm",), b"")


def test_a_release_with_its_packages_below_src_is_read_from_there(index: Index) -> None:
    files = {
        "p-1.0/pyproject.toml": b"[project]\n",
        "p-1.0/src/inside/__init__.py": b"1",
        "p-1.0/tests/x.py": b"",
    }
    index.add("p", "p-1.0.tar.gz", sdist(files))
    tree = release_tree("p", "1.0")
    assert (tree.packages, tree.read("inside/__init__.py")) == (("inside",), b"1")
    assert tree.project_files.read("pyproject.toml") == b"[project]\n"


def test_a_release_without_wheel_or_sdist_says_so(index: Index) -> None:
    index.add("vllm", "vllm-1.0-1.src.rpm", b"")
    with pytest.raises(InputError, match="has no sdist"):
        release_tree("vllm", "1.0")


def test_a_file_without_a_digest_is_not_used(index: Index) -> None:
    index.add("vllm", "vllm-1.0.tar.gz", sdist(SDIST)).sha256 = ""
    with pytest.raises(CannotCheck, match="gives no sha256"):
        pick("vllm", "1.0", "sdist")


@pytest.mark.parametrize("name", ["../vllm", "-vllm", "vllm/..", "", "a b", "vllm\n"])
def test_a_name_that_is_none_never_reaches_the_index(index: Index, name: str) -> None:
    with pytest.raises(InputError):
        distributions(name)
    with pytest.raises(InputError):
        pick(name, "1.0", "sdist")
    assert index.requests == []


@pytest.mark.parametrize("version", ["../1", "", "v1", "1 0", "1/2", "1\n"])
def test_a_version_that_is_none_never_reaches_the_disk(index: Index, version: str) -> None:
    with pytest.raises(InputError):
        pick("vllm", version, "sdist")


@pytest.mark.parametrize(
    ("spec", "parsed"),
    [("vllm==0.28.0", ("vllm", "0.28.0")), ("0.28.0", ("vllm", "0.28.0")), ("v0.28.0", ("vllm", "0.28.0"))],
)
def test_a_release_is_written_in_three_ways(spec: str, parsed: tuple[str, str]) -> None:
    assert parse_release(spec) == parsed


@pytest.mark.parametrize("spec", ["", "vllm", "vllm==", "==", "vllm=0.28", "vllm==../x", "a b==1"])
def test_what_is_no_release_is_refused(spec: str) -> None:
    with pytest.raises(InputError, match="is not a release"):
        parse_release(spec)


def test_a_picked_file_is_known_without_the_index(index: Index) -> None:
    publish(index, "1.0")
    first = pick("vllm", "1.0", "wheel")
    index.down = True
    distributions.cache_clear()
    assert pick("vllm", "1.0", "wheel") == first


def test_a_range_is_asked_for_once_an_hour_and_kept_while_there_is_no_network(index: Index) -> None:
    publish(index, "1.0", "1.1", "2.0")
    assert versions_between("vllm", "1.0", "1.9") == ["1.0", "1.1"]
    publish(index, "1.2")
    distributions.cache_clear()
    assert versions_between("vllm", "1.0", "1.9") == ["1.0", "1.1"]
    age(Path(os.environ["PINPROOF_CACHE"]) / f"index/vllm/at-{settings().fingerprint()}/1.0..1.9.json", 4000)
    index.down = True
    assert versions_between("vllm", "1.0", "1.9") == ["1.0", "1.1"]
    index.down = False
    assert versions_between("vllm", "1.0", "1.9") == ["1.0", "1.1", "1.2"]


def test_a_range_that_was_never_asked_for_needs_the_index(index: Index) -> None:
    publish(index, "1.0")
    index.down = True
    with pytest.raises(CannotCheck, match="cannot reach the package index"):
        versions_between("vllm", "1.0", "1.9")


@pytest.mark.parametrize(("first", "last"), [("5", "6"), ("2.0", "1.0")])
def test_an_empty_range_is_an_error_not_an_empty_table(index: Index, first: str, last: str) -> None:
    publish(index, "1.0", "2.0")
    with pytest.raises(InputError, match="has no release from"):
        versions_between("vllm", first, last)


@pytest.mark.parametrize("bad", ["1..", "1!!", "1+"])
def test_a_range_end_that_is_no_version_is_an_error(index: Index, bad: str) -> None:
    publish(index, "1.0")
    with pytest.raises(InputError, match="is not a version"):
        versions_between("vllm", bad, "2.0")


@pytest.mark.parametrize("status", [403, 500, 503])
def test_an_index_in_trouble_cannot_be_checked(index: Index, status: int) -> None:
    publish(index, "1.0")
    index.page_status = status
    with pytest.raises(CannotCheck, match=str(status)):
        versions("vllm")


@pytest.mark.parametrize("page", [b"", b"{}", b"[1", b'{"meta": 1, "files": 7, "name": []}', b"\xff\xfe"])
def test_an_index_that_talks_nonsense_cannot_be_checked(index: Index, page: bytes) -> None:
    publish(index, "1.0")
    index.page = page
    with pytest.raises(CannotCheck, match="package index"):
        versions("vllm")


def test_an_sdist_is_downloaded_once(index: Index) -> None:
    publish(index, "1.0")
    path = download_sdist("vllm", "1.0")
    assert path.read_bytes() == index.files["vllm"]["vllm-1.0.tar.gz"].content
    index.down = True
    assert download_sdist("vllm", "1.0") == path


def test_bytes_that_do_not_match_the_digest_are_not_used_or_kept(index: Index) -> None:
    index.add("vllm", "vllm-1.0.tar.gz", sdist(SDIST)).sha256 = "0" * 64
    with pytest.raises(InputError, match="not used"):
        download_sdist("vllm", "1.0")
    assert kept() == []


@pytest.mark.parametrize("cut", [0, 1, 60])
def test_a_download_that_breaks_off_leaves_nothing_and_the_next_one_works(index: Index, cut: int) -> None:
    publish(index, "1.0")
    served = index.files["vllm"]["vllm-1.0.tar.gz"]
    served.cut = cut
    with pytest.raises(CannotCheck, match="broke off") as caught:
        download_sdist("vllm", "1.0")
    assert caught.value.hint == "run the same command again"
    assert kept() == []
    served.cut = None
    assert download_sdist("vllm", "1.0").read_bytes() == served.content


@pytest.mark.parametrize("status", [404, 500])
def test_a_download_that_is_refused_is_one_line(index: Index, status: int) -> None:
    publish(index, "1.0")
    index.files["vllm"]["vllm-1.0.tar.gz"].status = status
    with pytest.raises(CannotCheck, match=str(status)):
        download_sdist("vllm", "1.0")


def test_an_endless_download_stops_at_the_size_the_index_gave(index: Index) -> None:
    publish(index, "1.0")
    served = index.files["vllm"]["vllm-1.0.tar.gz"]
    pick("vllm", "1.0", "sdist")
    served.content += os.urandom(5_000_000)
    with pytest.raises(InputError, match="larger than the index says"):
        download_sdist("vllm", "1.0")


def test_a_folder_in_place_of_a_remembered_answer_is_not_a_traceback(index: Index) -> None:
    publish(index, "1.0")
    remembered = Path(os.environ["PINPROOF_CACHE"]) / "index/vllm/1.0.wheel.json"
    remembered.parent.mkdir(parents=True)
    remembered.write_bytes(b"not json")
    assert pick("vllm", "1.0", "wheel").version == "1.0"


def kept() -> list[str]:
    return [path.name for path in (Path(os.environ["PINPROOF_CACHE"]) / "sdists").iterdir()]
