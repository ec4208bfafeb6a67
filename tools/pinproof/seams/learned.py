"""What a plugin does to its engine, told to the contract gate: its findings are settled by it.

The gate holds each call against the engine's own text. A plugin changes that: it replaces functions, adds
members, subclasses what it annotates, and asks for the version. A finding that this explains is none.
"""

from __future__ import annotations

import ast

import msgspec

from pinproof.contract.model import CallCheck, Drift, LibraryUsed, Report
from pinproof.errors import PinproofError
from pinproof.pins.project import ENGINES
from pinproof.seams.code import Code, Found, FunctionNode, World, own_member
from pinproof.seams.liveness import Liveness
from pinproof.seams.overrides import classes, is_property, signature
from pinproof.seams.patching import guard
from pinproof.seams.sides import engine_code
from pinproof.seams.targets import Placed, patches
from pinproof.seams.versions import Versions
from pinproof.tree import Tree


def settle(report: Report, tree: Tree) -> Report:
    """The report of a plugin with what its own patches, subclasses and version tests explain settled.

    Args:
        report: what the contract gate found on `tree`.
        tree: a plugin, server or trainer; the report of an engine is left as it is.

    Returns:
        The same report; of its calls into an engine some are open or guarded now.
    """
    for used in report.libraries:
        mine = [c for c in report.calls if c.library == used.library and c.drifts and _is_unsettled(c)]
        if used.library in ENGINES and mine:
            plugin = Code(tree, tree.packages or (tree.package,), tree.name)
            try:
                engine = engine_code(used.library, used.version)
            except PinproofError:
                continue  # signatures from a commit or a snapshot: there is no source to read beside them
            judge = _Settler(World(plugin, engine), used)
            settled = {id(call): judge.settled(call) for call in mine}
            report.calls = [settled.get(id(call), call) for call in report.calls]
    return report


class _Settler:
    """Settles findings against one version of the engine."""

    def __init__(self, world: World, used: LibraryUsed) -> None:
        self._world = world
        self._versions = Versions(world, used.version)
        self._live = Liveness(world, self._versions)
        self._modules = {path: name for name in world.plugin.names() for path in [world.plugin.path(name)]}
        self._put: dict[str, Placed] | None = None
        self._below: dict[str, list[tuple[Found, list[Found]]]] = {}

    def settled(self, call: CallCheck) -> CallCheck:
        """One finding: open where the plugin changes what is called, guarded where it does not run."""
        module = self._modules.get(call.file)
        if call.guard is not None:  # behind a test for the version, which the gate leaves unanswered
            if module is None or not self._live.runs(module, call.line, call.col - 1):
                return call
            call = msgspec.structs.replace(call, guard=None)
        if module is not None:
            call = self._without_ruled_out(call, module)
            if not call.drifts:
                return call
            why = self._live.dead(module, call.line, call.col - 1)
            if why is not None:
                return msgspec.structs.replace(
                    call, guard=f"{why} does not hold on {self._world.engine.label}"
                )
        placed = self._patched(call)
        if placed is not None:
            where = f"{placed.patch.file}:{placed.patch.line}"
            return msgspec.structs.replace(call, drifts=(), open=f"the plugin puts its own there ({where})")
        taken = self._taken_below(call)
        return call if taken is None else msgspec.structs.replace(call, drifts=(), open=taken)

    # -- what does not run on this version -------------------------------------------------------------

    def _without_ruled_out(self, call: CallCheck, module: str) -> CallCheck:
        """Without the drifts whose argument is not passed on this version."""
        dropped = self._not_passed(call, module)
        left: list[Drift] = []
        for drift in call.drifts:
            names = tuple(n for n in drift.names if n not in dropped)
            ruled = drift.when and self._live.ruled_out(drift.when, module, call.line, call.col - 1)
            if not ruled and names:
                left.append(drift if names == drift.names else msgspec.structs.replace(drift, names=names))
        return msgspec.structs.replace(call, drifts=tuple(left))

    def _not_passed(self, call: CallCheck, module: str) -> set[str]:
        """Keys of a `**mapping` that a version test leaves out: `{...} if version_is("1.0") else {...}`."""
        names = self._versions.names_of(module)
        node = _call_at(names.module.tree, call) if names is not None else None
        found: set[str] = set()
        for keyword in node.keywords if node is not None else ():
            if keyword.arg is not None or names is None:
                continue
            values: list[ast.AST] = [keyword.value]
            if isinstance(keyword.value, ast.Name):
                values = [
                    value for scope in names.scopes() for value in scope.values.get(keyword.value.id, [])
                    if isinstance(value, ast.expr)
                ]  # fmt: skip
            for value in values:
                for inner in ast.walk(value):
                    if isinstance(inner, ast.IfExp):
                        found |= self._keys_left_out(inner, module)
        return found

    def _keys_left_out(self, node: ast.IfExp, module: str) -> set[str]:
        names = self._versions.names_of(module)
        answer = self._versions.holds(node.test, names, names.top) if names is not None else None
        if answer is None:
            return set()
        return _keys(node.orelse if answer else node.body) - _keys(node.body if answer else node.orelse)

    # -- what the plugin puts in place ------------------------------------------------------------------

    def _patched(self, call: CallCheck) -> Placed | None:
        if self._put is None:
            self._put = {}
            for placed in patches(self._world):
                if guard(placed, self._versions) is None and not placed.patch.restores:
                    self._put.setdefault(placed.patch.target, placed)
        owner, _, name = call.callee.rpartition(".")
        canonical = self._world.find(owner).name if owner else owner
        wanted = {call.callee, self._world.find(call.callee).name, f"{canonical}.{name}"}
        wanted |= {f"{w}.__init__" for w in tuple(wanted)}
        parts = call.callee.split(".")
        modules = {".".join(parts[:end]) for end in range(2, len(parts) + 1)}
        stubs = [self._put[m] for m in modules if m in self._put and self._put[m].patch.how == "module"]
        return next((self._put[w] for w in sorted(wanted) if w in self._put), stubs[0] if stubs else None)

    def _taken_below(self, call: CallCheck) -> str | None:
        """A subclass of the plugin that takes the call: what is annotated as the base is often one."""
        owner, _, name = call.callee.rpartition(".")
        base = self._world.find(owner)
        if base.kind != "class" or any(
            d.kind in ("missing-attribute", "missing-module") for d in call.drifts
        ):
            return self._has_below(call, base, name) if base.kind == "class" else None
        for cls in self._subclasses(base.name, name):
            member = own_member(cls, name)
            if isinstance(member, FunctionNode) and not is_property(member) and cls.module is not None:
                taken = signature(member, f"{cls.module.path}:{member.lineno}", name)
                if taken is None or _fits(call, taken.names, taken.parameters):
                    return f"{cls.name.rpartition('.')[2]}.{name}() of the plugin takes it"
        return None

    def _has_below(self, call: CallCheck, base: Found, name: str) -> str | None:
        for cls in self._subclasses(base.name, name):
            if own_member(cls, name) is not None:
                return f"{cls.name.rpartition('.')[2]} of the plugin has it"
        return None

    def _subclasses(self, base: str, name: str) -> list[Found]:
        """The plugin's classes below `base`, of modules that speak of `name`."""
        if name not in self._below:
            self._below[name] = list(classes(self._world, name.encode()))
        return [cls for cls, lineage in self._below[name] if any(above.name == base for above in lineage[1:])]


def _is_unsettled(call: CallCheck) -> bool:
    return call.guard is None or call.guard.endswith("(a probe)")


def _fits(call: CallCheck, names: tuple[str, ...], parameters: tuple) -> bool:  # type: ignore[type-arg]
    anything = any(p.kind == "var-keyword" for p in parameters)
    for drift in call.drifts:
        if drift.kind == "unexpected-keyword" and not (anything or set(drift.names) <= set(names)):
            return False
        if drift.kind == "missing-required" and any(
            p.name in drift.names and not p.default for p in parameters
        ):
            return False
    return True


def _call_at(tree: ast.Module, call: CallCheck) -> ast.Call | None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (node.lineno, node.col_offset + 1) == (call.line, call.col):
            return node
    return None


def _keys(node: ast.expr) -> set[str]:
    """The constant keys that a dict display or `dict(...)` holds."""
    found: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Dict):
            found |= {k.value for k in inner.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)}
        elif isinstance(inner, ast.Call) and getattr(inner.func, "id", "") == "dict":
            found |= {k.arg for k in inner.keywords if k.arg}
    return found
