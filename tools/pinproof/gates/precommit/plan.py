"""Decide, per hook of the config, how it can be run here and which touched files it is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pinproof.gates.precommit.config import Config, Hook
from pinproof.gates.precommit.reach import Revision
from pinproof.gates.precommit.replace import Replacement, replacement, script_replacement, source
from pinproof.gates.precommit.select import matching


class Plan(msgspec.Struct, frozen=True):
    """How one hook is run.

    Attributes:
        hook: the hook as the config lists it.
        spec: its keys for the config that pre-commit is given.
        repo: "local", "meta", or the repository it is cloned from.
        stages: the stages it runs at; None when only its repository knows.
        applies: whether a touched file is for it, or it always runs; None when only its repository knows.
        note: that it is replaced, and by what.
        unavailable: why it cannot be run here at all.
        network: whether it may need the network each time it runs.
    """

    hook: Hook
    spec: dict[str, Any]
    repo: str
    stages: tuple[str, ...] | None
    applies: bool | None
    note: str | None = None
    unavailable: str | None = None
    network: bool = False

    def environment(self) -> tuple[object, ...]:
        """What tells one hook environment from another: two hooks with the same share it."""
        keys = ("language", "language_version")
        deps = tuple(self.spec.get("additional_dependencies", ()))
        return (self.repo, self.hook.rev, *(self.spec.get(key) for key in keys), deps)


def plan_hooks(
    config: Config, root: Path, paths: Sequence[str], reach: Mapping[Revision, bool]
) -> list[Plan]:
    """A plan for each hook, in the config's order.

    Args:
        config: the tree's hooks.
        root: the patched tree.
        paths: the touched files, relative to it.
        reach: for each remote (repository, rev), whether it can be cloned from here.
    """
    cut_off = not all(reach.values())
    return [_plan(config, hook, root, paths, reach, cut_off) for hook in config.hooks]


def _plan(
    config: Config,
    hook: Hook,
    root: Path,
    paths: Sequence[str],
    reach: Mapping[Revision, bool],
    cut_off: bool,
) -> Plan:
    stages = config.stages(hook)

    def applies(spec: dict[str, Any]) -> bool:
        return bool(spec.get("always_run")) or bool(matching(spec, config.settings, root, paths))

    if not hook.remote:
        stand_in = script_replacement(hook) if cut_off else None
        if stand_in is None:
            return Plan(hook, hook.spec, hook.repo, stages, applies(hook.spec))
        return _replaced(hook, stand_in, stages, applies(hook.spec), "the script's own download")
    if reach[hook.repo, hook.rev or ""]:
        return Plan(hook, hook.spec, hook.repo, stages, None)
    stages = stages or tuple(config.settings.get("default_stages") or ("pre-commit", "manual"))
    found = replacement(hook)
    if isinstance(found, Replacement):
        return _replaced(hook, found, stages, applies(found.spec), f"{short(hook.repo)} {hook.rev}")
    return Plan(hook, hook.spec, hook.repo, stages, applies(_declared(hook)), unavailable=found)


def _replaced(
    hook: Hook, by: Replacement, stages: tuple[str, ...] | None, applies: bool, instead: str
) -> Plan:
    registry = "npm" if by.spec["language"] == "node" else "PyPI"
    note = f"{by.package} from {registry} instead of {instead}"
    return Plan(hook, by.spec, "local", stages, applies, note, network=by.network)


def _declared(hook: Hook) -> dict[str, Any]:
    """A hook's keys with what the mapping knows of its repository: enough to tell which files it is for."""
    known = source(hook)
    declared = known.hooks.get(hook.id) if known else None
    return {**(msgspec.to_builtins(declared) if declared else {}), **hook.spec}


def short(repo: str) -> str:
    """`owner/name` of a repository's address."""
    return "/".join(repo.removesuffix("/").removesuffix(".git").split("/")[-2:])
