"""What a file imports, read from its bytes: decides which files are worth parsing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

# What may stand right after `import` and `from`: no letter, so that `imported` is none.
_FOLLOWS = frozenset((b" ", b"\t", b"\f", b"(", b"\\", b"*"))
_AFTER_FROM = frozenset((b" ", b"\t", b"\f", b".", b"\\"))
_BOM = b"\xef\xbb\xbf"
# Ways of naming a module in a string.
_DYNAMIC = (b"import_module", b"__import__", b"sys.modules", b"modules[")
_LONGEST = 20_000
_WIDEST = 400


class Imported(NamedTuple):
    """One import statement: `from <level dots><module> import <names>`; no names for `import module`."""

    module: str
    level: int
    names: tuple[str, ...]


def imports(data: bytes, starts: tuple[bytes, ...] = (b"",)) -> Iterator[Imported]:
    """The import statements of a file, strings and comments that read like one included.

    Args:
        data: the file.
        starts: what the modules' names must begin with to be of interest; the others are passed over.

    A search for the word is many times as fast as parsing; what it finds too much, parsing drops. A statement
    may stand behind others of its line (`try: import a`, `import a; import b`), and go on after a backslash.
    """
    at = data.find(b"import")
    while at >= 0:
        end = at + 6
        if data[end : end + 1] in _FOLLOWS:
            before = _before(data, at)
            if not before:
                yield from _plain(_names(data, end))
            elif before.startswith(b"from") and before[4:5] in _AFTER_FROM:
                source = b"".join(before[4:].split())
                if source.startswith(starts):
                    yield _from(source, _names(data, end))
        at = data.find(b"import", end)


def _before(data: bytes, at: int) -> bytes:
    """What stands before the word in its statement; lines joined by a backslash are one."""
    start = data.rfind(b"\n", 0, at) + 1
    while at - start < _WIDEST and data[max(start - 3, 0) : start].rstrip(b"\r\n").endswith(b"\\"):
        start = data.rfind(b"\n", 0, start - 1) + 1
    text = data[max(start, at - _WIDEST) : at]
    if b"\r" in text:
        text = text.rsplit(b"\r", 1)[-1] if not text.rstrip().endswith(b"\\") else text
    behind = max(text.rfind(b";"), text.rfind(b":"))
    return text[behind + 1 :].replace(b"\\", b" ").removeprefix(_BOM).strip()


def _line(data: bytes, start: int) -> bytes:
    """The rest of a statement that is not in brackets."""
    end = data.find(b"\n", start)
    while 0 <= end < start + _LONGEST and data[start:end].rstrip(b"\r").endswith(b"\\"):
        end = data.find(b"\n", end + 1)
    return data[start : end if end >= 0 else len(data)][:_LONGEST]


def _plain(names: Iterable[str]) -> Iterator[Imported]:
    for name in names:
        yield Imported(name, 0, ())


def _names(data: bytes, start: int) -> tuple[str, ...]:
    rest = data[start : start + 80].lstrip(b" \t\f\\\r\n")
    if rest.startswith(b"("):
        end = data.find(b")", start, start + _LONGEST)
        text = data[data.find(b"(", start) + 1 : end if end >= 0 else start]
        text = b"\n".join(line.split(b"#", 1)[0] for line in text.split(b"\n"))
    else:
        text = _line(data, start).split(b"#", 1)[0].split(b";", 1)[0]
    found = (part.split() for part in text.replace(b"\\", b" ").split(b","))
    return tuple(words[0].decode(errors="replace") for words in found if words)


def _from(source: bytes, names: tuple[str, ...]) -> Imported:
    module = source.lstrip(b".")
    return Imported(module.decode(errors="replace"), len(source) - len(module), names)


def mentions(
    data: bytes, found: Iterable[Imported], tops: frozenset[str], needles: tuple[bytes, ...]
) -> bool:
    """Whether a file imports one of the packages, or may import or ask for one by name.

    Args:
        data: the file.
        found: its import statements.
        tops: import names of the watched packages, and full names of vendored copies.
        needles: the import names as bytes.
    """
    for item in found:
        first = item.module.split(".", 1)[0]
        if first in tops or any(f"{item.module}.{name}" in tops for name in item.names):
            return True
        if any(item.module == top or item.module.startswith(top + ".") for top in tops if "." in top):
            return True
    dynamic = any(word in data for word in _DYNAMIC)
    return dynamic and any(needle in data for needle in needles)
