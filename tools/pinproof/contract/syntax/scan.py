"""What a file imports, read from its bytes: decides which files are worth parsing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

_AFTER = b" \t("
_LONGEST = 20_000
# What imports a package, or asks for it and its version, by a name in a string.
_BY_NAME = (b"import_module", b"__import__", b"importlib.metadata", b"find_spec")


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

    A search for the word is many times as fast as parsing; what it finds too much, parsing drops.
    """
    at = data.find(b"import")
    while at >= 0:
        end = at + 6
        if data[end : end + 1] in (b" ", b"\t", b"("):
            start = data.rfind(b"\n", 0, at) + 1
            before = data[start:at].strip() if at - start < 400 else b"?"
            if not before:
                yield from _plain(_line(data, end))
            elif before.startswith(b"from ") and b'"' not in before:
                source = before[5:].strip()
                if source.startswith(starts):
                    yield _from(source, _names(data, end))
        at = data.find(b"import", end)


def _line(data: bytes, start: int) -> bytes:
    end = data.find(b"\n", start)
    return data[start : end if end >= 0 else len(data)][:_LONGEST]


def _plain(line: bytes) -> Iterator[Imported]:
    for part in line.split(b"#", 1)[0].split(b","):
        words = part.split()
        if words:
            yield Imported(words[0].decode(errors="replace"), 0, ())


def _names(data: bytes, start: int) -> tuple[str, ...]:
    rest = data[start : start + 2].lstrip()
    if rest.startswith(b"("):
        end = data.find(b")", start, start + _LONGEST)
        text = data[data.find(b"(", start) + 1 : end if end >= 0 else start]
        text = b"\n".join(line.split(b"#", 1)[0] for line in text.split(b"\n"))
    else:
        text = _line(data, start).split(b"#", 1)[0]
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
    dynamic = any(word in data for word in _BY_NAME)
    return dynamic and any(needle in data for needle in needles)
