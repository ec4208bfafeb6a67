"""Read one release: the callee's signature in its pinned library, and every call the release makes."""

from __future__ import annotations

from pinproof.contract.check import check_tree
from pinproof.contract.model import CallCheck
from pinproof.errors import PinproofError
from pinproof.history.lookup import NotDeclared, declared, library_of, watched_for
from pinproof.history.model import Caller, Column
from pinproof.patchset.change import contents_after
from pinproof.patchset.patchfile import Patch
from pinproof.tree import Tree


def read_column(tree: Tree, callee: str, without: Patch | None = None) -> Column:
    """One column of a history.

    Args:
        tree: the release.
        callee: the full name, e.g. `deep_gemm.fp8_fp4_mega_moe`.
        without: a patch to take out of the tree first.

    Raises:
        InputError: no watched library has this name.
        CannotCheck: the release cannot be read.
        Conflict: the patch is not in the tree.
    """
    watched = watched_for(callee)
    if without is not None:
        tree = tree.with_changes(contents_after(tree, without, reverse=True))
    found, libraries = library_of(tree, watched)
    column = Column(release=tree.name, without=without.name.split("-", 1)[0] if without else None)
    if found is None:
        return _replace(column, missing=libraries.unchecked[watched.name].reason, settled=False)
    used = libraries.used[watched.name]
    pin = used.pin
    calls = check_tree(tree, callee=callee, watched=(watched,)).calls
    column = _replace(
        column, library=used.version, source=used.source, callers=tuple(map(_caller, calls)),
        settled=pin is None or pin.exact or "vendored" in used.source,
    )  # fmt: skip
    try:
        signature = declared(found, callee)
    except NotDeclared as error:
        return _replace(column, missing=str(error))
    place = signature.place
    return _replace(column, parameters=signature.parameters, declared_at=f"{place.file}:{place.line}")


def unread(release: str, without: Patch | None, error: PinproofError) -> Column:
    """The column of a release that could not be read."""
    number = without.name.split("-", 1)[0] if without else None
    return Column(release=release, without=number, missing=error.message, read=False, settled=False)


def _caller(call: CallCheck) -> Caller:
    by_kind = {drift.kind: drift for drift in call.drifts}
    unexpected, left_out = by_kind.pop("unexpected-keyword", None), by_kind.pop("missing-required", None)
    rest = "; ".join(f"{drift.kind} {', '.join(drift.names)}" for drift in by_kind.values())
    return Caller(
        file=call.file, line=call.line, keywords=call.keywords, guard=call.guard, open=call.open,
        unexpected=unexpected.names if unexpected else (), left_out=left_out.names if left_out else (),
        other=rest or None,
    )  # fmt: skip


def _replace(column: Column, **changes: object) -> Column:
    import msgspec

    return msgspec.structs.replace(column, **changes)
