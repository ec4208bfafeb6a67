"""The verdict of a patch on a tree: by content and by contract, never by ancestry.

vLLM squash-merges, so ancestry says nothing; and a text that applies says nothing either, because the
signature that the pinned library declares decides which names are right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from pinproof.contract.model import CallCheck
from pinproof.patchset import seen as looks
from pinproof.patchset import words
from pinproof.patchset.change import TextState, contents_after, text_state
from pinproof.patchset.contracts import Contract, contracts_of, no_contract
from pinproof.patchset.patchfile import Patch
from pinproof.patchset.seen import Difference, Seen
from pinproof.patchset.verdictcache import remembered
from pinproof.tree import Tree

VerdictName = Literal["needed", "applied", "not-needed", "obsolete", "conflict", "absent", "unknown"]
Basis = Literal["stated", "derived", "text"]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a patch is to a tree, with one sentence that says why.

    `basis` says what decided: the contract that the patch states, the findings that vanish with it, or, for
    a patch that states to have no contract, its text alone. `source` names where the deciding signature
    was read; `passes` and `declares` are the keywords that decide; `missing` the libraries whose signatures
    are not available; `warnings` are things to know that do not change the verdict.
    """

    patch: str
    tree: str
    verdict: VerdictName
    sentence: str
    basis: Basis = "stated"
    source: str | None = None
    passes: tuple[str, ...] = ()
    declares: tuple[str, ...] = ()
    calls: tuple[CallCheck, ...] = ()
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def judge(patch: Patch, tree: Tree, libraries: Mapping[str, str] | None = None) -> Verdict:
    """The verdict of one patch on one tree.

    Args:
        patch: the patch.
        tree: the tree; it is only read.
        libraries: where to take a library's signatures from instead, by name.

    Raises:
        CannotCheck: the tree is a release and its files are not available.
    """
    if libraries:
        return _judge(patch, tree, libraries)
    return remembered(patch, tree, lambda: _judge(patch, tree, None))


def _judge(patch: Patch, tree: Tree, libraries: Mapping[str, str] | None) -> Verdict:
    text = text_state(tree, patch)
    contracts = contracts_of(patch)
    case = _Case(patch, tree, text, libraries, words.names_in(patch))
    if text == "missing":
        return case.verdict("absent", f"this tree has no {', '.join(patch.paths())}", Seen(()))
    if contracts:
        return _by_contract(case, contracts)
    reason = no_contract(patch)
    return _by_difference(case) if reason is None else _by_text(case, reason)


class _Case(msgspec.Struct, frozen=True):
    """One patch on one tree, and how a verdict on it is written down."""

    patch: Patch
    tree: Tree
    text: TextState
    libraries: Mapping[str, str] | None
    names: words.Names

    def side(self, *, with_patch: bool) -> Tree:
        """The tree with or without the patch; only where its text is one of the two."""
        if with_patch == (self.text == "applied"):
            return self.tree
        changed = contents_after(self.tree, self.patch, reverse=not with_patch)
        return self.tree.with_changes(changed)

    def deciding(self, seen: Seen) -> CallCheck | None:
        """The call to speak of: a broken one before a sound one, then the one that says most."""
        calls = seen.broken or seen.bound or seen.calls
        return max(calls, key=lambda call: len(words.passes(call, self.names)), default=None)

    def reading(self, seen: Seen) -> str:
        call = self.deciding(seen)
        return words.reading(call, self.names, seen) if call is not None else ""

    def verdict(self, name: VerdictName, sentence: str, seen: Seen, basis: Basis = "stated") -> Verdict:
        call = self.deciding(seen)
        return Verdict(
            patch=self.patch.name, tree=self.tree.name, verdict=name, sentence=sentence, basis=basis,
            source=words.source(call, seen.sources) if call else None,
            passes=words.passes(call, self.names) if call else (),
            declares=words.declares(call, self.names) if call else (),
            calls=seen.calls, missing=tuple(u.library for u in seen.unchecked), warnings=seen.notes,
        )  # fmt: skip


def _by_contract(case: _Case, contracts: Sequence[Contract]) -> Verdict:
    seen = looks.stated(case.tree, contracts, case.libraries, everywhere=True)
    if seen.unchecked:
        missing = seen.unchecked[0]
        reason = f"{missing.library}: {missing.reason}"
        return case.verdict("unknown", f"signature not available, so nothing decides ({reason})", seen)
    if seen.calls and not seen.bound:
        call = seen.calls[0]
        why = f"{call.file}:{call.line} could not be decided: {call.open}"
        return case.verdict(
            "unknown", f"no call of {call.callee} was bound, so nothing decides ({why})", seen
        )
    if seen.broken:
        return _broken(case, seen, contracts)
    return _holding(case, seen, contracts)


def _broken(case: _Case, seen: Seen, contracts: Sequence[Contract]) -> Verdict:
    if case.text != "applies":
        why = "is in the text already" if case.text == "applied" else "does not apply"
        return case.verdict("conflict", f"the call is broken and the patch {why}: {case.reading(seen)}", seen)
    after = looks.stated(case.side(with_patch=True), contracts, case.libraries, everywhere=False)
    if after.broken:
        names = ", ".join(name for drift in after.broken[0].drifts for name in drift.names)
        return case.verdict(
            "conflict", f"the call is broken and stays broken with the patch ({names}): {case.reading(seen)}",
            seen,
        )  # fmt: skip
    unkept = _unkept(contracts, after)
    if unkept is not None:
        return case.verdict(
            "conflict", f"the call is broken, and with the patch {unkept}: {case.reading(seen)}", seen
        )
    return case.verdict("needed", f"the call is broken: {case.reading(seen)}", seen)


def _unkept(contracts: Sequence[Contract], after: Seen) -> str | None:
    """The first contract that no call keeps, in words; None when each is kept."""
    for contract in contracts:
        if not any(contract.kept_by(call) for call in after.calls):
            return f"no call does what its contract states ({contract.text()})"
    return None


def _holding(case: _Case, seen: Seen, contracts: Sequence[Contract]) -> Verdict:
    callees = ", ".join(dict.fromkeys(contract.callee for contract in contracts))
    if not seen.calls and case.text == "neither":
        return case.verdict("obsolete", f"nothing in this tree calls {callees} any more", seen)
    if not seen.calls:
        where = "is in" if case.text == "applied" else "applies"
        return case.verdict(
            "unknown",
            f"the patch {where}, but no call of {callees} was found: zero calls prove nothing",
            seen,
        )
    if case.text == "applied":
        unkept = _unkept(contracts, seen)
        if unkept is not None:
            return case.verdict("unknown", f"the patch is in, but {unkept}: {case.reading(seen)}", seen)
        return case.verdict("applied", f"the contract holds with the patch in: {case.reading(seen)}", seen)
    if case.text == "applies":
        return _not_needed(case, seen, contracts)
    moved = all(call.file not in case.patch.paths() for call in seen.calls)
    what = "the call has moved and holds" if moved else "the call was rewritten and holds"
    return case.verdict("obsolete", f"{what}: {case.reading(seen)}", seen)


def _not_needed(case: _Case, seen: Seen, contracts: Sequence[Contract]) -> Verdict:
    after = looks.stated(case.side(with_patch=True), contracts, case.libraries, everywhere=False)
    harm = "applying it would change a call that works"
    if after.broken:
        drift = after.broken[0].drifts[0]
        kind = drift.kind.partition("-")[0]
        harm = f"applying it would break a working tree ({kind} {', '.join(drift.names)})"
    return case.verdict("not-needed", f"{harm}: {case.reading(seen)}", seen)


def _by_difference(case: _Case) -> Verdict:
    """A patch that states no contract: the findings that vanish with it are its contract."""
    if case.text == "neither":
        return case.verdict(
            "conflict", "the patch states no contract; its text neither applies nor is in the tree", Seen(()),
            "derived",
        )  # fmt: skip
    trees = (case.side(with_patch=False), case.side(with_patch=True))
    found = looks.difference(*trees, case.patch, case.libraries)
    if found.harmed:
        return _harmed(case, found)
    sound = [call for call in found.changed if call.open is None and not call.drifts]
    if not found.mended or not sound:
        return case.verdict(
            "unknown", f"the patch states no contract, and {_nothing(found)}", Seen(()), "derived"
        )
    count = len(found.mended)
    vanish = "1 finding vanishes" if count == 1 else f"{count} findings vanish"
    left = f", {found.remaining} remain" if found.remaining else ""
    what = f"the patch states no contract; {vanish} with it{left}"
    here = found.mended if case.text == "applies" else tuple(sound)
    seen = msgspec.structs.replace(found.without, calls=here)
    name: VerdictName = "needed" if case.text == "applies" else "applied"
    return case.verdict(name, f"{what}: {case.reading(seen)}", seen, "derived")


def _nothing(found: Difference) -> str:
    """Why the findings of the touched files prove nothing about the patch."""
    if found.mended:
        call = found.mended[0]
        return f"with it nothing is called in the place of {call.callee} ({call.file}:{call.line})"
    if found.unread:
        return f"a file it touches could not be read ({found.unread[0]})"
    if found.without.unchecked:
        missing = found.without.unchecked[0]
        return f"no finding vanishes with it (not checked: {missing.library}: {missing.reason})"
    return "no finding vanishes with it: nothing decides (Contract: says which call it is about)"


def _harmed(case: _Case, found: Difference) -> Verdict:
    seen = msgspec.structs.replace(found.without, calls=found.harmed)
    if case.text == "applied":
        return case.verdict(
            "conflict", f"the patch is in and breaks a call: {case.reading(seen)}", seen, "derived"
        )
    return case.verdict(
        "not-needed", f"applying it would break a working tree: {case.reading(seen)}", seen, "derived"
    )


def _by_text(case: _Case, reason: str) -> Verdict:
    """A patch that states to be about no call: only its text can speak, and no contract is proved."""
    names: dict[TextState, tuple[VerdictName, str]] = {
        "applies": ("needed", "its text applies"),
        "applied": ("applied", "its text is in the tree"),
        "neither": ("conflict", "its text neither applies nor is in the tree"),
    }
    name, sentence = names[case.text]
    return case.verdict(name, f"{sentence}; the patch is about no call ({reason})", Seen(()), "text")
