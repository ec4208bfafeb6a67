"""The records kept beside the patches: their types, and the seal that shows an edit."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from pinproof.errors import InputError
from pinproof.gate import GateName, Outcome
from pinproof.tree import Kind

# In Python `$` matches before a last line break too; `(?!\n)` says that none may follow.
Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]
Utc = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$(?!\n)")]
Line = Annotated[str, msgspec.Meta(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f\x7f]*$(?!\n)")]

LARGEST = 4 * 1024 * 1024
# Clocks of two machines differ; more than this is a wrong clock or a forged date.
CLOCK_SKEW = timedelta(minutes=5)


class TreeId(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which tree a gate saw, without a path of the machine: kind, package, version, git commit."""

    kind: Kind
    package: Line
    version: str | None = None
    commit: str | None = None


class TouchedFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file of the patch: the SHA-256 of its bytes without and with the patch, None for no file."""

    path: Line
    before: Sha256 | None
    after: Sha256 | None


class Log(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A long text of a gate: where it stood in `details`, its hash and size in bytes before trimming."""

    at: str
    sha256: Sha256
    size: int


class Keys(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a record is about; when any of it differs now, the record is stale.

    `inputs` are files the gate reads beside the touched ones (its configuration); `pins` the
    versions and commits that the tree pins exactly, by library.
    """

    patch: Line
    patch_sha256: Sha256
    files: list[TouchedFile]
    inputs: dict[str, Sha256] = {}
    pins: dict[str, str] = {}


class EvidenceRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One gate's run on one patch and tree (schema pinproof.evidence/1, docs/evidence.schema.json)."""

    schema: Literal["pinproof.evidence/1"] = "pinproof.evidence/1"
    gate: GateName
    gate_version: int
    pinproof: str
    keys: Keys
    tree: TreeId | None
    date: Utc
    outcome: Outcome
    summary: str
    reason: str | None = None
    duration_s: float = 0.0
    details: dict[str, Any] = {}
    logs: list[Log] = []
    seal: str = ""


class Person(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who reviewed, skipped or signs off: as git knows them."""

    name: Line
    email: Annotated[str, msgspec.Meta(pattern=r"^[^@\s<>]{1,100}@[^@\s<>]{1,200}$(?!\n)")]


class HunkReview(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One hunk that the reviewer read and stands for."""

    path: Line
    hunk: int
    lines_sha256: Sha256
    at: Utc


class Assistance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The person's answer to whether AI helped, and by which names."""

    used: bool
    assistants: list[Line] = []


class ReviewRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's review of every hunk, and their answers (schema pinproof.review/1).

    `answers` are those to the policy's questions, by id; `rfc` is the issue that a large change needs.
    """

    schema: Literal["pinproof.review/1"] = "pinproof.review/1"
    keys: Keys
    person: Person
    date: Utc
    hunks: list[HunkReview]
    assistance: Assistance
    answers: dict[str, bool] = {}
    rfc: str | None = None
    seal: str = ""


class SkipRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A gate that a named person left out for a stated reason (schema pinproof.skip/1)."""

    schema: Literal["pinproof.skip/1"] = "pinproof.skip/1"
    gate: GateName
    keys: Keys
    person: Person
    date: Utc
    reason: Annotated[str, msgspec.Meta(min_length=10, max_length=1000)]
    seal: str = ""


AnyRecord = TypeVar("AnyRecord", EvidenceRecord, ReviewRecord, SkipRecord)


def record_kind(record: EvidenceRecord | ReviewRecord | SkipRecord) -> str:
    """How the store calls a record: its gate, `review`, or `skip-` and the gate."""
    if isinstance(record, ReviewRecord):
        return "review"
    return record.gate if isinstance(record, EvidenceRecord) else f"skip-{record.gate}"


def sealed(record: AnyRecord) -> AnyRecord:
    """The record with its seal: the hash of all its other fields.

    The seal shows edits, cuts and damage. It is not a signature: whoever forges a whole record can seal
    it too, which is why a record's outcome must follow from its own details and why `submit` runs
    the static gates again.
    """
    return msgspec.structs.replace(record, seal=_digest(record))


def _digest(record: EvidenceRecord | ReviewRecord | SkipRecord) -> str:
    bare = msgspec.structs.replace(record, seal="")
    return hashlib.sha256(msgspec.json.encode(bare, order="sorted")).hexdigest()


def encode(record: EvidenceRecord | ReviewRecord | SkipRecord) -> bytes:
    """The record as stored: indented JSON with a final newline."""
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


def decode(raw: bytes, kind: type[AnyRecord], name: str, now: datetime) -> AnyRecord:
    """Read a record that may come from anywhere.

    Args:
        raw: the bytes of the file.
        kind: the type of record expected.
        name: the file's name, for messages.
        now: the time, timezone-aware.

    Raises:
        InputError: it is too large, truncated, of another schema, edited since it was sealed, or
            dated in the future.
    """
    if len(raw) > LARGEST:
        raise InputError(f"{name}: larger than {LARGEST >> 20} MiB, which is not a record")
    try:
        record = msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        raise InputError(
            f"{name}: is not a valid {kind.__name__} of a version known here: {error}"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{name}: is truncated or damaged: {error}") from error
    _refuse_twice(raw, name)
    if record.seal != _digest(record):
        raise InputError(f"{name}: was edited after it was written: its seal does not match its content")
    if moment(record.date, name) > now + CLOCK_SKEW:
        raise InputError(f"{name}: is dated in the future ({record.date})")
    return record


def _refuse_twice(raw: bytes, name: str) -> None:
    """Refuse a record that says a thing twice: which one counts is for each reader to guess (RFC 8259, 4)."""

    def once(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise InputError(f"{name}: says {key[:60]!r} twice")
            seen.add(key)

    try:
        json.loads(raw, object_pairs_hook=once)
    except RecursionError as error:
        raise InputError(f"{name}: is nested too deeply") from error


def utc(now: datetime) -> str:
    """A time as records state it: UTC, to the second."""
    return now.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(date: str, name: str) -> datetime:
    """The time that a record states.

    Raises:
        InputError: there is no such date.
    """
    try:
        return datetime.strptime(date, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    except ValueError as error:
        raise InputError(f"{name}: {date} is not a date") from error
