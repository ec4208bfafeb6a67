"""The reviewer's checklist of a patch: each item ticked by a record, open with its reason, or a person's."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from pinproof.errors import InputError
from pinproof.gate import GATES, GateName
from pinproof.patchset.fields import field_problems
from pinproof.patchset.patchfile import Patch
from pinproof.submit.keys import patch_hash
from pinproof.submit.policy import Policy
from pinproof.submit.records import EvidenceRecord, ReviewRecord
from pinproof.submit.requirements import Requirement, requirements
from pinproof.submit.store import Store, load_evidence, load_review
from pinproof.tree import Tree

_DATA = Path(__file__).parent / "checklist.toml"


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the checklist and what ticks it; `person`: nothing does."""

    text: str
    by: Literal["contract", "compile", "pre-commit", "duplicates", "smoke", "lint", "review", "assistance",
                "person"]  # fmt: skip


class Filled(msgspec.Struct, frozen=True):
    """An item with its answer: ticked or not, why, and the record that says so (a path below the patches)."""

    item: Item
    ticked: bool
    why: str
    record: str | None = None


def load_checklist() -> list[Item]:
    """The items, in order."""
    from pinproof.toml import tomllib

    return msgspec.convert(tomllib.loads(_DATA.read_text("utf-8"))["item"], list[Item])


def fill(patch: Patch, tree: Tree | None, policy: Policy, store: Store, now: datetime) -> list[Filled]:
    """The checklist of a patch.

    Args:
        patch: the patch.
        tree: the tree to hold the records against; without one, they are held against the patch alone,
            and each answer names the tree that its record saw.
        policy: the upstream's policy.
        store: where the records are.
        now: the time, timezone-aware.
    """
    if tree is None:
        known = _by_patch_alone(patch, store, now)
    else:
        known = {item.item: item for item in requirements(patch, tree, policy, store, now)}
    return [_answer(item, patch, known, store) for item in load_checklist()]


def _answer(item: Item, patch: Patch, known: Mapping[str, Requirement], store: Store) -> Filled:
    if item.by == "person":
        return Filled(item, False, "asked of you")
    if item.by == "lint":
        problems = list(field_problems(patch))
        return Filled(item, not problems, problems[0] if problems else "pinproof lint finds nothing to fix")
    found = known.get(item.by)
    if found is None:
        return Filled(item, False, "not asked for by the policy")
    kind = "review" if item.by == "assistance" else item.by
    path = store.path(patch, kind)
    record = path.relative_to(store.root.parent).as_posix() if path.is_file() else None
    why = found.why if found.state == "met" else f"{found.state}: {found.why}"
    return Filled(item, found.state == "met", why, record)


def _by_patch_alone(patch: Patch, store: Store, now: datetime) -> dict[str, Requirement]:
    found: dict[str, Requirement] = {gate: _recorded(gate, patch, store, now) for gate in GATES}
    why = "no person has read every hunk yet"
    try:
        review = load_review(store, patch, now)
    except InputError as error:
        review, why = None, f"record refused: {error.message}"
    for name in ("review", "assistance"):
        none = Requirement(item=name, state="missing", why=why)
        found[name] = none if review is None else _of(name, review, patch)
    return found


def _recorded(gate: GateName, patch: Patch, store: Store, now: datetime) -> Requirement:
    try:
        made = load_evidence(store, patch, gate, now)
    except InputError as error:
        return Requirement(item=gate, state="failed", why=f"record refused: {error.message}")
    return Requirement(item=gate, state="missing", why="not run") if made is None else _of(gate, made, patch)


def _of(name: str, made: EvidenceRecord | ReviewRecord, patch: Patch) -> Requirement:
    if made.keys.patch_sha256 != patch_hash(patch):
        return Requirement(item=name, state="stale", why="the patch was edited since")
    if isinstance(made, ReviewRecord):
        return Requirement(item=name, state="met", why=f"{made.person.name}, {made.date[:10]}")
    tree = (
        f"on {made.tree.package} {made.tree.version or (made.tree.commit or '')[:12]}, " if made.tree else ""
    )
    on = f"{tree}{made.date[:10]}"
    state: Literal["met", "failed", "missing"] = "met" if made.outcome == "pass" else "failed"
    return Requirement(item=name, state=state, why=f"{made.outcome} {on}: {made.reason or made.summary}")


def as_markdown(filled: list[Filled], patch: Patch) -> str:
    """The checklist as Markdown, each ticked item with a link to its record."""
    from pinproof.markdown import code, text

    lines = [f"Reviewer's checklist of {code(patch.name)}", ""]
    for answer in filled:
        link = f" ([record]({answer.record}))" if answer.record else ""
        lines.append(f"- [{'x' if answer.ticked else ' '}] {answer.item.text} *{text(answer.why)}*{link}")
    return "\n".join(lines) + "\n"
