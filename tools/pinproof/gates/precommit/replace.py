"""Stand-ins for hook repositories out of reach: the same tool at the same version, from PyPI or npm."""

from __future__ import annotations

import shutil
from functools import lru_cache
from importlib.resources import files
from typing import Any

import msgspec

from pinproof.gates.precommit.config import Hook


class Declared(msgspec.Struct, frozen=True):
    """A hook as its repository declares it: what the config's own keys are laid over."""

    entry: str
    args: list[str] = []
    types: list[str] = msgspec.field(default_factory=lambda: ["file"])
    types_or: list[str] = []
    files: str = ""
    pass_filenames: bool = True


class Source(msgspec.Struct, frozen=True):
    """A hook repository and the package that holds its tool."""

    url: str
    language: str
    requirement: str
    hooks: dict[str, Declared]
    commits: dict[str, str] = {}
    network: bool = False
    """Whether its hooks need the network each time they run."""


class Script(msgspec.Struct, frozen=True):
    """A script of the tree that downloads `command` unless it is on PATH."""

    entry: str
    command: str
    requirement: str


class _Data(msgspec.Struct, frozen=True):
    repo: list[Source]
    script: list[Script]


class Replacement(msgspec.Struct, frozen=True):
    """A `repo: local` hook that does a remote hook's work, and how to tell people."""

    spec: dict[str, Any]
    package: str
    network: bool


@lru_cache(maxsize=1)
def data() -> _Data:
    """The mapping, from replacements.toml beside this module."""
    raw = files("pinproof.gates.precommit").joinpath("replacements.toml").read_bytes()
    return msgspec.toml.decode(raw, type=_Data)


def source(hook: Hook) -> Source | None:
    """What is known of a hook's repository; None when it is not in the mapping."""
    url = hook.repo.lower().removesuffix("/").removesuffix(".git").partition("://")[2]
    return next((item for item in data().repo if item.url == url), None)


def replacement(hook: Hook) -> Replacement | str:
    """A local hook with the same tool at the same version, or why there is none."""
    known = source(hook)
    if known is None:
        return f"its repository {hook.repo} is out of reach, and no package is known for it"
    declared = known.hooks.get(hook.id)
    if declared is None:
        return f"{hook.repo} is out of reach, and its hook {hook.id} is not in the mapping"
    version = hook.version or known.commits.get(hook.rev or "")
    if version is None:
        return f"{hook.repo} is out of reach, and no release is known for its commit {hook.rev}"
    if known.language == "node" and not (shutil.which("node") and shutil.which("npm")):
        return "node and npm are not installed"
    requirement = known.requirement.format(version=version)
    spec: dict[str, Any] = {"name": hook.id, **msgspec.to_builtins(declared), **hook.spec}
    spec["language"] = known.language
    spec["additional_dependencies"] = [requirement, *hook.spec.get("additional_dependencies", [])]
    if known.language == "node":
        spec["language_version"] = "system"  # "lts" would fetch a Node from its own site
    return Replacement(spec, requirement, known.network)


def script_replacement(hook: Hook) -> Replacement | None:
    """For a tree's script that downloads its tool: the same script with the tool from PyPI beside it."""
    entry = str(hook.spec.get("entry", ""))
    known = next((item for item in data().script if item.entry == entry), None)
    if known is None or shutil.which(known.command):
        return None
    spec = {**hook.spec, "language": "python", "entry": f"bash {entry}",
            "additional_dependencies": [known.requirement]}  # fmt: skip
    return Replacement(spec, known.requirement, True)
