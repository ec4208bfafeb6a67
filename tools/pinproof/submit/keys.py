"""What evidence hangs on: the patch's bytes, the files it touches, the gate's inputs, the tree's pins."""

from __future__ import annotations

import hashlib
import re

from pinproof.errors import Conflict, InputError
from pinproof.gate import GateName
from pinproof.patchset.contracts import contracts_of
from pinproof.patchset.engine import apply_diff
from pinproof.patchset.patchfile import Patch
from pinproof.pins import deciding, read_pins
from pinproof.submit.records import Keys, TouchedFile
from pinproof.tree import Tree

# The fields that `submit` itself rewrites when it has sent a patch: bookkeeping that no gate and no
# reader of the code depends on. Every other byte of the file counts.
_BOOKKEEPING = re.compile(rb"^(Upstream-Status|Last-Update):.*\n", re.MULTILINE)

# What this gate finds depends on the patch alone.
_TREELESS: frozenset[GateName | None] = frozenset({"duplicates"})
# What a gate reads of the tree beside the touched files: with another configuration, it proves
# something else.
_INPUTS: dict[GateName, tuple[str, ...]] = {
    "pre-commit": (".pre-commit-config.yaml", "pyproject.toml", ".clang-format"),
    "compile": ("pyproject.toml",),
}


def patch_hash(patch: Patch) -> str:
    """The SHA-256 of the patch's bytes without its two bookkeeping fields."""
    before, fields, after = split_raw(patch.raw)
    return hashlib.sha256(before + _BOOKKEEPING.sub(b"", fields) + after).hexdigest()


def split_raw(raw: bytes) -> tuple[bytes, bytes, bytes]:
    """A patch's bytes as what stands before its fields, the paragraph of fields, and the rest.

    Only the message's last paragraph holds fields: a line of the prose that looks like one is prose.
    """
    at = raw.index(b"\ndiff --git ")
    start = raw.rfind(b"\n\n", 0, len(raw[:at].rstrip(b"\n"))) + 2
    return raw[:start], raw[start:at], raw[at:]


def keys(patch: Patch, tree: Tree | None, gate: GateName | None = None) -> Keys:
    """What a record of this gate (None: of a person) on this patch and tree is about.

    Args:
        patch: the patch.
        tree: the tree, with or without the patch applied: the same keys either way. Only a gate that
            looks at no tree (duplicates) can do without one.
        gate: whose inputs and pins to add.

    Raises:
        Conflict: the patch neither applies to the tree nor is in it.
        InputError: there is no tree, and the gate needs one.
    """
    if gate in _TREELESS:
        return Keys(patch=patch.name, patch_sha256=patch_hash(patch), files=[])
    if tree is None:
        raise InputError(f"a {gate or 'review'} record needs the tree it is about")
    inputs = {
        path: hashlib.sha256(data).hexdigest()
        for path in (_INPUTS.get(gate, ()) if gate else ())
        if (data := tree.read(path)) is not None
    }
    return Keys(
        patch=patch.name,
        patch_sha256=patch_hash(patch),
        files=[TouchedFile(path=path, before=_sha(before), after=_sha(after))
               for path, (before, after) in sides(patch, tree).items()],
        inputs=inputs,
        pins=_pins_for(gate, patch, tree),
    )  # fmt: skip


def sides(patch: Patch, tree: Tree) -> dict[str, tuple[bytes | None, bytes | None]]:
    """Each touched file's bytes without and with the patch, None for no file.

    Raises:
        Conflict: the patch neither applies to the tree nor is in it.
    """
    contents = {diff.path: tree.read(diff.path) for diff in patch.diffs}
    try:
        return {diff.path: (contents[diff.path], apply_diff(contents[diff.path], diff))
                for diff in patch.diffs}  # fmt: skip
    except Conflict as forward:
        try:
            return {diff.path: (apply_diff(contents[diff.path], diff, reverse=True), contents[diff.path])
                    for diff in patch.diffs}  # fmt: skip
        except Conflict:
            raise Conflict(
                f"{patch.name} neither applies to {tree.name} nor is in it: {forward.message}",
                hint=f"pinproof verdict {patch.number} {tree.name}",
            ) from forward


def _pins_for(gate: GateName | None, patch: Patch, tree: Tree) -> dict[str, str]:
    """The pins that change a gate's answer: all for contract; for smoke, torch and the patch's libraries."""
    if gate == "contract":
        return exact_pins(tree)
    if gate != "smoke":
        return {}
    libraries = {contract.callee.split(".", 1)[0] for contract in contracts_of(patch)} | {"torch"}
    return {library: spec for library, spec in exact_pins(tree).items() if library in libraries}


def exact_pins(tree: Tree) -> dict[str, str]:
    """The version or commit of each library that the tree pins exactly; several, when it disagrees.

    Pins of extras and of other platforms count only for libraries that nothing else pins.
    """
    pins = read_pins(tree)
    found: dict[str, set[str]] = {}
    for name, first in deciding(pins).items():
        same = (pin for pin in pins if pin.library == name and pin.exact and pin.reach == first.reach)
        if specs := {pin.spec.removeprefix("==") for pin in same}:
            found[name] = specs
    return {library: " and ".join(sorted(specs)) for library, specs in found.items()}


def difference(then: Keys, now: Keys) -> str | None:
    """The first thing that changed between two keys, in words; None when nothing did."""
    if then.patch_sha256 != now.patch_sha256:
        return "the patch was edited since"
    for old, new in _paired(then, now):
        if old is None or new is None:
            return "the patch touches other files now"
        if (old.before, old.after) != (new.before, new.after):
            return f"{new.path} is another file in this tree"
    for path in sorted(then.inputs.keys() | now.inputs.keys()):
        if then.inputs.get(path) != now.inputs.get(path):
            return f"{path} of the tree changed"
    # An installed package states fewer pins than a checkout: only what both state can differ.
    for library in sorted(then.pins.keys() & now.pins.keys()):
        if then.pins[library] != now.pins[library]:
            return f"the pin of {library} moved from {then.pins[library][:12]} to {now.pins[library][:12]}"
    return None


def _paired(then: Keys, now: Keys) -> list[tuple[TouchedFile | None, TouchedFile | None]]:
    old = {file.path: file for file in then.files}
    new = {file.path: file for file in now.files}
    return [(old.get(path), new.get(path)) for path in sorted(old.keys() | new.keys())]


def _sha(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()
