"""Text into comparable pieces: words, code names, versions and commits, issue numbers, error messages."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator

import msgspec

# A body of 1 MiB is mostly pasted logs; what a pull request does stands at its beginning.
LONGEST_TEXT = 24_000
_LONGEST_NAME = 64

# fmt: off
PLAIN_WORDS = frozenset((
    "a", "add", "after", "all", "allow", "also", "an", "and", "any", "are", "as", "at", "avoid", "be",
    "because", "been", "before", "both", "bump", "but", "by", "can", "does", "each", "fix", "fixes",
    "for", "from", "handle", "has", "have", "here", "how", "if", "in", "into", "is", "it", "its",
    "make", "may", "more", "must", "needs", "new", "no", "not", "now", "of", "old", "on", "once", "one",
    "only", "or", "other", "remove", "same", "should", "since", "so", "support", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "to", "two", "update", "use", "used", "uses",
    "using", "was", "were", "what", "when", "where", "which", "while", "will", "with", "without",
    "would", "you",
))
# fmt: on
"""Words of plain English, as comments have them: that two changes share one is not a sign."""

_NO_NAMES = frozenset([*keyword.kwlist, *PLAIN_WORDS, "self", "cls", "int", "str", "bool", "float"])

_TAGS = re.compile(r"^(?:\s*\[[^\]]{1,60}\])+[\s:]*")
_NAME = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)*")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_QUOTED_CODE = re.compile(r"`([^`\n]{2,200})`")
_VERSION = re.compile(
    r"(?<![\w.])v?([0-9]{1,5}(?:\.[0-9]{1,5}){1,3}"
    r"(?:[.-]?(?:post|rc|dev)[0-9]{1,4})?(?:\+[a-z0-9.]{1,20})?)(?![\w])"
)
_COMMIT = re.compile(r"(?<![\w])(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![\w])")
_NUMBER = re.compile(r"(?<![\w./#-])#([0-9]{1,7})\b")
_CLOSES = re.compile(
    r"\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)\b:?\s+"
    r"(?:https://github\.com/([\w.-]+/[\w.-]+)/issues/|([\w.-]+/[\w.-]+)?#)([0-9]{1,7})\b",
    re.IGNORECASE,
)
_LINK = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/([0-9]{1,7})\b")
_FOREIGN = re.compile(r"(?<![\w./-])([\w.-]+(?:/[\w.-]+)?)#([0-9]{1,7})\b")
_UNDOES = re.compile(
    r"(?:^|\bthis (?:pr |pull request )?)reverts?:?\s+(?:pr\s+)?"
    r"(?:https://github\.com/([\w.-]+/[\w.-]+)/pull/|([\w.-]+/[\w.-]+)?#)([0-9]{1,7})\b",
    re.IGNORECASE | re.MULTILINE,
)
_UNDOES_COMMIT = re.compile(r"\bThis reverts commit ([0-9a-f]{40})\b")
_UNDOES_TITLE = re.compile(r"""Revert[: ]+["“'](.*)["”']""", re.IGNORECASE)
_ERROR = re.compile(r"\b([A-Z][A-Za-z0-9]*(?:Error|Exception)): *(\S.*(?:\n[ \t]+\S.*)?)")


class References(msgspec.Struct, frozen=True):
    """Issue and pull-request numbers of one repository that a text names."""

    closes: frozenset[int]
    """Those it says it fixes, closes or resolves."""
    mentions: frozenset[int]
    """All of them, the closed ones included."""


def strip_tags(title: str) -> str:
    """A title without its leading [tags]: they name an area, not the change."""
    return _TAGS.sub("", title).strip()


def words(text: str) -> list[str]:
    """The words of a text in order, lower case, code names kept whole."""
    return [match.lower()[:_LONGEST_NAME] for match in _WORD.findall(text[:LONGEST_TEXT])]


def parts(text: str) -> list[str]:
    """The words of a text with code names split: `KimiK3MegaMoE` reads kimi, k, 3, mega, mo, e."""
    return [part.lower() for part in _PARTS.findall(text[:LONGEST_TEXT]) if len(part) > 1 or part.isdigit()]


def code_names(line: str) -> Iterator[str]:
    """Every name on a line of code, lower case; a hyphenated package name reads as with underscores."""
    for name in _NAME.findall(line):
        if 3 <= len(name) <= _LONGEST_NAME and name.lower() not in _NO_NAMES:
            yield name.lower().replace("-", "_")


def names_in_prose(text: str) -> set[str]:
    """What looks like code in prose: inside backticks, with an underscore or digit, or in mixed case."""
    text = text[:LONGEST_TEXT]
    found = {name for name in _NAME.findall(text) if _looks_like_code(name)}
    for quoted in _QUOTED_CODE.findall(text):
        found.update(_NAME.findall(quoted))
    return {name.lower().replace("-", "_") for name in found if 3 <= len(name) <= _LONGEST_NAME}


def compounds(text: str) -> set[str]:
    """Hyphenated words, as names: `triton-xpu` is a package, `low-latency` is not; prose does not tell."""
    found = (name for name in _NAME.findall(text[:LONGEST_TEXT]) if "-" in name)
    return {name.lower().replace("-", "_") for name in found if len(name) <= _LONGEST_NAME}


def _looks_like_code(name: str) -> bool:
    if "_" in name.strip("_") or name.startswith("_"):
        return True
    inner_capital = any(char.isupper() for char in name[1:])
    return inner_capital or (any(char.isdigit() for char in name) and name[0].isalpha())


def pinned_values(text: str) -> set[str]:
    """Versions and commits, as tokens for the index: `v0_6_12`, `c8b1392b` (seven digits of a commit)."""
    text = text[:LONGEST_TEXT]
    found = {f"v{_plain(value)}" for value in _VERSION.findall(text)}
    return found | {f"c{value[:7]}" for value in _COMMIT.findall(text)}


def _plain(version: str) -> str:
    return re.sub(r"[^0-9a-z]+", "_", version.lower())


def references(text: str, repo: str) -> References:
    """The issues and pull requests of `repo` (owner/name) that a text names.

    A number of another repository (`sgl-project/sglang#1`) is left out; `vllm#1` counts for
    vllm-project/vllm.
    """
    text = text[:LONGEST_TEXT]
    own = _own_names(repo)
    closes = {
        int(number)
        for linked, short, number in _CLOSES.findall(text)
        if not (linked or short) or (linked or short).lower() in own
    }
    mentions = {int(number) for number in _NUMBER.findall(text)} | closes
    mentions |= {int(number) for name, number in _LINK.findall(text) if name.lower() in own}
    mentions |= {int(number) for name, number in _FOREIGN.findall(text) if name.lower() in own}
    return References(frozenset(closes - {0}), frozenset(mentions - {0}))


def undone(title: str, body: str, repo: str) -> frozenset[str]:
    """What a pull request says that it reverts: numbers as "#12", commits by their full hash.

    GitHub's button writes "Reverts owner/name#12", git "This reverts commit <hash>"; a squash keeps the
    number in the title, `Revert "... (#12)"`. One that reverts a revert takes back that one.
    """
    named = _UNDOES.findall(body[:LONGEST_TEXT])
    own = _own_names(repo)
    found = {f"#{number}" for link, short, number in named if (link or short or repo).lower() in own}
    found.update(_UNDOES_COMMIT.findall(body[:LONGEST_TEXT]))
    if quoted := _UNDOES_TITLE.match(strip_tags(title)):
        found.update(f"#{number}" for number in re.findall(r"\(#([0-9]{1,7})\)", quoted[1])[-1:])
    return frozenset(found)


def _own_names(repo: str) -> set[str]:
    return {repo.lower(), repo.lower().rpartition("/")[2]}


def errors(text: str) -> list[tuple[str, str]]:
    """Error messages in a text as (class, message); a message folded onto an indented line is joined."""
    found: list[tuple[str, str]] = []
    for name, message in _ERROR.findall(text[:LONGEST_TEXT]):
        item = (name, " ".join(message.split())[:160])
        if item not in found:
            found.append(item)
    return found[:5]
