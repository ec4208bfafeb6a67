"""What uv is told about the index: its environment variables and its user's and system's uv.toml.

Names: https://docs.astral.sh/uv/reference/environment/ and .../reference/settings/. A uv.toml or
pyproject.toml of the working folder is not read: that may be the tree under check, and a tree must not
say where its own signatures come from.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pinproof.index.said import Place, Said, flag, place

_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)=(.+)", re.DOTALL)


def from_environment(env: Mapping[str, str]) -> Said:
    """What the UV_* variables, and the certificate variables that uv reads, say."""
    default = env.get("UV_DEFAULT_INDEX") or env.get("UV_INDEX_URL")
    extra = [*(env.get("UV_INDEX") or "").split(), *(env.get("UV_EXTRA_INDEX_URL") or "").split()]
    return Said(
        index=_named(default, env) if default else None,
        extra=tuple(_named(text, env) for text in extra),
        find_links=tuple(place(text) for text in re.split(r"[,\s]+", env.get("UV_FIND_LINKS") or "") if text),
        trusted=tuple((env.get("UV_INSECURE_HOST") or "").split()),
        no_index=flag(env.get("UV_NO_INDEX")),
        offline=flag(env.get("UV_OFFLINE")),
        cert=env.get("SSL_CERT_FILE") or env.get("SSL_CERT_DIR") or None,
        client_cert=env.get("SSL_CLIENT_CERT") or None,
        keyring=env.get("UV_KEYRING_PROVIDER") or None,
        strategy=env.get("UV_INDEX_STRATEGY") or None,
    )


def from_files(env: Mapping[str, str]) -> Said:
    """What uv.toml says: $UV_CONFIG_FILE alone, or the user's over the system's."""
    said = Said()
    for path in _files(env):
        said = _from_table(_table(path), env).over(said)
    return said


def _files(env: Mapping[str, str]) -> Iterator[Path]:
    if flag(env.get("UV_NO_CONFIG")):
        return
    if named := env.get("UV_CONFIG_FILE"):
        yield Path(named)
        return
    home = Path(env.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111 (raises nothing)
    shared = (env.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)
    system = [Path(folder) / "uv/uv.toml" for folder in shared] + [Path("/etc/uv/uv.toml")]
    yield from (path for path in system if path.is_file())
    yield Path(env.get("XDG_CONFIG_HOME") or home / ".config") / "uv/uv.toml"


def _table(path: Path) -> dict[str, Any]:
    from pinproof.toml import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _from_table(table: dict[str, Any], env: Mapping[str, str]) -> Said:
    pip = table.get("pip")
    table = {**table, **pip} if isinstance(pip, dict) else table  # [pip] is for `uv pip`, and goes first
    indexes = [item for item in _list(table.get("index")) if isinstance(item, dict) and item.get("url")]
    default = next((_entry(item, env) for item in indexes if item.get("default")), None)
    url = _text(table.get("index-url"))
    named = [_entry(item, env) for item in indexes if not item.get("default") and not item.get("explicit")]
    extra = [*named, *(place(text) for text in _texts(table.get("extra-index-url")))]
    return Said(
        index=default or (place(url) if url else None),
        extra=tuple(extra),
        find_links=tuple(place(text) for text in _texts(table.get("find-links"))),
        trusted=tuple(_texts(table.get("allow-insecure-host"))),
        no_index=_switch(table.get("no-index")),
        offline=_switch(table.get("offline")),
        keyring=_text(table.get("keyring-provider")),
        strategy=_text(table.get("index-strategy")),
    )


def _named(text: str, env: Mapping[str, str]) -> Place:
    """`URL` or `NAME=URL`; a name has its credentials in UV_INDEX_<NAME>_USERNAME and _PASSWORD."""
    match = _NAMED.fullmatch(text)
    if match is None or "://" in match[1]:
        return place(text)
    return _entry({"name": match[1], "url": match[2]}, env)


def _entry(item: dict[str, Any], env: Mapping[str, str]) -> Place:
    key = re.sub(r"[^A-Z0-9]", "_", str(item.get("name") or "").upper())
    user, password = env.get(f"UV_INDEX_{key}_USERNAME"), env.get(f"UV_INDEX_{key}_PASSWORD")
    return place(str(item["url"]), user if key else None, password if key else None)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: object) -> Iterable[str]:
    return [item for item in _list(value) if isinstance(item, str)]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _switch(value: object) -> bool | None:
    return value if isinstance(value, bool) else None
