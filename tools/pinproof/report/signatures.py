"""Compare two versions of a library: which public signatures changed, appeared, went away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from pinproof.contract.declared import snapshot as snapshots
from pinproof.contract.declared.summary import Class, Function
from pinproof.contract.model import Parameter

_EXAMPLES = 6


class Difference(msgspec.Struct, frozen=True):
    """How many public signatures differ between two versions, with a few full names of changed ones."""

    changed: int
    added: int
    removed: int
    kept: int
    examples: tuple[str, ...]


Signatures = dict[str, tuple[tuple[Parameter, ...], ...]]


def public(modules: dict[str, msgspec.Raw]) -> Signatures:
    """The parameters of every public function and method a library declares, by full name.

    A name is public when none of its parts begins with an underscore; `__init__` counts as its class.

    Args:
        modules: a snapshot's modules, raw.
    """
    found: Signatures = {}
    for module, raw in modules.items():
        if not any(part.startswith("_") for part in module.split(".")):
            found.update(_of_module(module, raw))
    return found


def _of_module(module: str, raw: msgspec.Raw) -> Iterator[tuple[str, tuple[tuple[Parameter, ...], ...]]]:
    for name, entries in snapshots.decode_module(raw).names.items():
        if name.startswith("_"):
            continue
        functions = [entry for entry in entries if isinstance(entry, Function)]
        if functions:
            yield f"{module}.{name}", _parameters(functions)
        for entry in entries:
            if isinstance(entry, Class):
                yield from _of_class(f"{module}.{name}", entry)


def _of_class(place: str, entry: Class) -> Iterator[tuple[str, tuple[tuple[Parameter, ...], ...]]]:
    for name, functions in entry.methods.items():
        if name == "__init__":
            yield place, _parameters(functions)
        elif not name.startswith("_"):
            yield f"{place}.{name}", _parameters(functions)


def _parameters(functions: Iterable[Function]) -> tuple[tuple[Parameter, ...], ...]:
    return tuple(function.parameters for function in functions)


def compare(before: Signatures, after: Signatures) -> Difference:
    """How `after` differs from `before`."""
    both = before.keys() & after.keys()
    changed = sorted(name for name in both if before[name] != after[name])
    return Difference(
        changed=len(changed), added=len(after.keys() - both), removed=len(before.keys() - both),
        kept=len(both) - len(changed), examples=tuple(changed[:_EXAMPLES]),
    )  # fmt: skip
