"""Read a tree's own .pre-commit-config.yaml: which hooks it has, from where, and at which version."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from pinproof.errors import InputError

PATH = ".pre-commit-config.yaml"

# Stage names before pre-commit 3.2, which it still takes.
_OLD_STAGES = {"commit": "pre-commit", "push": "pre-push", "merge-commit": "pre-merge-commit"}
# vLLM 0.33.0's expands to 1,100 values; aliases of aliases expand to anything.
_MOST_VALUES = 50_000


class Hook(msgspec.Struct, frozen=True):
    """One hook as the config lists it.

    `spec` is its own mapping, untouched. `version` is the release that `rev` names: the tag itself, or
    for a commit the tag that a comment beside it gives (`rev: 745eface # v0.11.0.1`); None when unknown.
    """

    index: int
    repo: str
    rev: str | None
    version: str | None
    spec: dict[str, Any]

    @property
    def id(self) -> str:
        """The hook's id; one id can stand several times, told apart by alias."""
        return str(self.spec["id"])

    @property
    def key(self) -> str:
        """How to name it in output, and to `pre-commit run`: its alias, else its id."""
        return str(self.spec.get("alias") or self.spec["id"])

    @property
    def remote(self) -> bool:
        """Whether its code comes from a repository of its own."""
        return self.repo not in ("local", "meta")

    def stages(self) -> tuple[str, ...] | None:
        """The stages it states, in today's names; None when it states none."""
        stated = self.spec.get("stages")
        return tuple(_OLD_STAGES.get(stage, stage) for stage in stated) if stated else None


class Config(msgspec.Struct, frozen=True):
    """A tree's hooks in order, and the settings that stand beside them."""

    hooks: tuple[Hook, ...]
    settings: dict[str, Any]

    def stages(self, hook: Hook) -> tuple[str, ...] | None:
        """The stages a hook runs at; None for a remote hook that leaves them to its repository."""
        stated = hook.stages()
        if stated is None and not hook.remote:
            default = self.settings.get("default_stages") or ["pre-commit", "manual", "commit-msg"]
            return tuple(_OLD_STAGES.get(stage, stage) for stage in default)
        return stated


class _Repo(msgspec.Struct):
    repo: str
    hooks: list[dict[str, Any]]
    rev: str | None = None


class _File(msgspec.Struct):
    repos: list[_Repo]
    files: str = ""
    exclude: str = ""
    default_stages: list[str] = []


class _HookShape(msgspec.Struct):
    id: str
    alias: str = ""
    stages: list[str] = []
    entry: str = ""
    language: str = ""
    files: str = ""
    exclude: str = ""
    types: list[str] = []
    types_or: list[str] = []
    exclude_types: list[str] = []
    args: list[str] = []
    additional_dependencies: list[str] = []


def parse_config(raw: bytes) -> Config:
    """The hooks of a config file; pre-commit itself checks the finer points when it runs.

    Raises:
        InputError: it is no YAML, or not the mapping that pre-commit documents.
    """
    text, data = raw.decode("utf-8", errors="replace"), _load(raw)
    try:
        shape = msgspec.convert(data, type=_File)
        for repo in shape.repos:
            msgspec.convert(repo.hooks, type=list[_HookShape])
    except msgspec.ValidationError as error:
        raise InputError(
            f"{PATH}: {error}", hint="pre-commit validate-config says what it expects"
        ) from error
    hooks: list[Hook] = []
    for repo in shape.repos:
        version = _version(repo.rev, text)
        hooks += [
            Hook(len(hooks) + n, repo.repo, repo.rev, version, spec) for n, spec in enumerate(repo.hooks)
        ]
    return Config(tuple(hooks), {key: value for key, value in data.items() if key != "repos"})


def _load(raw: bytes) -> dict[str, Any]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C loader is ten times as fast
    try:
        data = yaml.load(raw, loader)  # noqa: S506 - either one is the safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{PATH} is no YAML: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(data, dict):
        raise InputError(f"{PATH}: expected a mapping with `repos`, found {type(data).__name__}")
    _count(data, [0], 0)
    return data


def _count(value: Any, seen: list[int], depth: int) -> None:
    """Refuse a file whose aliases expand without bound, before anything walks or prints it."""
    seen[0] += 1
    if seen[0] > _MOST_VALUES or depth > 50:
        raise InputError(f"{PATH} expands to over {_MOST_VALUES} values: refused")
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for child in children:
        _count(child, seen, depth + 1)


def _version(rev: str | None, text: str) -> str | None:
    if rev is None:
        return None
    if re.fullmatch(r"[0-9a-f]{40}", rev):
        comment = re.search(rf"rev:\s*['\"]?{rev}['\"]?\s*#\s*(?:frozen:\s*)?v?(\d[\w.+-]*)", text)
        return comment[1] if comment else None
    tag = re.fullmatch(r"v?(\d[\w.+-]*)", rev)
    return tag[1] if tag else None
