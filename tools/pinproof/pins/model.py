"""What one pin says: a library, a version or commit, where that is written, and for which build."""

from __future__ import annotations

from typing import Literal

import msgspec

Origin = Literal["build", "image", "metadata"]
Reach = Literal["always", "extra", "elsewhere"]


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """One place where a tree says which version of a library it wants.

    Attributes:
        library: the name it stands under, normalised as the package index does it.
        spec: a commit, a tag, a version, or a specifier such as `>=0.3,<0.5`.
        exact: whether it names one version only.
        file, line: where it stands.
        repo: the git URL for a commit or tag.
        origin: what a build reads, the image it is run in, or the core metadata that an earlier build wrote.
        reach: whether it holds for every install on the platform that is checked, only with an extra, or
            only for another platform.
        when: the extra, platform or environment marker under which it holds; None: always.
        note: what a person should know about how the pin was read.
    """

    library: str
    spec: str
    exact: bool
    file: str
    line: int
    repo: str | None = None
    origin: Origin = "build"
    reach: Reach = "always"
    when: str | None = None
    note: str | None = None

    @property
    def bare(self) -> str:
        """The version or commit alone: tags are written with and without a leading v."""
        return self.spec.removeprefix("==").removeprefix("v")

    @property
    def where(self) -> str:
        """`FILE:LINE`."""
        return f"{self.file}:{self.line}"
