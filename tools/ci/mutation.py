"""How many calls the gate loses: rename every parameter of a library, and see which calls it reports.

  python tools/ci/mutation.py vllm==0.33.0 flashinfer          one library that a release pins
  python tools/ci/mutation.py                                  those of docs/contract-accuracy.md

A call counts when it passes, by keyword, a parameter that the pinned library declares by name: with every
parameter renamed it can only fail. One that is not reported then is lost: it was left open, or a guard
silenced it. Each lost call is listed with the reason, so that the commonest shows where to look.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
from pinproof.contract.check import check_tree
from pinproof.contract.declared import snapshot as snapshots
from pinproof.contract.declared.summary import Class, Entry, Function, Module
from pinproof.contract.model import CallCheck, Parameter
from pinproof.contract.sources.libraries import Libraries
from pinproof.contract.watch.watchlist import find, load
from pinproof.errors import PinproofError
from pinproof.releases import parse_release, release_tree
from pinproof.tree import Tree

DEFAULT = (
    ("vllm==0.33.0", "flashinfer"),
    ("vllm==0.33.0", "deep_gemm"),
    ("sglang==0.5.23", "flashinfer"),
    ("sglang==0.5.23", "deep_gemm"),
)
_BY_NAME = ("positional-or-keyword", "keyword-only")


class Outcome(NamedTuple):
    """The calls that count, and those of them that were lost, each with the reason."""

    asked: int
    lost: list[tuple[CallCheck, str]]


def renamed(module: Module) -> Module:
    """A module in which every parameter, of constructors made from fields too, has another name."""
    names = {name: tuple(map(_entry, entries)) for name, entries in module.names.items()}
    return msgspec.structs.replace(module, names=names)


def _entry(entry: Entry) -> Entry:
    if isinstance(entry, Function):
        return _function(entry)
    if isinstance(entry, Class):
        methods = {name: tuple(map(_function, found)) for name, found in entry.methods.items()}
        fields = tuple(msgspec.structs.replace(f, name=f"{f.name}_renamed") for f in entry.fields)
        return msgspec.structs.replace(entry, methods=methods, fields=fields)
    return entry


def _function(entry: Function) -> Function:
    return msgspec.structs.replace(entry, parameters=tuple(map(_parameter, entry.parameters)))


def _parameter(parameter: Parameter) -> Parameter:
    if parameter.kind not in _BY_NAME:
        return parameter
    return msgspec.structs.replace(parameter, name=f"{parameter.name}_renamed")


def mutated(tree: Tree, library: str, folder: Path) -> Path:
    """A snapshot file of the library that a tree pins, every parameter renamed."""
    watch = load(None)
    found = Libraries(tree, {}, watch)(find(watch, library))
    if found is None:
        raise PinproofError(f"{tree.name}: the signatures of {library} are not available")
    modules = {
        name: msgspec.Raw(msgspec.json.encode(renamed(snapshots.decode_module(raw))))
        for name, raw in found.raw.items()
    }
    made = snapshots.Snapshot(library=library, version=found.version, source="every parameter renamed",
                              modules=modules)  # fmt: skip
    file = folder / f"{library}.json"
    file.write_bytes(snapshots.encode(made))
    return file


def counts(call: CallCheck) -> bool:
    """Whether a call can only fail once the parameters are renamed: it passes one of them by keyword."""
    if call.open is not None or call.drifts or call.signature is None:
        return False
    return not set(call.signature.names).isdisjoint(call.keywords) and all(
        parameter.kind != "var-keyword" for parameter in call.signature.parameters
    )


def measure(release: str, library: str) -> Outcome:
    """Check a release against the library it pins and against the renamed one."""
    tree = release_tree(*parse_release(release))
    watched = [w for w in load(None) if w.name == library]
    before = [c for c in check_tree(tree, watched=watched).calls if counts(c)]
    with tempfile.TemporaryDirectory() as folder:
        file = mutated(tree, library, Path(folder))
        after = check_tree(tree, watched=watched, libraries={library: str(file)}).calls
    found = {(c.file, c.line, c.col): c for c in after if not c.failing}
    reported = {(c.file, c.line, c.col) for c in after if c.failing}
    asked = {(c.file, c.line, c.col): c for c in before}
    lost = [(c, _why(found.get(place))) for place, c in asked.items() if place not in reported]
    return Outcome(len(asked), lost)


def _why(found: CallCheck | None) -> str:
    if found is None:
        return "not found any more"
    return found.open or (f"guarded: {found.guard}" if found.guard else "it binds")


def shown(release: str, library: str, outcome: Outcome) -> Iterator[str]:
    """The outcome for people: the figure, the reasons by number, the lost calls."""
    got = outcome.asked - len(outcome.lost)
    yield f"{release} {library}: {got} of {outcome.asked} calls reported"
    for reason, number in Counter(why for _, why in outcome.lost).most_common():
        yield f"  {number} x {reason}"
    for call, why in sorted(outcome.lost, key=lambda pair: (pair[0].file, pair[0].line)):
        yield f"    {call.file}:{call.line} {call.callee}: {why}"


def main(arguments: list[str]) -> int:
    """Print the figures: 0 when nothing is lost, 1 when something is, 2 or 5 on an error."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("release", nargs="?", metavar="NAME==V")
    parser.add_argument("library", nargs="?")
    args = parser.parse_args(arguments)
    if (args.release is None) != (args.library is None):
        parser.error("give a release and a library, or neither")
    lost = False
    try:
        for release, library in [(args.release, args.library)] if args.release else DEFAULT:
            outcome = measure(release, library)
            lost = lost or bool(outcome.lost)
            print("\n".join(shown(release, library, outcome)), flush=True)
    except PinproofError as error:
        print(f"mutation: {error.message}", file=sys.stderr)
        return int(error.exit_code)
    return int(lost)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
