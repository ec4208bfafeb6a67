"""Which release a patch's text applies to, nearest first: what to say when it conflicts here."""

from __future__ import annotations

from packaging.version import InvalidVersion, Version

from pinproof.errors import CannotCheck
from pinproof.patchset.change import text_state
from pinproof.patchset.patchfile import Patch
from pinproof.releases import release_tree, versions


def closest_release(patch: Patch, version: str | None, *, project: str = "vllm") -> str | None:
    """The release nearest to `version` whose files the patch applies to.

    Args:
        patch: the patch.
        version: where to start; None starts at the newest release.
        project: the project on PyPI.

    Returns:
        Its version, None when the patch applies to none of the twelve nearest.

    Raises:
        CannotCheck: the package index cannot be reached.
    """
    known = [Version(text) for text in versions(project)]
    if not known:
        return None
    start = _parse(version) or known[-1]
    position = sum(1 for release in known if release < start)
    ranked = sorted(range(len(known)), key=lambda index: (abs(index - position), -index))
    for index in ranked[:12]:
        if text_state(release_tree(project, str(known[index])), patch) == "applies":
            return str(known[index])
    return None


def release_file(version: str, path: str, *, project: str = "vllm") -> bytes:
    """One file of a release.

    Raises:
        CannotCheck: the release has no such file, or the index cannot be reached.
    """
    content = release_tree(project, version).read(path)
    if content is None:
        raise CannotCheck(f"{project} {version} has no {path}")
    return content


def _parse(version: str | None) -> Version | None:
    try:
        return Version(version) if version else None
    except InvalidVersion:
        return None
