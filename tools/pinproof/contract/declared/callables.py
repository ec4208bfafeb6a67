"""Signatures of a library's functions, constructors and methods, decorators and bases included."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence

import msgspec

from pinproof.contract.declared.library import Library, Member
from pinproof.contract.declared.summary import Class, Field, Function, Import
from pinproof.contract.model import Parameter, Place, Signature
from pinproof.contract.watch.watchlist import decorators

# Bases that take no part in construction.
_INERT = {"object", "ABC", "abc.ABC", "Generic", "typing.Generic", "Protocol", "typing.Protocol"}
_DATACLASS = {"dataclasses.dataclass", "pydantic.dataclasses.dataclass"}
_TUPLE = {"NamedTuple", "typing.NamedTuple"}
# Bases of enumerations: what they have besides the members is known.
_ENUM_BASES: dict[str, type] = {
    **{f"enum.{c.__name__}": c for c in (enum.Enum, enum.IntEnum, enum.Flag, enum.IntFlag)},
    "enum.StrEnum": str, "str": str, "int": int,
}  # fmt: skip
_DEEPEST = 10
# Metaclasses that leave calling a class what it is.
_PLAIN_KEYWORDS = {"ABCMeta", "EnumMeta", "EnumType"}


class Unreadable(Exception):
    """A signature that cannot be known; the message says why."""


def signatures(library: Library, member: Member, name: str, *, bound: bool = False) -> list[Signature]:
    """Every signature that a function or class may have (more than one when it is defined in branches).

    Args:
        library: where it is declared.
        member: the function or class.
        name: how to call it in reports.
        bound: whether `self` or `cls` is filled in already.

    Raises:
        Unreadable: it cannot be known.
    """
    if isinstance(member.entry, Class):
        made = _constructor(library, member.module, member.entry, name)
        return [msgspec.structs.replace(found, of="class") for found in made]
    if isinstance(member.entry, Function):
        found = _function(library, member.module, member.entry, name, bound)
        return [msgspec.structs.replace(found, of="method") if bound else found]
    raise Unreadable(f"{name} is a value, its type is not known")


def _signature(library: Library, module: str, line: int, name: str, found: Sequence[Parameter]) -> Signature:
    summary = library.module(module)
    place = Place(source=library.label, file=summary.file if summary else module, line=line)
    return Signature(name=name, parameters=tuple(found), place=place)


def _function(library: Library, module: str, entry: Function, name: str, bound: bool) -> Signature:
    given = list(entry.parameters)
    for decorator in reversed(entry.decorators):
        given = _decorated(library, module, decorator, given)
    if bound:
        given = _without_first(given)
    return _signature(library, module, entry.line, name, given)


def _without_first(given: list[Parameter]) -> list[Parameter]:
    return given[1:] if given and given[0].kind in ("positional-only", "positional-or-keyword") else given


def _decorated(library: Library, module: str, decorator: str, given: list[Parameter]) -> list[Parameter]:
    dotted = decorator.removesuffix("()")
    full = full_name(library, module, dotted)
    known = decorators()
    if full in known.keep or dotted in ("staticmethod", "classmethod"):
        return given
    if full in known.launch:
        return [*given, Parameter("launch options", "var-keyword")]
    effects = [m.entry.wrapper for m in members(library, module, dotted) if isinstance(m.entry, Function)]
    if not effects or any(e is None for e in effects):
        raise Unreadable(f"decorator @{dotted} is not understood")
    adds = [p for e in effects if e is not None for p in e.adds if p.name not in {g.name for g in given}]
    if not adds:
        return given
    last = [g for g in given if g.kind == "var-keyword"]
    return [*(g for g in given if g.kind != "var-keyword"), *dict.fromkeys(adds), *last]


def full_name(library: Library, module: str, dotted: str) -> str:
    """The name under which the world knows what a module calls `dotted`: `functools.cache` for `cache`."""
    first, _, rest = dotted.partition(".")
    summary = library.module(module)
    for entry in summary.names.get(first, ()) if summary else ():
        if isinstance(entry, Import):
            base = f"{entry.module}.{entry.name}" if entry.name else entry.module
            return f"{base}.{rest}" if rest else base
    return dotted


def is_context(library: Library, module: str, entry: Function) -> bool:
    """Whether calling a function gives a context manager made from a generator."""
    return any(full_name(library, module, d) == "contextlib.contextmanager" for d in entry.decorators)


def returned_values(library: Library, member: Member) -> int | None:
    """How many values a function gives; None when its text or a decorator leaves that open."""
    entry = member.entry
    if not isinstance(entry, Function):
        return None
    names = {full_name(library, member.module, d.removesuffix("()")) for d in entry.decorators}
    return entry.arity if names <= {*decorators().keep, "staticmethod", "classmethod"} else None


def unimplemented(library: Library, member: Member) -> tuple[str, ...]:
    """The abstract methods that keep a class from being made into an object; () also when it is not known."""
    if not isinstance(member.entry, Class):
        return ()
    steps = list(lineage(library, member.module, member.entry))
    abstract: dict[str, bool] = {}
    known = [step for step in steps if not isinstance(step, str)]
    if not any(_is_abc(library, where, cls) for where, cls in known):
        return ()
    for _, cls in known:
        for name, methods in cls.methods.items():
            abstract.setdefault(name, all(_is_abstract(m) for m in methods))
        for name in (*cls.attributes, *(f.name for f in cls.fields)):
            abstract.setdefault(name, False)
    # A base that is not known may implement anything that stands behind it.
    return () if len(known) < len(steps) else tuple(name for name, still in abstract.items() if still)


def _is_abc(library: Library, module: str, cls: Class) -> bool:
    bases = {full_name(library, module, base) for base in cls.bases}
    return "abc.ABC" in bases or any(
        k.rpartition(".")[2].rpartition("=")[2] == "ABCMeta" for k in cls.keywords
    )


def _is_abstract(method: Function) -> bool:
    return any(d.rpartition(".")[2] in ("abstractmethod", "abstractproperty") for d in method.decorators)


def members(library: Library, module: str, dotted: str) -> list[Member]:
    """What a dotted name in a module of the library stands for."""
    first, *rest = dotted.split(".")
    found = library.members(module, first)
    for part in rest:
        found = [m for f in found if f.kind == "module" for m in library.members(f.module, part)]
    return found


# -- classes -------------------------------------------------------------------------------------------


def lineage(library: Library, module: str, entry: Class, depth: int = 0) -> Iterator[tuple[str, Class] | str]:
    """A class and its bases, nearest first: (module, class), or the name of a base that is not known."""
    yield module, entry
    for base in entry.bases:
        full = full_name(library, module, base)
        if full in _INERT:
            continue
        found = [m for m in members(library, module, base) if isinstance(m.entry, Class)]
        if len(found) != 1 or depth > _DEEPEST:
            yield full
            continue
        assert isinstance(found[0].entry, Class)
        yield from lineage(library, found[0].module, found[0].entry, depth + 1)


def _constructor(library: Library, module: str, entry: Class, name: str) -> list[Signature]:
    steps = list(lineage(library, module, entry))
    where, cls = module, entry
    for keyword in (k for step in steps if not isinstance(step, str) for k in step[1].keywords):
        if keyword.rpartition(".")[2].rpartition("=")[2] not in _PLAIN_KEYWORDS:
            raise Unreadable(f"{name} is made with {keyword}")
    for step in steps:
        if isinstance(step, str):
            if step in _TUPLE:  # the fields are those of the class that has it as a base
                return [_signature(library, where, cls.line, name, _parameters(cls.fields, False))]
            raise Unreadable(f"{name} inherits from {step}")
        where, cls = step
        if cls.decorators:
            _check_class_decorators(library, where, cls)
        if "__new__" in cls.methods:
            raise Unreadable(f"{name} has its own __new__")
        if "__init__" in cls.methods:
            return [_function(library, where, f, name, True) for f in cls.methods["__init__"]]
        if _is_dataclass(library, where, cls):
            fields = _all_fields(library, where, cls)
            return [
                _signature(
                    library, where, cls.line, name, _parameters(fields, "kw_only" in cls.decorator_flags)
                )
            ]
    return [_signature(library, module, entry.line, name, ())]


def _is_dataclass(library: Library, module: str, entry: Class) -> bool:
    names = {full_name(library, module, d.removesuffix("()")) for d in entry.decorators}
    return bool(names & _DATACLASS) and "not init" not in entry.decorator_flags


def _check_class_decorators(library: Library, module: str, entry: Class) -> None:
    for decorator in entry.decorators:
        dotted = decorator.removesuffix("()")
        full = full_name(library, module, dotted)
        if full in _DATACLASS or full in decorators().keep:
            continue
        effects = [m.entry.wrapper for m in members(library, module, dotted) if isinstance(m.entry, Function)]
        if not effects or any(e is None or e.adds for e in effects):
            raise Unreadable(f"class decorator @{dotted} is not understood")


def _all_fields(library: Library, module: str, entry: Class) -> list[Field]:
    """The fields of a dataclass, its bases' first; one declared again keeps its place (PEP 557)."""
    found: dict[str, Field] = {}
    for base in reversed(entry.bases):
        full = full_name(library, module, base)
        if full in _INERT:
            continue
        found_bases = [m for m in members(library, module, base) if isinstance(m.entry, Class)]
        if len(found_bases) != 1:
            raise Unreadable(f"it inherits from {full}")
        assert isinstance(found_bases[0].entry, Class)
        if _is_dataclass(library, found_bases[0].module, found_bases[0].entry):
            found.update(
                (f.name, f) for f in _all_fields(library, found_bases[0].module, found_bases[0].entry)
            )
    found.update((f.name, f) for f in entry.fields)
    return list(found.values())


def _parameters(fields: Sequence[Field], keyword_only: bool) -> list[Parameter]:
    plain = [
        Parameter(f.name, "positional-or-keyword", f.default)
        for f in fields if f.init and not (f.keyword_only or keyword_only)
    ]  # fmt: skip
    by_name = [
        Parameter(f.name, "keyword-only", f.default)
        for f in fields
        if f.init and (f.keyword_only or keyword_only)
    ]
    return [*plain, *by_name]


# -- what an object has --------------------------------------------------------------------------------


def attribute(library: Library, member: Member, name: str, *, instance: bool) -> list[Member] | None:
    """What `name` is on a class or on its objects.

    Returns:
        functions for methods (with `kind` function and the defining module), a value for anything else
        that is there, [] when it is certainly not there, None when that cannot be known.
    """
    if not isinstance(member.entry, Class):
        return None
    known = True
    for step in lineage(library, member.module, member.entry):
        if isinstance(step, str):
            base = _ENUM_BASES.get(step)
            if base is None:
                return None
            if name.startswith("_") or any(name in vars(c) for c in base.__mro__):
                return [Member("value", member.module, name)]
            continue
        module, cls = step
        known = known and not cls.decorators and not cls.keywords
        if name in cls.methods:
            return [Member("function", module, name, f) for f in cls.methods[name]]
        if name in cls.attributes or any(f.name == name for f in cls.fields):
            return [Member("value", module, name)]
        if (
            "*" in cls.attributes
            or "__getattr__" in cls.methods
            or "__getattribute__" in cls.methods
            or "__slots__" in cls.attributes
        ):
            known = False
    if name.startswith("__") or not known or (not instance and hasattr(type, name)):
        return None
    return []


def binds_first(entry: Function, *, instance: bool) -> bool:
    """Whether reading a method from an object (or class) fills its first parameter."""
    names = {d.rpartition(".")[2] for d in entry.decorators}
    return "staticmethod" not in names and (instance or "classmethod" in names)


def is_property(entry: Function) -> bool:
    """Whether reading the attribute gives a value that the text does not show."""
    names = {d.rpartition(".")[2] for d in entry.decorators}
    return bool(names & {"property", "cached_property", "setter", "getter", "deleter", "abstractproperty"})
