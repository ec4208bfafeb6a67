"""What pip is told about the index: its environment variables and configuration files.

Formats and places: https://pip.pypa.io/en/stable/topics/configuration/. The sections [global] and
[install] count, the latter first, as for `pip install`.
"""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pinproof.index.said import Said, flag, place

_SECTIONS = ("install", "global")


def from_environment(env: Mapping[str, str]) -> Said:
    """What the PIP_* variables say."""
    return _said(lambda name: env.get(f"PIP_{name.replace('-', '_').upper()}") or None)


def from_files(env: Mapping[str, str]) -> Said:
    """What pip's configuration files say; a later file overrides an earlier one, $PIP_CONFIG_FILE all."""
    said = Said()
    for path in _files(env):
        said = _from_file(path).over(said)
    return said


def _files(env: Mapping[str, str]) -> Iterator[Path]:
    named = env.get("PIP_CONFIG_FILE")
    if named == os.devnull:  # pip's own way of saying: no files at all
        return
    home = Path(env.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111 (raises nothing)
    shared = Path("/Library/Application Support") if sys.platform == "darwin" else None
    yield from (Path(folder) / "pip/pip.conf" for folder in _shared_folders(env, shared))
    yield Path("/etc/pip.conf")
    yield home / ".pip/pip.conf"
    own = home / "Library/Application Support/pip"
    if sys.platform == "darwin" and own.is_dir():
        yield own / "pip.conf"
    else:
        yield Path(env.get("XDG_CONFIG_HOME") or home / ".config") / "pip/pip.conf"
    yield Path(sys.prefix) / "pip.conf"
    if named:
        yield Path(named)


def _shared_folders(env: Mapping[str, str], mac: Path | None) -> list[str]:
    if mac is not None:
        return [str(mac)]
    return list(reversed((env.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)))


def _from_file(path: Path) -> Said:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError, configparser.Error):
        return Said()  # pip stops at a broken file; here the settings of the others still count

    def get(name: str) -> str | None:
        for section in _SECTIONS:
            for spelled in (name, name.replace("-", "_")):
                if value := parser.get(section, spelled, fallback=None):
                    return value
        return None

    return _said(get)


def _said(get: Callable[[str], str | None]) -> Said:
    index = get("index-url") or get("pypi-url")
    return Said(
        index=place(index) if index else None,
        extra=tuple(place(url) for url in (get("extra-index-url") or "").split()),
        find_links=tuple(place(url) for url in (get("find-links") or "").split()),
        trusted=tuple((get("trusted-host") or "").split()),
        no_index=flag(get("no-index")),
        cert=get("cert"),
        client_cert=get("client-cert"),
        proxy=get("proxy"),
        keyring=get("keyring-provider"),
    )
