"""One place that says which version of a library is wanted, read from a requirement (PEP 508)."""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# A server or trainer brings the engine in through an extra: ray[llm], kserve[llm], trl[vllm].
_ENGINES = frozenset({"vllm", "sglang"})


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """One place where a tree says which version of a library it wants.

    `spec` is a commit, a tag, a version, or a specifier such as `>=0.3,<0.5`; `exact` says whether it
    names one version only; `repo` is the git URL for a commit or tag; `note` says what a person should
    know about how the pin was read.
    """

    library: str
    spec: str
    exact: bool
    file: str
    line: int
    repo: str | None = None
    note: str | None = None


def canonical(name: str) -> str:
    """A project's name as the package index normalises it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement(text: str, path: str, line: int, only: Collection[str] | None) -> Pin | None:
    """The pin that a requirement states.

    Args:
        text: e.g. `vllm[audio]==0.29.0; extra == "llm"`.
        path, line: where it stands.
        only: the libraries wanted; every one when None.

    Returns:
        The pin; None for other libraries, for what is no requirement, and for an extra of a library that
        is no engine: a plain install does not bring it.
    """
    named = _NAME.match(text)
    if named is None or (only is not None and canonical(named[0]) not in only):
        return None
    # 20 ms to import: not for the lines of other libraries.
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        wanted = Requirement(text)
    except InvalidRequirement:
        return None
    library = canonical(wanted.name)
    extra = wanted.marker is not None and "extra" in str(wanted.marker)
    if extra and (library not in _ENGINES or not wanted.specifier):
        return None
    specs = list(wanted.specifier)
    exact = len(specs) == 1 and specs[0].operator == "==" and not specs[0].version.endswith(".*")
    # A local version (0.30.0+cpu) is a build of the public one, which is what the index has.
    spec = specs[0].version.split("+", 1)[0] if exact else str(wanted.specifier) or "any"
    return Pin(library=library, spec=spec, exact=exact, file=path, line=line, repo=wanted.url)
