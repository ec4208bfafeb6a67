"""The verdict of a patch on a tree: by content and by contract, never by ancestry.

vLLM squash-merges, so ancestry says nothing; and a text that applies says nothing either, because the
signature that the pinned library declares decides which names are right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from pinproof.contract.model import CallCheck, Report
from pinproof.patchset.change import TextState, contents_after, text_state
from pinproof.patchset.contracts import Contract, contracts_of
from pinproof.patchset.patchfile import Patch
from pinproof.patchset.verdictcache import remembered
from pinproof.tree import Tree

VerdictName = Literal["needed", "applied", "not-needed", "obsolete", "conflict", "absent", "unknown"]

_KEYWORD = re.compile(rb"\s*([A-Za-z_]\w*)\s*=(?!=)")


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a patch is to a tree, with one sentence that says why.

    `source` names where the deciding signature was read; `passes` and `declares` are the keywords
    that decide; `warnings` are things to know that do not change the verdict.
    """

    patch: str
    tree: str
    verdict: VerdictName
    sentence: str
    source: str | None = None
    passes: tuple[str, ...] = ()
    declares: tuple[str, ...] = ()
    calls: tuple[CallCheck, ...] = ()
    warnings: tuple[str, ...] = ()


def judge(patch: Patch, tree: Tree, libraries: Mapping[str, str] | None = None) -> Verdict:
    """The verdict of one patch on one tree.

    Args:
        patch: the patch.
        tree: the tree; it is only read.
        libraries: where to take a library's signatures from instead, by name.

    Raises:
        CannotCheck: the tree is a release and its files cannot be had.
    """
    if libraries:
        return _judge(patch, tree, libraries)
    return remembered(patch, tree, lambda: _judge(patch, tree, None))


def _judge(patch: Patch, tree: Tree, libraries: Mapping[str, str] | None) -> Verdict:
    text = text_state(tree, patch)
    if text == "missing":
        paths = ", ".join(patch.paths())
        return Verdict(
            patch=patch.name, tree=tree.name, verdict="absent", sentence=f"this tree has no {paths}"
        )
    contracts = contracts_of(patch)
    if not contracts:
        return _by_text(patch, tree, text)
    reports = [_report(tree, contract, libraries) for contract in contracts]
    evidence = _Evidence(patch, tree, text, contracts, reports)
    unchecked = [item for report in reports for item in report.unchecked]
    if unchecked:
        reason = f"{unchecked[0].library}: {unchecked[0].reason}"
        return evidence.verdict("unknown", f"the signature cannot be had, so nothing decides ({reason})")
    if evidence.broken:
        return _broken(evidence, libraries)
    return _holding(evidence, libraries)


def _report(tree: Tree, contract: Contract, libraries: Mapping[str, str] | None) -> Report:
    """The calls in the file the contract names; where none is left there, those of the whole tree."""
    # Most of the start-up time, and a remembered verdict needs none of it.
    from pinproof.contract.check import check_tree

    report = check_tree(tree, callee=contract.callee, files=[contract.file], libraries=libraries)
    if report.calls or report.unchecked:
        return report
    return check_tree(tree, callee=contract.callee, libraries=libraries)


class _Evidence:
    """What was read about one patch on one tree, in the words that sentences need."""

    def __init__(
        self, patch: Patch, tree: Tree, text: TextState,
        contracts: Sequence[Contract], reports: Sequence[Report],
    ) -> None:  # fmt: skip
        self.patch, self.tree, self.text, self.contracts = patch, tree, text, contracts
        self.calls = tuple(call for report in reports for call in report.calls)
        self.broken = tuple(call for call in self.calls if call.failing)
        self._sources = {
            used.library: used.source.replace(" (", ", ").replace(")", "")
            for report in reports for used in report.libraries
        }  # fmt: skip
        self.warnings = tuple(used.note for report in reports for used in report.libraries if used.note)
        old, new, context = _hunk_keywords(patch)
        self._named = old | new
        self._context = context

    @property
    def deciding(self) -> CallCheck | None:
        """The call to speak of: a broken one before a sound one, then the one that says most."""
        return max(self.broken or self.calls, key=lambda call: len(self.passes(call)), default=None)

    def passes(self, call: CallCheck) -> tuple[str, ...]:
        """The call's keywords that the patch is about: not those its hunk shows as untouched."""
        return tuple(name for name in call.keywords if name not in self._context)

    def declares(self, call: CallCheck) -> tuple[str, ...]:
        """The signature's parameters among the names that decide."""
        if call.signature is None:
            return ()
        near = {name for drift in call.drifts for name in drift.nearest}
        wanted = self._named | set(call.keywords) | near
        names = (parameter.name for parameter in call.signature.parameters)
        return tuple(n for n in names if n in wanted and n not in self._context)

    def source(self, call: CallCheck) -> str | None:
        """`LIBRARY VERSION`, where in it the signature stands, and how it was come by."""
        if call.signature is None:
            return None
        place = call.signature.place
        return f"{place.source}, {place.file}:{place.line}, {self._sources.get(call.library, 'given')}"

    def verdict(self, name: VerdictName, sentence: str) -> Verdict:
        call = self.deciding
        return Verdict(
            patch=self.patch.name, tree=self.tree.name, verdict=name, sentence=sentence, calls=self.calls,
            source=self.source(call) if call else None, passes=self.passes(call) if call else (),
            declares=self.declares(call) if call else (), warnings=self.warnings,
        )  # fmt: skip

    def reading(self) -> str:
        """`FILE:LINE passes A, B; LIBRARY VERSION declares C, D (where, and how it was come by)`."""
        call = self.deciding
        assert call is not None
        passed = ", ".join(self.passes(call)) or "none of the patch's names"
        if call.signature is None:
            return f"{call.file}:{call.line} passes {passed}"
        declared = ", ".join(self.declares(call)) or "none of these names"
        label, _, where = (self.source(call) or "").partition(", ")
        return f"{call.file}:{call.line} passes {passed}; {label} declares {declared} ({where})"


def _broken(seen: _Evidence, libraries: Mapping[str, str] | None) -> Verdict:
    if seen.text != "applies":
        why = "is in the text already" if seen.text == "applied" else "does not apply"
        return seen.verdict("conflict", f"the call is broken and the patch {why}: {seen.reading()}")
    after = _after(seen, libraries)
    still = [call for call in after if call.failing]
    if still:
        names = ", ".join(name for drift in still[0].drifts for name in drift.names)
        return seen.verdict(
            "conflict", f"the call is broken and stays broken with the patch ({names}): {seen.reading()}"
        )
    return seen.verdict("needed", f"the call is broken: {seen.reading()}")


def _holding(seen: _Evidence, libraries: Mapping[str, str] | None) -> Verdict:
    if seen.deciding is None:
        callees = ", ".join(contract.callee for contract in seen.contracts)
        return seen.verdict("obsolete", f"nothing in this tree calls {callees} any more")
    if seen.text == "applied":
        return seen.verdict("applied", f"the contract holds with the patch in: {seen.reading()}")
    if seen.text == "applies":
        broken = [call for call in _after(seen, libraries) if call.failing]
        harm = "applying it would change a call that works"
        if broken:
            names = ", ".join(name for drift in broken[0].drifts for name in drift.names)
            harm = f"applying it would break a working tree (unexpected {names})"
        return seen.verdict("not-needed", f"{harm}: {seen.reading()}")
    moved = all(call.file not in seen.patch.paths() for call in seen.calls)
    what = "the call has moved and holds" if moved else "the call was rewritten and holds"
    return seen.verdict("obsolete", f"{what}: {seen.reading()}")


def _after(seen: _Evidence, libraries: Mapping[str, str] | None) -> list[CallCheck]:
    from pinproof.contract.check import check_tree

    tree = seen.tree.with_changes(contents_after(seen.tree, seen.patch))
    reports = (
        check_tree(tree, callee=contract.callee, files=[contract.file], libraries=libraries)
        for contract in seen.contracts
    )
    return [call for report in reports for call in report.calls]


def _by_text(patch: Patch, tree: Tree, text: TextState) -> Verdict:
    """A patch without a contract: only its text can speak."""
    names: dict[TextState, tuple[VerdictName, str]] = {
        "applies": ("needed", "the patch states no contract; its text applies"),
        "applied": ("applied", "the patch states no contract; its text is in the tree"),
        "neither": ("conflict", "the patch states no contract; its text neither applies nor is in the tree"),
    }
    name, sentence = names[text]
    return Verdict(patch=patch.name, tree=tree.name, verdict=name, sentence=sentence)


def _hunk_keywords(patch: Patch) -> tuple[set[str], set[str], set[str]]:
    """Keyword names on the removed, added and untouched lines of the patch's hunks."""
    lines = [line for diff in patch.diffs for hunk in diff.hunks for line in hunk.lines]
    return tuple(_keywords(line[1:] for line in lines if line[:1] == sign) for sign in (b"-", b"+", b" "))  # type: ignore[return-value]


def _keywords(lines: Iterable[bytes]) -> set[str]:
    return {match[1].decode() for line in lines if (match := _KEYWORD.match(line))}
