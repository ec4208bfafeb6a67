"""The `Contract:` fields of a patch: which calls it is about, and what they pass once it is in."""

from __future__ import annotations

import re

import msgspec

from pinproof.errors import InputError
from pinproof.patchset.patchfile import Patch
from pinproof.tree import check_relative

_CONTRACT = re.compile(r"(\S+) ([\w.]+) (\w+(?:,\w+)*)")


class Contract(msgspec.Struct, frozen=True):
    """One `Contract:` field: the calls of `callee` in `file` pass `keywords` once the patch is in."""

    file: str
    callee: str
    keywords: tuple[str, ...]


def contracts_of(patch: Patch) -> tuple[Contract, ...]:
    """The patch's `Contract:` fields, parsed.

    Raises:
        InputError: one is malformed.
    """
    found = []
    for value in patch.fields.get("Contract", []):
        match = _CONTRACT.fullmatch(value)
        if match is None:
            raise InputError(f"{patch.name}: Contract: {value!r} is not `FILE CALLEE keyword,keyword`")
        found.append(Contract(check_relative(match[1]), match[2], tuple(match[3].split(","))))
    return tuple(found)
