"""Versions as values: what states one, the functions that take it apart, and how two compare."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from packaging.version import InvalidVersion, Version

from pinproof.contract.declared.library import Library, Member
from pinproof.contract.declared.summary import Other
from pinproof.contract.judging.known import THERE, Known, Names, apply

OF_DISTRIBUTION = {"importlib.metadata.version", "importlib_metadata.version"}
_PARSE = (
    "packaging.version.Version", "packaging.version.parse", "pkg_resources.parse_version",
    "distutils.version.LooseVersion", "torch.torch_version.TorchVersion",
)  # fmt: skip
_STATED = {"__version__", "version", "VERSION"}
_TEXT = {
    "split", "rsplit", "strip", "lstrip", "rstrip", "startswith", "endswith", "removeprefix", "removesuffix",
    "partition", "rpartition", "lower", "replace", "isdigit",
}  # fmt: skip
_OF_VERSION = {
    "major",
    "minor",
    "micro",
    "release",
    "base_version",
    "public",
    "local",
    "is_prerelease",
    "is_devrelease",
}
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip


def of(library: Library) -> str | None:
    """The version of a library as text: its own where it states one, else the one that was asked for."""
    root = library.name.replace("-", "_")
    for member in library.members(root, "__version__") if library.module(root) else ():
        if isinstance(member.entry, Other) and member.entry.text:
            return member.entry.text
    return library.version if _is_version(library.version) else None


def is_stated(path: str) -> bool:
    """Whether an attribute is the one in which a module states its version."""
    return path.rpartition(".")[2] in _STATED


def stated(library: Library, member: Member | None) -> str | None:
    """The text of a library's `__version__`: what it says itself, else the version that was asked for."""
    if member is not None and isinstance(member.entry, Other) and member.entry.text:
        return member.entry.text
    return library.version if _is_version(library.version) else None


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def _whole(value: Any) -> int:
    return int(value)


FUNCTIONS: dict[str, Callable[..., object]] = {
    **dict.fromkeys(_PARSE, Version),
    "int": _whole, "str": str, "tuple": tuple, "list": tuple, "len": len, "bool": bool,
    "all": all, "any": any, "float": float,
}  # fmt: skip


def comparison(op: ast.cmpop) -> Callable[[Any, Any], object]:
    """What a comparison operator does to two known values."""
    if isinstance(op, ast.In | ast.NotIn):
        wanted = isinstance(op, ast.In)
        return lambda one, other: (one in getattr(other, "names", other)) == wanted
    plain = _COMPARED[type(op)]

    def compare(one: Any, other: Any) -> object:
        if THERE in (one, other) and None not in (one, other):
            raise TypeError("what the object is equal to is not known")
        return plain(one, other)

    return compare


def attribute(owner: Known, name: str) -> Known:
    """`Version(...).major` and the like."""
    if name not in _OF_VERSION or not all(isinstance(v, Version) for v in owner.values or ()):
        return Known(None, owner.about)
    return apply(lambda v: getattr(v, name), [owner])


def method(owner: Known, name: str, given: list[Known]) -> Known:
    """`text.split(".")` and the like."""
    values = owner.values or ()
    if name == "keys" and all(isinstance(v, Names) for v in values):
        return owner
    if name not in _TEXT or not all(isinstance(v, str) for v in values):
        return Known(None, owner.about)

    def run(text: str, *rest: object) -> object:
        found = getattr(text, name)(*rest)
        return tuple(found) if isinstance(found, list) else found

    return apply(run, [owner, *given])
