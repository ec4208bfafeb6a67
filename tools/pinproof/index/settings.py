"""Where packages come from: one answer out of what pip and uv are told, read once a process.

A setting counts in this order: pip's environment, uv's environment, pip's files, uv's files. Extra
indexes, find-links and trusted hosts of both tools add up. `--no-index` or `--offline` of either counts.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from pinproof.index import pipsettings, uvsettings
from pinproof.index.said import Place, Said, first, flag


@lru_cache(maxsize=1)
def pypi() -> Place:
    """The public index, which counts where nothing else is said; its address is pypi-simple's to know."""
    from pypi_simple import PYPI_SIMPLE_ENDPOINT

    return Place(PYPI_SIMPLE_ENDPOINT)


@dataclass(frozen=True)
class Settings:
    """How to reach the package index.

    Attributes:
        groups: the indexes in the order they are asked. The files of one group count together; a later
            group is asked only when no index of the ones before knows the project (uv's first-index).
        find_links: folders and pages of files, asked always and preferred.
        no_index: no index is asked, only the find-links places.
        trusted: hosts, or host:port, whose certificate is not verified.
        offline: nothing is sent to any host.
        cert: a file or folder of certificates to trust instead of the system's.
        client_cert: a PEM file to show to a server that asks for one.
        proxy: the proxy for every request; None leaves it to HTTPS_PROXY and the like.
        keyring: where to ask for a password: disabled, import, subprocess or auto.
    """

    groups: tuple[tuple[Place, ...], ...]
    find_links: tuple[Place, ...] = ()
    no_index: bool = False
    trusted: tuple[str, ...] = ()
    offline: bool = False
    cert: str | None = None
    client_cert: str | None = None
    proxy: str | None = None
    keyring: str = "auto"

    def asked(self) -> tuple[tuple[Place, ...], ...]:
        """The groups that may be asked: none with --no-index.

        Offline they all stay: what they said before is in the cache, and the session sends nothing.
        """
        return () if self.no_index and not self.offline else self.groups

    def places(self) -> tuple[Place, ...]:
        """Every index and every find-links place that may be asked."""
        return (*(place for group in self.asked() for place in group), *self.find_links)

    def fingerprint(self) -> str:
        """A short name for these places: what one index says must not be remembered for another.

        Empty for PyPI alone.
        """
        groups = self.asked()
        if groups == ((pypi(),),) and not self.find_links:
            return ""
        urls = [[place.url for place in group] for group in (*groups, self.find_links)]
        return hashlib.sha256(repr(urls).encode()).hexdigest()[:12]


def settings() -> Settings:
    """The settings of this process's environment."""
    return _settings(tuple(sorted(os.environ.items())))


def offline() -> bool:
    """Whether nothing may be sent to any host: --offline, PINPROOF_OFFLINE, or uv's own setting."""
    return settings().offline


@lru_cache(maxsize=4)
def _settings(env: tuple[tuple[str, str], ...]) -> Settings:
    return read(dict(env))


def read(env: Mapping[str, str]) -> Settings:
    """The settings of an environment and of the files that it leads to."""
    pip_env, uv_env = pipsettings.from_environment(env), uvsettings.from_environment(env)
    pip_files, uv_files = pipsettings.from_files(env), uvsettings.from_files(env)
    pip, uv = pip_env.over(pip_files), uv_env.over(uv_files)
    sources = (pip_env, uv_env, pip_files, uv_files)
    default = first([said.index for said in sources]) or pypi()
    return Settings(
        groups=_groups(default, pip, uv),
        find_links=_unique((*pip.find_links, *uv.find_links)),
        no_index=bool(pip.no_index or uv.no_index),
        trusted=(*pip.trusted, *uv.trusted),
        offline=bool(flag(env.get("PINPROOF_OFFLINE")) or uv.offline),
        cert=first([said.cert for said in sources]),
        client_cert=first([said.client_cert for said in sources]),
        proxy=first([said.proxy for said in sources]),
        keyring=first([said.keyring for said in sources]) or "auto",
    )


def _groups(default: Place, pip: Said, uv: Said) -> tuple[tuple[Place, ...], ...]:
    """uv stops at the first index that knows a project, unless told otherwise; pip takes all together."""
    if (uv.strategy or "first-index") == "first-index":
        groups = [(place,) for place in uv.extra]
        return tuple(dict.fromkeys([*groups, _unique((default, *pip.extra))]))
    return (_unique((*uv.extra, default, *pip.extra)),)


def _unique(places: tuple[Place, ...]) -> tuple[Place, ...]:
    return tuple(dict.fromkeys(places))
