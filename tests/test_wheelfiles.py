"""Single files of a wheel over range requests: whole and true, or a one-line error; never a wrong byte."""

from __future__ import annotations

import os
import struct
import zipfile
from pathlib import Path

import pytest
from pinproof.errors import CannotCheck, InputError
from pinproof.releases import Distribution
from pinproof.wheelfiles import WheelFiles

from tests.index_server import Index, Served, index, wheel

__all__ = ["index"]

NAME = "vllm-1.0-py3-none-any.whl"
FILES = {
    "vllm/__init__.py": b"",
    "vllm/a.py": b"a = 1\n" * 500,
    "vllm/sub/b.py": b"b = 2\n" * 500,
    "vllm/kernel.so": os.urandom(400_000),
    "vllm/z.py": b"z = 3\n" * 500,
}


def put(index: Index, content: bytes) -> tuple[Served, WheelFiles]:
    served = index.add("vllm", NAME, content)
    return served, opened(index, served)


def opened(index: Index, served: Served) -> WheelFiles:
    return WheelFiles(Distribution(NAME, "1.0", f"{index.url}/files/vllm/{NAME}", served.digest()))


def file_requests(index: Index) -> list[str]:
    return [line for line in index.requests if line.startswith("/files/")]


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_members_come_back_byte_for_byte(index: Index, compression: int) -> None:
    _, files = put(index, wheel(FILES, compression=compression))
    assert {path: files.read(path) for path in files.paths()} == FILES
    assert files.read("vllm/none.py") is None
    assert list(files.paths("vllm/sub", ".py")) == ["vllm/sub/b.py"]


def test_neighbours_come_in_one_request_and_the_kernel_between_is_left_out(index: Index) -> None:
    served, files = put(index, wheel(FILES))
    assert len(list(files.paths())) == 5
    before = len(file_requests(index))
    files.prefetch(["vllm/z.py", "vllm/a.py", "vllm/sub/b.py", "vllm/not-there.py"])
    ranges = [line.rsplit("=", 1)[1].split("-") for line in file_requests(index)[before:]]
    assert len(ranges) == 2
    assert sum(int(stop) - int(start) for start, stop in ranges) < len(served.content) // 4


def test_what_was_read_once_needs_no_network(index: Index) -> None:
    served, files = put(index, wheel(FILES))
    assert files.read("vllm/a.py") == FILES["vllm/a.py"]
    index.down = True
    assert opened(index, served).read("vllm/a.py") == FILES["vllm/a.py"]
    assert opened(index, served).read("vllm/none.py") is None


def test_with_the_network_down_and_nothing_cached_it_cannot_check(index: Index) -> None:
    _, files = put(index, wheel(FILES))
    index.down = True
    with pytest.raises(CannotCheck, match=f"cannot read {NAME}") as caught:
        files.read("vllm/a.py")
    assert "network" in (caught.value.hint or "")


def test_a_connection_cut_in_the_middle_is_an_error_and_the_next_try_reads_it_whole(index: Index) -> None:
    served, files = put(index, wheel(FILES))
    assert list(files.paths())
    served.cut = 10
    with pytest.raises((CannotCheck, InputError)):
        files.read("vllm/a.py")
    served.cut = None
    assert opened(index, served).read("vllm/a.py") == FILES["vllm/a.py"]


@pytest.mark.parametrize("status", [403, 404, 500])
def test_a_file_that_is_gone_cannot_be_checked(index: Index, status: int) -> None:
    served, files = put(index, wheel(FILES))
    served.status = status
    with pytest.raises(CannotCheck, match=str(status)):
        files.read("vllm/a.py")


def test_a_server_without_ranges_is_refused_before_it_sends_300_megabytes(index: Index) -> None:
    served, files = put(index, wheel(FILES))
    served.ranges = False
    with pytest.raises(CannotCheck, match="range"):
        files.read("vllm/a.py")


def test_a_member_whose_bytes_do_not_match_their_crc_is_never_kept(index: Index) -> None:
    content = bytearray(wheel(FILES, compression=zipfile.ZIP_STORED))
    at = content.index(b"a = 1\n")
    content[at] = ord("b")
    served, files = put(index, bytes(content))
    with pytest.raises(InputError, match=r"vllm/a.py is damaged"):
        files.read("vllm/a.py")
    with pytest.raises(InputError, match=r"vllm/a.py is damaged"):
        opened(index, served).read("vllm/a.py")


def test_a_deflate_stream_of_garbage_is_damaged_not_a_traceback(index: Index) -> None:
    content = bytearray(wheel({"vllm/a.py": os.urandom(50) * 40}))
    at = content.index(b"vllm/a.py") + len(b"vllm/a.py")
    content[at : at + 20] = b"\xff" * 20
    _, files = put(index, bytes(content))
    with pytest.raises(InputError, match="damaged"):
        files.read("vllm/a.py")


def test_a_member_that_claims_ten_gigabytes_is_not_read(index: Index) -> None:
    content = bytearray(wheel({"vllm/a.py": b"a = 1\n" * 100}))
    directory = content.index(b"PK\x01\x02")
    struct.pack_into("<I", content, directory + 24, 0xF0000000)  # uncompressed size, APPNOTE 4.3.12
    _, files = put(index, bytes(content))
    with pytest.raises(InputError, match="claims 4026531840 bytes"):
        files.read("vllm/a.py")


def test_a_bomb_that_lies_about_its_size_stops_at_the_size_it_claims(index: Index) -> None:
    content = bytearray(wheel({"vllm/a.py": b"\0" * 50_000_000}))
    struct.pack_into("<I", content, content.index(b"PK\x01\x02") + 24, 1000)
    _, files = put(index, bytes(content))
    with pytest.raises(InputError, match="damaged"):
        files.read("vllm/a.py")


def test_packed_bytes_beyond_any_source_file_are_not_fetched(index: Index) -> None:
    content = bytearray(wheel({"vllm/a.py": b"a = 1\n" * 100}))
    struct.pack_into("<I", content, content.index(b"PK\x01\x02") + 20, 0xF0000000)  # compressed size
    _, files = put(index, bytes(content))
    with pytest.raises(InputError, match="claims 4026531840 bytes"):
        files.read("vllm/a.py")


def test_a_file_that_is_no_zip_is_named(index: Index) -> None:
    _, files = put(index, b"<html>not a wheel</html>" * 100)
    with pytest.raises(CannotCheck, match=NAME):
        files.read("vllm/a.py")


def test_a_wheel_without_a_digest_is_not_used(index: Index) -> None:
    with pytest.raises(CannotCheck, match="no sha256"):
        WheelFiles(Distribution(NAME, "1.0", "http://127.0.0.1:9/x", "abc"))


def test_a_cache_file_of_garbage_is_one_line_and_what_to_do(index: Index) -> None:
    served, _ = put(index, wheel(FILES))
    path = Path(os.environ["PINPROOF_CACHE"]) / "wheels" / f"{served.digest()}.sqlite"
    path.write_bytes(b"garbage" * 1000)
    with pytest.raises((InputError, CannotCheck), match="cache"):
        opened(index, served).read("vllm/a.py")
