"""What a wheel's RECORD says of its members: each one's hash (packaging.python.org, recording installs)."""

from __future__ import annotations

import base64
import csv
import hashlib
import re
from collections.abc import Iterable, Mapping

from pinproof.errors import InputError

# vLLM 0.33.0 lists its 4,000 files in 0.4 MB.
LARGEST = 16 << 20
_RECORD = re.compile(r"[^/]+\.dist-info/RECORD")
# RECORD cannot state its own hash, nor that of a signature over it.
_UNSTATED = re.compile(r"[^/]+\.dist-info/RECORD(?:\.jws|\.p7s)?")


def record_name(names: Iterable[str]) -> str | None:
    """Which member is the wheel's RECORD; None when there is none, or more than one."""
    found = [name for name in names if _RECORD.fullmatch(name)]
    return found[0] if len(found) == 1 else None


def hashes(record: bytes, wheel: str) -> dict[str, str]:
    """The SHA-256 that RECORD states, in hex, by member.

    Raises:
        InputError: it is no RECORD.
    """
    found: dict[str, str] = {}
    if len(record) > LARGEST:
        raise InputError(f"{wheel}: its RECORD is larger than {LARGEST >> 20} MiB")
    try:
        for row in csv.reader(record.decode("utf-8").splitlines()):
            name, stated = row[0], row[1]
            if stated.startswith("sha256="):
                packed = stated.removeprefix("sha256=")
                found[name] = _hex(packed)
    except (UnicodeDecodeError, csv.Error, IndexError, ValueError) as error:
        raise InputError(f"{wheel}: its RECORD cannot be read ({error})") from error
    return found


def _hex(packed: str) -> str:
    """URL-safe base64 without padding as hex; what is none raises ValueError."""
    return base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True).hex()


def check_member(name: str, content: bytes, stated: Mapping[str, str], wheel: str, *, whole: bool) -> None:
    """Hold a member against RECORD.

    Args:
        name: the member.
        content: its bytes.
        stated: what hashes() gave; empty when the wheel has no RECORD.
        wheel: the wheel's name, for messages.
        whole: RECORD itself was proven against the wheel's hash: then what it does not list is refused.

    Raises:
        InputError: it is not what RECORD says.
    """
    wanted = stated.get(name)
    if wanted is None:
        if whole and not _UNSTATED.fullmatch(name):
            raise InputError(f"{wheel}: {name} is not in its RECORD: not used")
    elif hashlib.sha256(content).hexdigest() != wanted:
        raise InputError(f"{wheel}: {name} is not the file that its RECORD names: not used")
