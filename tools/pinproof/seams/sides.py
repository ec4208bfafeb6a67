"""Open a plugin and the versions of its engine that it is to be held against."""

from __future__ import annotations

from pathlib import Path

from pinproof.contract.sources.fetching import newest
from pinproof.errors import CannotCheck, InputError
from pinproof.opening import open_any
from pinproof.pins import Pin, find_pin, read_pins
from pinproof.pins.project import ENGINES, project
from pinproof.releases import parse_release, release_tree
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
    other, version = parse_release(moved, default_project=name)
    if other != name:
        raise InputError(f"--with {moved}: the plugin is built on {name}")
    return examine(pin, Side(code, engine_code(name, version), version))


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


def _version(pin: Pin) -> str:
    return pin.spec.removeprefix("v") if pin.exact else newest(pin.library, pin.spec)


def engine_code(name: str, spec: str) -> Code:
    """An engine's code at a version, or in a folder."""
    if Path(spec).is_dir():
        found = open_any(spec, [name])
        return Code(found, (name,), f"{name} {found.version or spec}")
    tree = release_tree(name, spec)
    return Code(tree, (name,), f"{name} {tree.version or spec}")
