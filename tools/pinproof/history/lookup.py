"""Find what a library declares under a callee's full name: the one door from here into the contract gate."""

from __future__ import annotations

import difflib

from pinproof.contract.declared.callables import Unreadable, attribute, binds_first, signatures
from pinproof.contract.declared.library import Library, Member
from pinproof.contract.declared.summary import Class, Function
from pinproof.contract.model import Signature
from pinproof.contract.sources.libraries import Libraries
from pinproof.contract.watch.watchlist import Watched, shipped
from pinproof.errors import InputError
from pinproof.tree import Tree


class NotDeclared(Exception):
    """There is no signature under this name; the message says why."""


def watched_for(callee: str) -> Watched:
    """The watched library that a full name belongs to, by its first part.

    Raises:
        InputError: none does, or the name is not a dotted name.
    """
    root, dot, rest = callee.partition(".")
    known = {name: watched for watched in shipped() for name in watched.imports}
    if not (dot and rest) or not all(part.isidentifier() for part in callee.split(".")):
        raise InputError(
            f"{callee!r} is not a full name such as deep_gemm.fp8_fp4_mega_moe",
            hint="write LIBRARY.FUNCTION, with the module where there is one",
        )
    if root not in known:
        close = difflib.get_close_matches(root, known, 1)
        raise InputError(
            f"unknown library {root!r}" + (f"; did you mean {close[0]!r}?" if close else ""),
            hint=f"watched: {', '.join(sorted(known))}",
        )
    return known[root]


def declared(library: Library, callee: str) -> Signature:
    """The signature a library declares for a function, class or method.

    Args:
        library: one library at one version.
        callee: its full name, e.g. `flashinfer.comm.Mapping`.

    Raises:
        NotDeclared: it is not there, or its signature cannot be read.
    """
    members, bound = _walk(library, callee)
    if not members:
        raise NotDeclared(f"{library.label} declares no {callee}")
    first = members[0]
    if first.kind in ("absent", "open"):
        raise NotDeclared(first.reason)
    try:
        return signatures(library, first, callee, bound=bound)[0]
    except Unreadable as error:
        raise NotDeclared(str(error)) from error


def _walk(library: Library, callee: str) -> tuple[list[Member], bool]:
    """The members a dotted name leads to, and whether `self` is filled in."""
    root, *rest = callee.split(".")
    members, bound = [library.import_module(root)], False
    for part in rest:
        first = members[0] if members else None
        if first is None or first.kind in ("absent", "open"):
            break
        if isinstance(first.entry, Class):
            members = attribute(library, first, part, instance=True) or []
            entry = members[0].entry if members else None
            bound = isinstance(entry, Function) and binds_first(entry, instance=True)
        elif first.kind == "module":
            members = library.members(first.module, part)
        else:
            members = []
    return members, bound


def near(library: Library, callee: str) -> tuple[str, ...]:
    """Full names that read most like `callee`, of its own module and of the library's top."""
    root = callee.split(".", 1)[0]
    module, _, name = callee.rpartition(".")
    found = {
        f"{place}.{known}"
        for place in dict.fromkeys((module, root))
        if (summary := library.module(place)) is not None
        for known in summary.names
        if not known.startswith("_")
    }
    close = difflib.get_close_matches(callee, found, 3, cutoff=0.7)
    return tuple(close or difflib.get_close_matches(f"{root}.{name}", found, 3, cutoff=0.7))


def library_of(tree: Tree, watched: Watched) -> tuple[Library | None, Libraries]:
    """A tree's copy of one library, None when it is not available; the second says where it came from."""
    libraries = Libraries(tree, {}, (watched,))
    return libraries(watched), libraries
