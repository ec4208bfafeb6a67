"""What a name can stand for, as far as it can be read from the text."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pinproof.contract.declared.library import Library, Member
from pinproof.contract.syntax.scopes import Scope

if TYPE_CHECKING:
    from pinproof.contract.evaluation.position import Position


@dataclass(frozen=True, slots=True)
class LibraryModule:
    """A module of a watched library, by its name in that library."""

    library: Library
    module: str


@dataclass(frozen=True, slots=True)
class LibraryMember:
    """A function, class or value of a watched library; `path` is its full name as the tree says it."""

    library: Library
    path: str
    member: Member
    bound: bool = False
    """Whether `self` or `cls` is already filled in."""
    owner: LibraryInstance | None = None
    """The object, or an object of the class, on which it was looked up."""


@dataclass(frozen=True, slots=True)
class LibraryInstance:
    """An object of a class of a watched library."""

    library: Library
    path: str
    member: Member
    exact: bool = False
    """Whether it was made by that class's constructor: one known by annotation may be of a subclass."""


@dataclass(frozen=True, slots=True)
class Absent:
    """A name that the library does not have."""

    library: Library
    path: str
    reason: str
    module: bool = False


@dataclass(frozen=True, slots=True)
class OpenMember:
    """Something of a watched library whose signature is not available."""

    library: str
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class EngineModule:
    """A module of the tree under check."""

    name: str


@dataclass(frozen=True, slots=True)
class External:
    """A name of a module that is neither the tree's nor watched: `importlib.import_module`, `torch.nn`."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class EngineFunction:
    """A function of the tree; `scope` is the one it is defined in."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope
    bound: object = None
    """The object whose method it is, once it was looked up on one."""


@dataclass(frozen=True, slots=True, eq=False)
class EngineClass:
    """A class of the tree."""

    node: ast.ClassDef
    scope: Scope
    """The scope of the class body."""


@dataclass(frozen=True, slots=True)
class EngineInstance:
    """An object of a class of the tree."""

    of: EngineClass


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal: a string, a number, True, None."""

    value: object


@dataclass(frozen=True, slots=True)
class Sequence:
    """A tuple or list display; `elements` are the values of each."""

    elements: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True)
class Items:
    """A list of unknown length; `element` is what each of its elements can be."""

    element: tuple[Value, ...]


class When(NamedTuple):
    """When a dict holds a key: in the words of the source, and where it is put in, if that is known."""

    text: str
    at: Position | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Mapping:
    """A dict whose keys are known: always there, or only under a condition; `open` when more may be."""

    required: tuple[str, ...]
    optional: tuple[tuple[str, When], ...] = ()
    open: bool = False
    values: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Partial:
    """`functools.partial(function, ...)`: a callable with some arguments already given."""

    function: Value
    positional: int
    keywords: tuple[str, ...]
    open: bool


@dataclass(frozen=True, slots=True)
class Entering:
    """A context manager; `gives` is what `with ... as x` gives to x."""

    gives: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Anything else."""


Value = (
    LibraryModule | LibraryMember | LibraryInstance | Absent | OpenMember | EngineModule | External
    | EngineFunction | EngineClass | EngineInstance | Constant | Sequence | Items | Mapping | Partial
    | Entering | Unknown
)  # fmt: skip
Values = tuple[Value, ...]
UNKNOWN: Values = (Unknown(),)
NONE = Constant(None)
_MOST = 12


def union(*groups: Values) -> Values:
    """All values of several groups, each once; unknown when they grow too many to be of use."""
    found: dict[Value, None] = {}
    for group in groups:
        found.update(dict.fromkeys(group))
    return tuple(found) if len(found) <= _MOST else UNKNOWN


def library_value(library: Library, path: str, found: Member) -> Value:
    """A library's member as a value; `path` is how the tree names it."""
    if found.kind == "module":
        return LibraryModule(library, found.module)
    if found.kind == "open":
        return OpenMember(library.name, path, found.reason)
    if found.kind == "absent":
        return Absent(library, path, found.reason)
    return LibraryMember(library, path, found)
