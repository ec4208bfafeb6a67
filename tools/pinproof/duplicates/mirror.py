"""The part of a repository that its pull requests' diffs need, kept by git in our cache.

GitHub serves every pull request's last commit as refs/pull/N/head, without a token and outside the API's
limits. Commits and trees are fetched first (the whole history of them is small, and only a whole one tells
where a branch began), then the files' contents that the diffs really show, many in one request.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from pinproof.duplicates.auth import PUBLIC_SERVER, server_url
from pinproof.errors import InputError
from pinproof.git import git, git_text
from pinproof.paths import cache_dir

TRUNK = "refs/pinproof/trunk"
_BRANCHES = "refs/pinproof/branch/"
_TIMEOUT_S = 900.0
_QUICK_S = 60.0
_HEAD = re.compile(r"refs/pull/([1-9]\d{0,8})/head")
_BLOB = re.compile(rb"^:\d{6} \d{6} ([0-9a-f]{40,64}) ([0-9a-f]{40,64}) ", re.MULTILINE)


class Mirror(msgspec.Struct, frozen=True):
    """Our bare repository and the address that it is filled from; `token` is sent to that address only."""

    path: Path
    url: str
    token: str | None


def open_mirror(repo: str, token: str | None) -> Mirror:
    """The mirror of owner/name, made on demand.

    Raises:
        InputError: git is missing, or too old for partial clones.
    """
    server = server_url()
    host = re.sub(r"[^A-Za-z0-9.-]", "_", server.partition("://")[2])
    name = repo.lower().replace("/", "--")
    path = cache_dir("duplicates") / (f"{name}.git" if host == "github.com" else f"{host}--{name}.git")
    if not (path / "HEAD").exists():
        path.mkdir(parents=True, exist_ok=True)
        git(["init", "--quiet", "--bare", "."], cwd=path)
        git(["config", "core.repositoryformatversion", "1"], cwd=path)
        git(["config", "extensions.partialClone", "origin"], cwd=path)
    url = f"{server}/{repo}.git"
    for key, value in (("url", url), ("promisor", "true"), ("partialclonefilter", "blob:none")):
        git(["config", f"remote.origin.{key}", value], cwd=path)
    return Mirror(path, url, token)


def remote_heads(mirror: Mirror) -> dict[int, str]:
    """The last commit of every pull request there ever was, in one request.

    Raises:
        InputError: the server cannot be reached, or has no such repository.
    """
    text = _ask(mirror, ["ls-remote", "origin", "refs/pull/*/head"], timeout_s=_QUICK_S)
    found: dict[int, str] = {}
    for line in text.decode(errors="replace").splitlines():
        identity, _, name = line.partition("\t")
        if match := _HEAD.fullmatch(name):
            found[int(match[1])] = identity
    return found


def fetch_trunk(mirror: Mirror) -> None:
    """Bring the default branch and those named like releases up to date.

    Raises:
        InputError: as `remote_heads`.
    """
    named = (f"+refs/heads/{start}*:{_BRANCHES}{start}*" for start in ("release", "v"))
    _fetch(mirror, [f"+HEAD:{TRUNK}", *named])


def fetch_heads(mirror: Mirror, numbers: Iterable[int]) -> None:
    """Bring the commits and trees of pull requests. Raises InputError as `remote_heads`."""
    _fetch(mirror, [f"+refs/pull/{number}/head:{local(number)}" for number in numbers])


def fetch_contents(mirror: Mirror, pairs: Sequence[tuple[str, str]]) -> None:
    """Bring the files' contents that the diffs between pairs of trees show, as far as they are not here."""
    asked = "".join(f"{before} {after}\n" for before, after in pairs).encode()
    raw = git(["diff-tree", "--stdin", "-r", "--no-renames"], cwd=mirror.path, stdin=asked).stdout
    wanted = {identity.decode() for found in _BLOB.findall(raw) for identity in found}
    here = git_text(["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"], cwd=mirror.path)
    missing = wanted - set(here.split()) - {"0" * 40, "0" * 64}
    _fetch_what_there_is(mirror, sorted(missing))


def _fetch_what_there_is(mirror: Mirror, wanted: list[str]) -> None:
    """Fetch objects; one that the server has lost would end the request for all others."""
    try:
        _fetch(mirror, wanted)
    except InputError as error:
        if "not our ref" not in error.message:
            raise
        half = len(wanted) // 2
        for part in (wanted[:half], wanted[half:]) if half else ():
            _fetch_what_there_is(mirror, part)


def local(number: int) -> str:
    """The ref under which a pull request's head is kept."""
    return f"refs/pull/{number}/head"


def local_heads(mirror: Mirror) -> dict[int, str]:
    """The heads of pull requests that are here."""
    return {int(name.split("/")[2]): identity for name, identity in _refs(mirror, "refs/pull")}


def local_branches(mirror: Mirror) -> dict[str, str]:
    """The release branches that are here, with their last commits."""
    found = _refs(mirror, _BRANCHES.rstrip("/"))
    return {name.removeprefix(_BRANCHES): identity for name, identity in found}


def _refs(mirror: Mirror, below: str) -> list[tuple[str, str]]:
    text = git_text(["for-each-ref", "--format=%(refname)%09%(objectname)", below], cwd=mirror.path)
    parts = (line.partition("\t") for line in text.splitlines())
    return [(name, identity) for name, _, identity in parts]


def size(mirror: Mirror) -> int:
    """The bytes that the mirror takes."""
    return sum(file.stat().st_size for file in mirror.path.rglob("*") if file.is_file())


def _fetch(mirror: Mirror, wanted: list[str]) -> None:
    if not wanted:
        return
    _ask(
        mirror,
        ["-c", "fetch.unpackLimit=1", "-c", "fetch.writeCommitGraph=false", "fetch", "--quiet", "--no-tags",
         "--no-write-fetch-head", "--no-auto-maintenance", "--recurse-submodules=no", "--filter=blob:none",
         "--stdin", "origin"],
        stdin="\n".join(wanted).encode() + b"\n", timeout_s=_TIMEOUT_S,
    )  # fmt: skip


def _ask(mirror: Mirror, args: list[str], *, timeout_s: float, stdin: bytes | None = None) -> bytes:
    scheme = mirror.url.partition("://")[0]
    # A plain checkout's protocol helper may be told by the user's own configuration; only these are used.
    transport = scheme if scheme in ("https", "http", "file") else "https"
    done = git(
        args, cwd=mirror.path, stdin=stdin, transport=transport, timeout_s=timeout_s, env=_login(mirror)
    )
    return done.stdout


def _login(mirror: Mirror) -> dict[str, str]:
    """The token for a server that is not the public one, which needs none; through the environment, for
    a command line can be read by everybody.
    """
    public = mirror.url.startswith(f"{PUBLIC_SERVER}/")
    if mirror.token is None or public or not mirror.url.startswith("https://"):
        return {}
    secret = base64.b64encode(f"x-access-token:{mirror.token}".encode()).decode()
    count = int(os.environ.get("GIT_CONFIG_COUNT") or 0)
    return {
        "GIT_CONFIG_COUNT": str(count + 1), f"GIT_CONFIG_KEY_{count}": f"http.{mirror.url}.extraHeader",
        f"GIT_CONFIG_VALUE_{count}": f"Authorization: Basic {secret}",
    }  # fmt: skip
