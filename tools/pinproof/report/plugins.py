"""Plugins and the engine's releases: what breaks at their seams, and with which releases a plugin works."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from pinproof import stamp
from pinproof.console import note
from pinproof.errors import InputError, PinproofError
from pinproof.releases import parse_release, release_tree, versions
from pinproof.remember import keep, place, recall
from pinproof.report.model import PluginCell, PluginFact
from pinproof.seams.code import Code
from pinproof.seams.examine import Side, examine
from pinproof.seams.model import Seams
from pinproof.seams.sides import engine_code, pinned
from pinproof.tree import Tree

_FORMAT = "plugins/1"  # raise it when a cell says something else
_EXAMPLES = 8


def plugin_release(text: str) -> tuple[str, str]:
    """`vllm-omni==0.28.0`, or a name alone for its newest release.

    Raises:
        InputError: there is no such project or release.
        CannotCheck: the package index cannot be reached.
    """
    if "==" in text:
        return parse_release(text)
    found = versions(text)
    if not found:
        raise InputError(f"{text} has no final release", hint=f"--plugin {text}==VERSION")
    return text, found[-1]


def plugin_fact(text: str, project: str, wanted: Sequence[str], missing: dict[str, str]) -> PluginFact | None:
    """A plugin against every release of its engine.

    Args:
        text: the plugin, as for plugin_release.
        project: the engine that the report is about.
        wanted: its releases, oldest first.
        missing: where to say what could not be read.

    Returns:
        None when the plugin could not be read at all, or is built on another engine.
    """
    try:
        plugin = release_tree(*plugin_release(text))
        engine, pin = pinned(plugin, None)
    except PinproofError as error:
        missing[text] = error.message
        return None
    if engine != project:
        missing[text] = f"it is built on {engine}"
        return None
    cells = tuple(_cells(plugin, project, pin, wanted, missing))
    return PluginFact(plugin=plugin.name, engine=f"{project}=={pin}", cells=cells) if cells else None


def _cells(
    plugin: Tree, project: str, pin: str, wanted: Sequence[str], missing: dict[str, str]
) -> Iterator[PluginCell]:
    code = partial(_code, plugin)
    for version in wanted:
        path = place(
            "report", _FORMAT, stamp.content("seams"), plugin.name, _wheel(plugin), pin, project, version,
            _wheel(release_tree(project, version)),
        )  # fmt: skip
        cell = recall(path, PluginCell, fresh=lambda _: None)
        if cell is None:
            note(f"{plugin.name} with {project} {version}")
            try:
                cell = _cell(plugin, project, pin, version, code())
            except PinproofError as error:
                missing[f"{plugin.name} with {project} {version}"] = error.message
                continue
            keep(path, cell)
        yield cell


def _code(plugin: Tree) -> Code:
    return Code(plugin, plugin.packages or (plugin.package,), plugin.name)


def _wheel(tree: Tree) -> str:
    return str(getattr(tree.files, "sha256", ""))


def _cell(plugin: Tree, project: str, pin: str, version: str, code: Code) -> PluginCell:
    at_pin = Side(code, engine_code(project, pin), pin)
    if version == pin:
        found, more = examine(at_pin), ""
    else:
        found = examine(at_pin, Side(code, engine_code(project, version), version))
        more = f" --with {project}=={version}"
    return _counted(found, f"{project}=={version}", f"pinproof seams --release {plugin.name}{more}")


def _counted(found: Seams, release: str, command: str) -> PluginCell:
    failing = found.failing
    return PluginCell(
        release=release, broken=len(failing), command=command,
        review=sum(seam.level == "review" and seam.guard is None for seam in found.found),
        looked_at=found.counts.overrides + found.counts.patches + found.counts.anchors,
        examples=tuple(f"{one.file}:{one.line}: {one.code} {one.message}" for one in failing[:_EXAMPLES]),
    )  # fmt: skip
