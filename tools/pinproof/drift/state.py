"""What the watch has seen: one small JSON file, kept in the repository it watches for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from pinproof.errors import InputError

Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
Version = Annotated[str, msgspec.Meta(pattern=r"^[0-9][A-Za-z0-9.!+]{0,99}$")]

_LARGEST = 64 * 1024


class State(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The newest release of the engine and of each library it pins, as of the last look."""

    schema: Literal["pinproof.drift-state/1"] = "pinproof.drift-state/1"
    engine: Name
    version: Version
    libraries: dict[Name, Version]


def decode_state(raw: bytes, name: str) -> State:
    """Read a state.

    Args:
        raw: the bytes of the file.
        name: where they came from, for messages.

    Raises:
        InputError: it is not a state.
    """
    if len(raw) > _LARGEST:
        raise InputError(f"{name}: {len(raw)} bytes, which is not a state of the watch")
    try:
        return msgspec.json.decode(raw, type=State)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{name}: is not a state of the watch: {error}") from error


def load_state(path: Path) -> State:
    """Read the state in a file.

    Raises:
        InputError: there is none, or it is malformed.
    """
    try:
        return decode_state(path.read_bytes(), str(path))
    except FileNotFoundError:
        raise InputError(f"{path} does not exist", hint="start from .github/drift-state.json") from None


def encode_state(state: State) -> bytes:
    """The state as stored: indented JSON, libraries in order, a final newline."""
    ordered = msgspec.structs.replace(state, libraries=dict(sorted(state.libraries.items())))
    return msgspec.json.format(msgspec.json.encode(ordered), indent=2) + b"\n"
