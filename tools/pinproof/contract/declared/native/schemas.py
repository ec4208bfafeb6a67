"""PyTorch function schemas, `op(Tensor a, int b=1, *, bool c=False) -> Tensor`, from text or a binary."""

from __future__ import annotations

import re
from typing import NamedTuple

from pinproof.contract.model import Parameter

# A schema longer than this is none; the limit keeps the search in a hostile binary linear.
_LONGEST = 8000
_TYPES = (
    "Tensor|SymInt|int|SymFloat|float|SymBool|bool|str|Scalar|ScalarType|number|complex|Device|Layout|"
    "MemoryFormat|Generator|Stream|Dimname|Storage|QScheme|Any|Dict|Optional|List|Union|__torch__"
)
_HEAD = re.compile(r"\s*(?:([A-Za-z_]\w*)::)?([A-Za-z_]\w*)(\.\w+)?\s*\(")
_ARGUMENT = re.compile(rf"\(*(?:{_TYPES})\b([\w.\[\]()?!*|, >:-]*)(?<=[\s\])?>\w])\s([A-Za-z_]\w*)")
_RETURNS = re.compile(r"\s*->\s*[A-Za-z(][\w.\[\]()?!*|, >\s-]*")
_STRING = re.compile(rb"[A-Za-z_][\w:.]{0,200}\([\x20-\x7e\s]*")
# A binary that names more operators than this is made to keep us busy (libtorch itself has about 3,000).
_MOST = 20_000


class Schema(NamedTuple):
    """One operator overload; `parameters` is None when the text is not a schema that we understand."""

    namespace: str | None
    name: str
    parameters: tuple[Parameter, ...] | None


def parse(text: str) -> Schema | None:
    """The schema in a string (aten/src/ATen/native/README.md, "func"); None where no operator is named."""
    head = _HEAD.match(text)
    if head is None or len(text) > _LONGEST:
        return None
    pieces, end = _split(text, head.end())
    returns = _RETURNS.fullmatch(text, end) if pieces is not None else None
    found = _parameters(pieces) if pieces is not None and returns else None
    return Schema(head[1], head[2], found)


def _split(text: str, start: int) -> tuple[list[str] | None, int]:
    """The arguments up to the parenthesis that closes the list, and the place behind it."""
    pieces: list[str] = []
    depth, quote, begin = 0, "", start
    for at in range(start, len(text)):
        char = text[at]
        if quote:
            quote = "" if char == quote and text[at - 1] != "\\" else quote
        elif char in "'\"":
            quote = char
        elif char in "([":
            depth += 1
        elif char in ")]" and depth:
            depth -= 1
        elif char == ")":
            last = text[begin:at].strip()
            return [*pieces, last] if last or pieces else [], at + 1
        elif char == "," and not depth:
            pieces.append(text[begin:at].strip())
            begin = at + 1
    return None, len(text)


def _parameters(pieces: list[str]) -> tuple[Parameter, ...] | None:
    found: list[Parameter] = []
    kind = "positional-or-keyword"
    for piece in pieces:
        if piece == "*" and kind == "positional-or-keyword":
            kind = "keyword-only"
            continue
        declared, equals, default = piece.partition("=")
        argument = _ARGUMENT.fullmatch(declared.strip())
        if argument is None or bool(equals) != bool(default.strip()):
            return None
        found.append(Parameter(argument[2], kind, bool(equals)))  # type: ignore[arg-type]
    names = {p.name for p in found}
    return tuple(found) if len(names) == len(found) else None


def strings(binary: bytes) -> list[str]:
    """The NUL-terminated strings of a compiled extension that begin like a schema and hold a `->`."""
    found: list[str] = []
    if binary.count(b"->") > _MOST * 10:
        return []
    at = floor = 0  # each byte is looked at a bounded number of times, whatever the file holds
    while (at := binary.find(b"->", at)) >= 0 and len(found) <= _MOST:
        start = binary.rfind(b"\0", max(floor, at - _LONGEST), at)
        stop = binary.find(b"\0", at, start + _LONGEST) if start >= 0 else -1
        if stop >= 0 and _STRING.fullmatch(text := binary[start + 1 : stop]):
            found.append(text.decode("ascii"))
        floor = at
        at = max(stop, at + 2)
    return found if len(found) <= _MOST else []
