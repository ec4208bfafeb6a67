"""Open a plugin and the versions of its engine that it is to be held against."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pinproof.contract.sources.fetching import newest
from pinproof.contract.watch.watchlist import Watched, shipped
from pinproof.errors import CannotCheck, InputError
from pinproof.opening import open_any
from pinproof.pins import Pin, find_pin, read_pins
from pinproof.pins.project import ENGINES, project
from pinproof.releases import parse_release, release_tree, versions
from pinproof.seams.bump import Row, rows
from pinproof.seams.code import Code
from pinproof.seams.examine import Side, examine
from pinproof.seams.model import Seams
from pinproof.tree import Tree


def open_sides(tree: str | None, release: str | None, engine: str | None, moved: str | None) -> Seams:
    """Examine a plugin with the engine it pins, or what a move to another version does to it.

    Args:
        tree: the plugin on disk; the working folder when neither is given.
        release: or a release of it, `vllm-omni==0.28.0`.
        engine: the engine and where to take it from, over what the plugin pins: `vllm=0.28.0`.
        moved: another version of it, `vllm==0.29.0`.

    Raises:
        InputError: a name or version that is none.
        CannotCheck: the plugin says no version, or it cannot be read.
    """
    if tree and release:
        raise InputError("give a TREE or --release, not both")
    plugin = release_tree(*parse_release(release)) if release else open_plugin(tree or ".")
    name, spec = pinned(plugin, engine)
    code = Code(plugin, plugin.packages or (plugin.package,), plugin.name)
    pin = Side(code, engine_code(name, spec), spec)
    if moved is None:
        return examine(pin)
    version = _wanted(moved, name)
    return examine(pin, Side(code, engine_code(name, version), version))


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What a move from one version of the engine to another does to a plugin: the rows of its table."""

    plugin: str
    first: str
    last: str
    rows: list[Row]


def step(tree: str | None, release: str | None, engine: str | None, moved: str) -> Step:
    """Run the gate and look at the seams on both versions; arguments as for open_sides."""
    from pinproof.contract.check import check_tree
    from pinproof.seams.learned import settle

    if tree and release:
        raise InputError("give a TREE or --release, not both")
    plugin = release_tree(*parse_release(release)) if release else open_plugin(tree or ".")
    name, spec = pinned(plugin, engine)
    version = _wanted(moved, name)
    reports = [
        settle(check_tree(plugin, libraries={name: v}, watched=_only(name), cached=True), plugin)
        for v in (spec, version)
    ]
    already = {(c.file, c.line, c.col, c.callee) for c in reports[0].failing}
    reports[1].calls = [
        c for c in reports[1].calls if c.library == name and (c.file, c.line, c.col, c.callee) not in already
    ]
    code = Code(plugin, plugin.packages or (plugin.package,), plugin.name)
    later = Side(code, engine_code(name, version), version)
    seams = examine(Side(code, engine_code(name, spec), spec), later)
    found = rows(reports[0], reports[1], seams.found, later.world.engine)
    return Step(plugin=plugin.name, first=spec, last=version, rows=found)


def _only(name: str) -> list[Watched]:
    return [library for library in shipped() if library.name == name]


def open_plugin(path: str) -> Tree:
    """The project at `path`; an engine beside it in site-packages is not what is meant."""
    found = open_any(path)
    if found.package in ENGINES:
        raise InputError(f"{path} is {found.package} itself", hint="give what is built on it")
    return found


def pinned(plugin: Tree, given: str | None) -> tuple[str, str]:
    """The engine that a plugin is built on, and which version: given, exact, or the newest of a range.

    Raises:
        InputError: `given` is not NAME=SPEC.
        CannotCheck: the plugin asks for no engine, or says no version of it.
    """
    if given is not None:
        name, equals, spec = given.partition("=")
        if not (name and equals and spec.lstrip("=")):
            raise InputError(f"--library {given!r}: write NAME=SPEC", hint="e.g. --library vllm=0.28.0")
        return name, spec.lstrip("=")
    pins = read_pins(plugin, only=ENGINES)
    found = next((pin for name in ENGINES for pin in [find_pin(pins, name)] if pin is not None), None)
    if found is None:
        engines = project(plugin).plugin_of or ENGINES
        raise CannotCheck(
            f"{plugin.name} says nowhere which version of {' or '.join(engines)} it is for",
            hint=f"--library {engines[0]}=VERSION",
        )
    return found.library, _version(found)


def _wanted(moved: str, name: str) -> str:
    """The version that `vllm==0.29.0` names; `newest` and `newest-pre`, with candidates, are looked up.

    Raises:
        InputError: it is not a release, or of another project than `name`.
        CannotCheck: the package index cannot be reached.
    """
    project, _, word = moved.rpartition("==")
    if word in ("newest", "newest-pre") and project in ("", name):
        return versions(name, prereleases=word == "newest-pre")[-1]
    other, version = parse_release(moved, default_project=name)
    if other != name:
        raise InputError(f"{moved}: the plugin is built on {name}")
    return version


def _version(pin: Pin) -> str:
    return pin.spec.removeprefix("v") if pin.exact else newest(pin.library, pin.spec)


def engine_code(name: str, spec: str) -> Code:
    """An engine's code at a version, or in a folder."""
    if Path(spec).is_dir():
        found = open_any(spec, [name])
        return Code(found, (name,), f"{name} {found.version or spec}")
    tree = release_tree(name, spec)
    return Code(tree, (name,), f"{name} {tree.version or spec}")
