"""Look names up in a library, through its imports and re-exports, without running any of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pinproof.contract.declared import snapshot as snapshots
from pinproof.contract.declared.summary import Alias, Class, Entry, Function, Import, Module, Other

# What every module has without binding it (language reference, 3.2.8.4 "Modules").
IMPLICIT = frozenset(
    [
        "__name__",
        "__doc__",
        "__file__",
        "__path__",
        "__package__",
        "__spec__",
        "__loader__",
        "__dict__",
        "__builtins__",
        "__cached__",
        "__annotations__",
        "__version__",
        "__class__",
        "__dir__",
        "__getattribute__",
        "__all__",
    ]
)
_DEEPEST = 12


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """What a name in a library stands for.

    `kind` absent: certainly not there (`reason` names the module that lacks it); open: cannot be known
    (`reason` says why); value: there, of no kind that can be called and checked.
    """

    kind: Literal["module", "function", "class", "value", "absent", "open"]
    module: str
    name: str = ""
    entry: Entry | None = None
    reason: str = ""


class Library:
    """One watched library at one version."""

    def __init__(self, snapshot: snapshots.Snapshot, label: str, *, incomplete: str | None = None) -> None:
        self.incomplete = incomplete
        self.name = snapshot.library
        self.version = snapshot.version
        self.label = label
        self.raw = snapshot.modules
        self._modules: dict[str, Module] = {}
        self._roots = {name.split(".", 1)[0] for name in self.raw}
        self._found: dict[tuple[str, str], list[Member]] = {}
        self._packages = {
            name.rsplit(".", depth)[0] for name in self.raw for depth in range(1, name.count(".") + 1)
        }

    def module(self, name: str) -> Module | None:
        """The summary of a module; an empty open one for a folder without `__init__`."""
        found = self._modules.get(name)
        if found is None and name in self.raw:
            found = self._modules[name] = snapshots.decode_module(self.raw[name])
        if found is None and name in self._packages:
            why = f"{name} is a namespace package"
            return Module(file=name, package=True, open=why, hosts=why)
        return found

    def import_module(self, name: str) -> Member:
        """What `import name` finds."""
        if self.module(name) is not None:
            return Member("module", name)
        parts = name.split(".")
        parents = [".".join(parts[:end]) for end in range(len(parts) - 1, 0, -1)]
        known = [found for parent in parents for found in (self.module(parent),) if found is not None]
        if not known:
            return Member("open", name, reason=f"{name} is not among the files of {self.name} {self.version}")
        hosts = [found.hosts for found in known if found.hosts]
        if hosts or not known[0].package:
            return Member("open", name, reason=hosts[0] if hosts else f"{known[0].file} is not a package")
        if self.incomplete:
            return Member("open", name, reason=self.incomplete)
        return Member("absent", name, reason=f"{self.name} {self.version} has no module {name}")

    def members(self, module: str, name: str, depth: int = 0) -> list[Member]:
        """Everything that `name` in `module` may stand for; one absent member when it is not there."""
        members = self._found.get((module, name))
        if members is None:
            members = self._look_up(module, name, depth)
            if depth == 0:
                self._found[module, name] = members
        return members

    def _look_up(self, module: str, name: str, depth: int) -> list[Member]:
        found = self.module(module)
        if found is None:
            return [self.import_module(module)]
        if depth > _DEEPEST:
            return [Member("open", module, name, reason=f"{module}.{name} is re-exported too many times")]
        entries = found.names.get(name, ())
        members = [m for entry in entries for m in self._follow(found, module, name, entry, depth)]
        if not members:
            members = self._from_stars(found, name, depth)
        if not members and self.module(f"{module}.{name}") is not None:
            members = [Member("module", f"{module}.{name}")]
        if not members and name in IMPLICIT:
            members = [Member("value", module, name)]
        if not members:
            reason = found.open
            if reason:
                return [Member("open", module, name, reason=reason)]
            return [Member("absent", module, name, reason=f"{module} declares no {name}")]
        present = [m for m in members if m.kind != "absent"]
        return present or members[:1]

    def _follow(self, found: Module, module: str, name: str, entry: Entry, depth: int) -> list[Member]:
        if isinstance(entry, Function):
            return [Member("function", module, name, entry)]
        if isinstance(entry, Class):
            return [Member("class", module, name, entry)]
        if isinstance(entry, Import):
            return self._follow_import(module, name, entry, depth)
        if isinstance(entry, Alias):
            return self._follow_alias(module, name, entry, depth)
        assert isinstance(entry, Other)
        return [Member("value", module, name, entry)]

    def _follow_import(self, module: str, name: str, entry: Import, depth: int) -> list[Member]:
        if not self._is_mine(entry.module):
            return [Member("open", module, name, reason=f"{module}.{name} comes from {entry.module}")]
        if entry.name is None:
            return [self.import_module(entry.module)]
        if entry.module == module and entry.name == name:
            return [self.import_module(f"{module}.{name}")]
        return self.members(entry.module, entry.name, depth + 1)

    def _follow_alias(self, module: str, name: str, entry: Alias, depth: int) -> list[Member]:
        first, *rest = entry.target.split(".")
        if first == name:
            return [Member("value", module, name, Other(entry.line))]
        members = self.members(module, first, depth + 1)
        for attribute in rest:
            members = [m for member in members for m in self._attribute(member, attribute, depth + 1)]
        # `x = y` where y is a builtin or a loop's name is there all the same; what it is is not known.
        return [
            m if m.kind != "absent" else Member("value", module, name, Other(entry.line)) for m in members
        ]

    def _attribute(self, member: Member, name: str, depth: int) -> list[Member]:
        if member.kind == "module":
            return self.members(member.module, name, depth)
        if member.kind in ("open", "absent"):
            return [member]
        return [Member("value", member.module, f"{member.name}.{name}")]

    def _from_stars(self, found: Module, name: str, depth: int) -> list[Member]:
        members: list[Member] = []
        for source in found.stars:
            if not self._is_mine(source):
                members.append(Member("open", source, name, reason=f"`from {source} import *`"))
                continue
            target = self.module(source)
            if target is None or (name.startswith("_") and name not in (target.public or ())):
                continue
            if target.public is not None and name not in target.public:
                continue
            members.extend(m for m in self.members(source, name, depth + 1) if m.kind != "absent")
        known = [m for m in members if m.kind != "open"]
        return known or members[:1]

    def public(self, module: str) -> set[str]:
        """The names that `from module import *` binds, those of its own star imports included."""
        todo, names, seen = [module], set[str](), set[str]()
        while todo:
            found = self.module(todo[-1])
            seen.add(todo.pop())
            if found is None:
                continue
            if found.public is not None:
                names.update(found.public)
            else:
                names.update(name for name in found.names if not name.startswith("_"))
                todo += [source for source in found.stars if source not in seen]
        return names

    def _is_mine(self, module: str) -> bool:
        return module.split(".", 1)[0] in self._roots
