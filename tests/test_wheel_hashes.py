"""What of a wheel is held against which hash, and what `--verify` adds and remembers."""

from __future__ import annotations

import hashlib

import pytest
from pinproof.errors import InputError
from pinproof.releases import Distribution
from pinproof.wheelfiles import WheelFiles
from pinproof.wheelrecord import hashes, record_name

from tests.index_server import Index, index, wheel
from tests.security.attacks import record_of

__all__ = ["index"]

NAME = "vllm-1.0-py3-none-any.whl"
RECORD = "vllm-1.0.dist-info/RECORD"
METADATA = "vllm-1.0.dist-info/METADATA"


def served(index: Index, files: dict[str, bytes], metadata_sha256: str | None = None) -> WheelFiles:
    content = wheel({**files, RECORD: record_of(files)})
    url = f"{index.url}/files/vllm/{NAME}"
    digest = index.add("vllm", NAME, content).digest()
    return WheelFiles(Distribution(NAME, "1.0", url, digest, None, metadata_sha256))


def test_members_that_their_record_names_are_read(index: Index) -> None:
    files = served(index, {"vllm/a.py": b"1", METADATA: b"Name: vllm\n"})
    assert files.read("vllm/a.py") == b"1"
    assert files.read(METADATA) == b"Name: vllm\n"


def test_metadata_that_the_index_does_not_name_is_refused(index: Index) -> None:
    files = served(index, {METADATA: b"Name: vllm\n"}, hashlib.sha256(b"Name: other\n").hexdigest())
    with pytest.raises(InputError, match="METADATA is not the file"):
        files.read(METADATA)


def test_verifying_once_is_remembered(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINPROOF_VERIFY", "1")
    assert served(index, {"vllm/a.py": b"1"}).read("vllm/a.py") == b"1"
    whole = [request for request in index.requests if request.endswith(NAME)]
    assert len(whole) == 1
    again = served(index, {"vllm/a.py": b"1"})
    assert again.read("vllm/a.py") == b"1"
    assert [request for request in index.requests if request.endswith(NAME)] == whole


def test_what_was_read_before_and_is_not_in_the_verified_wheel_is_forgotten(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = served(index, {"vllm/a.py": b"1"})
    files.read("vllm/a.py")
    with files._cache() as db, db:
        import zlib

        db.execute("update member set data = ? where path = 'vllm/a.py'", (zlib.compress(b"hostile"),))
    with pytest.raises(InputError, match=r"vllm/a\.py is not the file"):
        files.verify()
    assert served(index, {"vllm/a.py": b"1"}).read("vllm/a.py") == b"1"


def test_a_verified_wheels_record_decides_what_belongs_to_it(index: Index) -> None:
    listed = {"vllm/a.py": b"1"}
    content = wheel({**listed, "vllm/b.py": b"2", RECORD: record_of(listed)})
    digest = index.add("vllm", NAME, content).digest()
    files = WheelFiles(Distribution(NAME, "1.0", f"{index.url}/files/vllm/{NAME}", digest))
    files.verify()
    assert files.read("vllm/a.py") == b"1"
    with pytest.raises(InputError, match="is not in its RECORD"):
        files.read("vllm/b.py")


@pytest.mark.parametrize("record", [b"\xff", b"a\n", b"a,sha256=!\n", b"a" * 200_000 + b'"\n'])
def test_a_damaged_record_is_one_line(record: bytes) -> None:
    with pytest.raises(InputError, match="RECORD"):
        hashes(record, NAME)


def test_two_records_are_none() -> None:
    assert record_name(["a-1.dist-info/RECORD", "b-1.dist-info/RECORD"]) is None
    assert record_name(["x/a-1.dist-info/RECORD", "a-1.dist-info/RECORD"]) == "a-1.dist-info/RECORD"
