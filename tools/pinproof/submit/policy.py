"""What an upstream asks of a pull request: a TOML file read into types."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from pinproof.errors import InputError
from pinproof.gate import GateName
from pinproof.patchset.patchfile import Patch
from pinproof.paths import read_regular

_LARGEST = 1 << 20
_POLICIES = Path(__file__).parent / "policies"
_TAGGED = re.compile(r"((?:\[[^\[\]]+\])+) ([^\s\[].*)")

Block = Literal[
    "summary", "claims", "root-cause", "duplicates", "assistance", "commands", "results", "not-proved", "logs"
]
BLOCKS: tuple[Block, ...] = Block.__args__  # type: ignore[attr-defined]


class GatePolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked of one gate: evidence at all, who may skip it, how old its evidence may be."""

    required: bool
    may_skip: list[str] = []
    max_age_hours: float | None = None


class TitlePolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which [tags] a title may carry, and how long it may be."""

    tags: list[str]
    max_length: int


class SizePolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Above how many changed lines an RFC is needed, and which files (globs) do not count."""

    rfc_over_lines: int
    not_counted: list[str]


class HumanPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What only a person can give: the review, the answer about AI, answers to questions by id."""

    review: bool
    assistance: bool
    assistance_trailer: Annotated[str, msgspec.Meta(pattern=r"^[A-Z][A-Za-z-]+$(?!\n)")]
    questions: dict[str, str] = {}


class Tick(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of the template's checklist and what must hold before it is ticked."""

    line: str
    by: list[str]


class BodyPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the template's sections are filled; `template` serves trees that have none of their own."""

    template: str
    sections: dict[str, list[Block]]
    ticks: list[Tick] = []


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One upstream's demands (policies/*.toml)."""

    schema: Literal["pinproof.policy/1"]
    upstream: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9-]+/[A-Za-z0-9._-]+$(?!\n)")]
    base: str
    submit_from: list[str]
    title: TitlePolicy
    gates: dict[GateName, GatePolicy]
    size: SizePolicy
    human: HumanPolicy
    body: BodyPolicy


def load_policy(spec: str = "vllm") -> Policy:
    """The policy of an upstream.

    Args:
        spec: the name of a policy that comes with pinproof, or the path of a TOML file.

    Raises:
        InputError: there is none, or it is malformed; the message names the key.
    """
    from pinproof.toml import tomllib

    path = Path(spec) if "/" in spec or spec.endswith(".toml") else _POLICIES / f"{spec}.toml"
    try:
        return msgspec.convert(tomllib.loads(read_regular(path, _LARGEST).decode("utf-8")), Policy)
    except FileNotFoundError:
        known = ", ".join(sorted(file.stem for file in _POLICIES.glob("*.toml")))
        raise InputError(
            f"no policy {spec!r}", hint=f"policies here: {known}; or give a .toml file"
        ) from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name}: {error}") from error


def title_fault(title: str, policy: Policy) -> str | None:
    """What is wrong with a pull request's title; None when nothing is."""
    match = _TAGGED.fullmatch(title)
    if match is None:
        return "it must be one or more [tags] without spaces between them, a space, then text"
    known = {tag.lower() for tag in policy.title.tags}
    foreign = [tag for tag in re.findall(r"\[([^\[\]]+)\]", match[1]) if tag.lower() not in known]
    if foreign:
        return f"[{foreign[0]}] is not a tag of {policy.upstream}"
    if len(title) > policy.title.max_length:
        return f"it has {len(title)} characters; {policy.title.max_length} are allowed"
    return None


def counted_lines(patch: Patch, policy: Policy) -> int:
    """How many lines the patch adds and removes in files that count towards the size limit."""
    return sum(
        line[:1] in (b"+", b"-")
        for diff in patch.diffs
        if not any(fnmatchcase(diff.path, glob) for glob in policy.size.not_counted)
        for hunk in diff.hunks
        for line in hunk.lines
    )
