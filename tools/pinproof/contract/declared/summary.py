"""What one module of a library declares, read from its text: the records a snapshot is made of."""

from __future__ import annotations

import msgspec

from pinproof.contract.model import Parameter


class Function(msgspec.Struct, frozen=True, tag="function", omit_defaults=True):
    """A `def`. `decorators` are dotted names; `returns` names what it gives (see gives.py); `arity` how many
    values it returns, when every return shows a tuple of that length.
    """

    line: int
    parameters: tuple[Parameter, ...] = ()
    decorators: tuple[str, ...] = ()
    returns: str | None = None
    arity: int | None = None
    wrapper: Wrapper | None = None
    """What it makes of the function handed to it, when it is a decorator that could be read."""


class Wrapper(msgspec.Struct, frozen=True, omit_defaults=True):
    """A decorator's effect on a signature: it keeps it, but for the keywords it takes for itself."""

    adds: tuple[Parameter, ...] = ()


class Field(msgspec.Struct, frozen=True, array_like=True):
    """An annotated name in a class body: a field when the class is a dataclass or NamedTuple."""

    name: str
    default: bool = False
    init: bool = True
    keyword_only: bool = False
    annotation: str | None = None


class Class(msgspec.Struct, frozen=True, tag="class", omit_defaults=True):
    """A `class`. `bases` are dotted names, "?" for what is none; `attributes` what is set on it or self.

    An attribute "*" says that more are set, under names that the text does not show.
    """

    line: int
    bases: tuple[str, ...] = ()
    decorators: tuple[str, ...] = ()
    decorator_flags: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    methods: dict[str, tuple[Function, ...]] = {}
    attributes: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()


class Import(msgspec.Struct, frozen=True, tag="import", omit_defaults=True):
    """A name that stands for `module`, or for `name` in it; modules are absolute."""

    module: str
    name: str | None = None
    line: int = 0


class Alias(msgspec.Struct, frozen=True, tag="alias", omit_defaults=True):
    """`x = a.b`: another name, dotted, looked up in the same module."""

    target: str
    line: int = 0


class Other(msgspec.Struct, frozen=True, tag="other", omit_defaults=True):
    """Something that is there; `text` is a version's, of anything else no more is known."""

    line: int = 0
    text: str | None = None


Entry = Function | Class | Import | Alias | Other


class Module(msgspec.Struct, frozen=True, omit_defaults=True):
    """One module: every name it may bind, each with all the ways it is bound.

    `stars` are the modules it imports everything from; `public` its `__all__` when that is a plain
    list; `open` says why names may exist that the text does not show (None: they cannot), `hosts` why
    modules below it may (a module `__getattr__` gives names, but no module that can be imported).
    """

    file: str
    package: bool = False
    names: dict[str, tuple[Entry, ...]] = {}
    stars: tuple[str, ...] = ()
    public: tuple[str, ...] | None = None
    open: str | None = None
    hosts: str | None = None
