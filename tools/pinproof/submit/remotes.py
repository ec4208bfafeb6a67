"""The clone's remotes: which one is upstream, which one is the person's fork, and talking to them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec

from pinproof.errors import Refused
from pinproof.git import git, git_text
from pinproof.submit.scrub import without_tokens

_HOSTED = re.compile(
    r"(?:https?://|ssh://|git://)(?:[^/@]*@)?([^/:]+)(?::\d+)?/(.+?)(?:\.git)?/*"
    r"|(?:[^/@:]+@)?([^/:]+):(?!//)(.+?)(?:\.git)?/*"
)

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+@-]{0,99}")
_TRANSPORT = "https:ssh:http:git:file"


class Remote(msgspec.Struct, frozen=True):
    """One remote: its name, and where fetching and pushing really go, without credentials.

    `fetches` and every one of `pushes` is `host/owner/repo`, or the resolved path of a local one.
    """

    name: str
    fetches: str
    pushes: tuple[str, ...]

    @property
    def slug(self) -> str:
        """owner/repo."""
        return _slug(self.fetches)

    @property
    def owner(self) -> str:
        """Whose it is."""
        return self.slug.split("/", 1)[0]


def _slug(place: str) -> str:
    return "/".join(place.removesuffix(".git").split("/")[-2:])


def place(url: str) -> str:
    """Where a git URL goes, in one spelling, without credentials: github.com/owner/repo, or a path."""
    match = _HOSTED.fullmatch(url)
    if match is None:
        return os.path.realpath(url.removeprefix("file://"))
    host, path = (match[1] or match[3]).lower(), match[2] or match[4]
    # GitHub also listens on this host, for networks that block port 22.
    return f"{'github.com' if host == 'ssh.github.com' else host}/{path.strip('/').lower()}"


def remotes(root: Path) -> list[Remote]:
    """The remotes of a clone, with git's own URL rewriting (insteadOf, pushurl) applied.

    A name that `git remote add` would refuse is passed over: only an edited .git/config holds one, and
    one that begins with a dash would be an option of git (--upload-pack names a program to run).
    """
    found = []
    for name in git_text(["remote"], cwd=root).splitlines():
        if not _NAME.fullmatch(name):
            continue
        fetches = git_text(["remote", "get-url", "--", name], cwd=root)
        pushes = git_text(["remote", "get-url", "--push", "--all", "--", name], cwd=root).splitlines()
        found.append(Remote(name, place(fetches), tuple(place(url) for url in pushes)))
    return found


def upstream_remote(found: Sequence[Remote], upstream: str) -> Remote:
    """The remote that fetches from upstream.

    Args:
        found: the clone's remotes.
        upstream: owner/repo.

    Raises:
        Refused: there is none.
    """
    for remote in found:
        if remote.slug == upstream.lower():
            return remote
    raise Refused(
        f"no remote of this clone is {upstream}",
        hint=f"git remote add upstream https://github.com/{upstream}.git",
    )


def fork_remote(found: Sequence[Remote], upstream: Remote, wanted: str | None = None) -> Remote:
    """The person's fork: the one named, else the only remote of that repository that is not upstream.

    Raises:
        Refused: there is none, there are several, or it pushes to upstream.
    """
    if wanted is not None:
        named = [remote for remote in found if remote.name == wanted]
    else:
        named = [remote for remote in found if not _reaches(remote, upstream)
                 and remote.slug.split("/")[-1] == upstream.slug.split("/")[-1]]  # fmt: skip
    if len(named) != 1:
        what = ", ".join(remote.name for remote in named) or wanted or "none found"
        raise Refused(
            f"which remote is your fork of {upstream.slug}? ({what})",
            hint="gh repo fork --remote, or name it with --fork REMOTE",
        )
    if _reaches(named[0], upstream):
        raise Refused(
            f"the remote {named[0].name} pushes to upstream ({upstream.slug}): only a fork is pushed to"
        )
    return named[0]


def _reaches(remote: Remote, upstream: Remote) -> bool:
    """Whether a push to this remote would reach upstream's repository, whatever it is called."""
    targets = {upstream.fetches, *upstream.pushes}
    return bool(targets & {remote.fetches, *remote.pushes}) or any(
        _slug(push) == upstream.slug for push in remote.pushes
    )


def network_git(args: Sequence[str], *, root: Path) -> subprocess.CompletedProcess[bytes]:
    """git over the network as the person would run it: their ssh and credentials, but no hooks.

    `--upload-pack` and `--receive-pack` are for the caller to give: a clone's own configuration could
    name other programs there.
    """
    ssh = (
        git(["config", "--global", "--get", "core.sshCommand"], cwd=root, check=False).stdout.decode().strip()
    )
    return git(["-c", f"core.sshCommand={ssh or 'ssh'}", *args], cwd=root, check=False, transport=_TRANSPORT)


def fetch_base(root: Path, upstream: Remote, branch: str) -> str:
    """The commit that upstream's branch is at now; its objects are in the clone afterwards.

    The person's remote-tracking branches stay as they are: the commit is kept by refs/pinproof/base.

    Raises:
        Refused: upstream cannot be reached.
    """
    kept = "refs/pinproof/base"
    done = network_git(
        ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--refmap=",
         "--upload-pack=git-upload-pack", "--", upstream.name, f"+refs/heads/{branch}:{kept}"],
        root=root,
    )  # fmt: skip
    if done.returncode:
        raise Refused(
            f"cannot fetch {branch} of {upstream.name}: {last_line(done)}",
            hint=f"when offline: --base {upstream.name}/{branch}, the state you last fetched",
        )
    return git_text(["rev-parse", "--verify", f"{kept}^{{commit}}"], cwd=root)


def remote_branch(root: Path, remote: Remote, branch: str) -> str | None:
    """The commit a branch is at on a remote, None when it is not there.

    Raises:
        Refused: the remote cannot be reached.
    """
    done = network_git(
        ["ls-remote", "--upload-pack=git-upload-pack", "--", remote.name, f"refs/heads/{branch}"], root=root
    )
    if done.returncode:
        raise Refused(f"cannot reach {remote.name}: {last_line(done)}")
    lines = done.stdout.decode(errors="replace").splitlines()
    return lines[0].split()[0] if lines else None


def last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    """The last line a program said on standard error, without tokens: what to show of a failure."""
    lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
    return without_tokens(lines[-1])
