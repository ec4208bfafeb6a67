"""Check the calls of a tree against the libraries it pins."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from pinproof.contract import calls as callsites
from pinproof.contract.binding import Arguments, bind
from pinproof.contract.calls import Site
from pinproof.contract.engine import Engine, SourceFile
from pinproof.contract.evaluate import Evaluator
from pinproof.contract.model import CallCheck, Drift, Place, Report, Signature, Unread
from pinproof.contract.relevant import Relevant
from pinproof.contract.sources import Libraries
from pinproof.contract.summary import Function
from pinproof.contract.values import Absent, LibraryMember, OpenMember, Value
from pinproof.contract.watchlist import Watched
from pinproof.contract.watchlist import shipped as shipped_watchlist
from pinproof.tree import Tree


def check_tree(
    tree: Tree,
    *,
    callee: str | None = None,
    files: Sequence[str] | None = None,
    libraries: Mapping[str, str] | None = None,
    watched: Sequence[Watched] | None = None,
) -> Report:
    """Check the calls a tree makes into watched libraries; nothing of the tree is imported or run.

    Args:
        tree: any tree.
        callee: only calls of this one, by its full name in the library, e.g. `deep_gemm.fp8_fp4_mega_moe`.
        files: only calls in these files, by path in the tree; others are read as far as they are needed.
        libraries: library name to SPEC (see sources.from_spec), over what the tree vendors and pins.
        watched: the watch list; default is the shipped one.

    Raises:
        InputError: a SPEC in `libraries` names no watched library.
    """
    watch = tuple(watched or shipped_watchlist())
    found = Libraries(tree, libraries or {})
    engine = Engine(tree, watch, found)
    checker = _Checker(engine, callee)
    paths = list(files) if files is not None else list(tree.files.paths("", ".py"))
    tree.prefetch(paths)
    checks = [check for path in paths for check in checker.file(path)]
    return Report(
        tree=tree.name,
        calls=sorted(checks, key=lambda c: (c.file, c.line, c.col)),
        libraries=[found.used[name] for name in sorted(found.used)],
        unchecked=[found.unchecked[name] for name in sorted(found.unchecked)],
        unread=[Unread(file=path, reason=reason) for path, reason in sorted(engine.unread.items())],
        files_seen=len(paths),
        files_parsed=len(engine.read_paths),
    )


class _Checker:
    def __init__(self, engine: Engine, callee: str | None) -> None:
        self.engine = engine
        self.callee = callee
        self.evaluator = Evaluator(engine)
        self.name = callee.rsplit(".", 1)[-1].encode() if callee else None

    def file(self, path: str) -> Iterable[CallCheck]:
        data = self.engine.tree.read(path)
        if data is None or (self.name is not None and self.name not in data):
            return
        file = self.engine.file(path)
        if file is None:
            return
        for site in callsites.sites(
            Relevant(file, [self.name.decode()] if self.name else self.engine.seeds(file))
        ):
            if isinstance(site.node, ast.Call):
                yield from self._call(file, site, site.node)

    def _call(self, file: SourceFile, site: Site, node: ast.Call) -> Iterable[CallCheck]:
        values = self.evaluator.value(node.func, site.at)
        mine = [v for v in values if isinstance(v, LibraryMember | Absent | OpenMember) and self._wanted(v)]
        if not mine:
            return
        arguments = callsites.arguments(self.evaluator, node, site.at)
        yield self._decide(file, node, mine, values, arguments)

    def _wanted(self, value: LibraryMember | Absent | OpenMember) -> bool:
        return self.callee is None or value.path == self.callee

    def _decide(
        self,
        file: SourceFile,
        node: ast.Call,
        mine: Sequence[Value],
        values: Sequence[Value],
        arguments: Arguments,
    ) -> CallCheck:
        first = mine[0]
        assert isinstance(first, LibraryMember | Absent | OpenMember)
        library = first.library if isinstance(first, OpenMember) else first.library.name
        base = CallCheck(
            file=file.path, line=node.lineno, col=node.col_offset + 1, callee=first.path, library=library,
            keywords=arguments.names,
        )  # fmt: skip
        return _replace(base, **self._outcome(mine, values, arguments))

    def _outcome(
        self, mine: Sequence[Value], values: Sequence[Value], arguments: Arguments
    ) -> dict[str, object]:
        first = mine[0]
        if isinstance(first, OpenMember):
            return {"open": first.reason}
        if isinstance(first, Absent):
            drift = Drift(kind="missing-attribute", names=(first.path,))
            return {"drifts": (drift,)}
        assert isinstance(first, LibraryMember)
        signature = signature_of(first)
        if signature is None:
            return {"open": "its signature cannot be read"}
        return {"drifts": bind(signature, arguments), "signature": signature}


def signature_of(value: LibraryMember) -> Signature | None:
    """The signature of a library function."""
    entry = value.member.entry
    if not isinstance(entry, Function) or entry.decorators:
        return None
    module = value.library.module(value.member.module)
    file = module.file if module else value.member.module
    place = Place(source=value.library.label, file=file, line=entry.line)
    return Signature(name=value.path, parameters=entry.parameters, place=place)


def _replace(check: CallCheck, **changes: object) -> CallCheck:
    import msgspec

    return msgspec.structs.replace(check, **changes)
