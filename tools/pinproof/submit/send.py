"""Send a prepared pull request: the exact commands, and running them with git and gh."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import msgspec

from pinproof.errors import CannotCheck, PinproofError, Refused
from pinproof.git import git_env
from pinproof.index.trouble import need_network
from pinproof.paths import atomic_write, cache_dir
from pinproof.submit.prepare import Prepared, unchanged
from pinproof.submit.remotes import Remote, fork_remote, last_line, network_git, remote_branch, remotes
from pinproof.submit.scrub import without_tokens
from pinproof.submit.worktree import locked_clone

_GH_TIMEOUT_S = 120


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What sending would run: the fork, what its branch is at now (None: not there), the two commands."""

    fork: Remote
    seen: str | None
    push: tuple[str, ...]
    create: tuple[str, ...]
    body_file: Path

    def commands(self) -> list[str]:
        """The commands as a person would type them."""
        return [shlex.join(("git", *self.push)), shlex.join(self.create)]


def plan(prepared: Prepared, *, fork: str | None = None, body_file: Path | None = None) -> Plan:
    """Work out the commands; only the body file is written.

    The commit is pushed by its hash, so that no later change of the branch slips in, and with a lease
    on what the fork has now. No address is on the command line, so no credential in one is either.

    Args:
        prepared: the pull request.
        fork: the name of the fork's remote, when there are several.
        body_file: where to write the body; in the cache by default.

    Raises:
        Refused: there is no fork, several, or one that pushes to upstream; the fork cannot be reached.
    """
    branch, policy = prepared.branch, prepared.draft.policy
    remote = fork_remote(remotes(prepared.root), prepared.upstream, fork)
    path = body_file or cache_dir("submit-bodies") / f"{branch.commit[:12]}.md"
    atomic_write(path, prepared.body.encode())
    seen = remote_branch(prepared.root, remote, branch.name)
    ref = f"refs/heads/{branch.name}"
    push = ("push", "--no-follow-tags", "--no-signed", "--recurse-submodules=no",
            "--receive-pack=git-receive-pack", f"--force-with-lease={ref}:{seen or ''}",
            "--", remote.name, f"{branch.commit}:{ref}")  # fmt: skip
    create = ("gh", "pr", "create", "--draft", "--repo", policy.upstream, "--base", policy.base,
              "--head", f"{remote.owner}:{branch.name}", "--title", prepared.title,
              "--body-file", str(path))  # fmt: skip
    return Plan(fork=remote, seen=seen, push=push, create=create, body_file=path)


def send(prepared: Prepared, planned: Plan) -> str:
    """Push the branch to the fork and open the draft; return the pull request's URL.

    Run again after a failure, it goes on where it stopped: a branch that is there is not pushed again,
    a pull request that is open is not opened twice.

    Raises:
        Refused: the patch file or the fork's branch changed since the plan was shown, the fork pushes
            to upstream now, or another submit is at work.
        CannotCheck: gh is not installed.
        SendFailed: git or gh failed; the message says how far it got.
    """
    need_network("nothing was pushed, and no pull request was opened")
    if shutil.which("gh") is None:
        raise CannotCheck("gh, GitHub's command line, is not installed", hint="https://cli.github.com")
    with locked_clone(prepared.root):
        unchanged(prepared.source, prepared.draft.patch)
        fork = fork_remote(remotes(prepared.root), prepared.upstream, planned.fork.name)
        if fork != planned.fork:
            raise Refused(f"the remote {fork.name} changed while this ran", hint="run it again")
        atomic_write(planned.body_file, prepared.body.encode())
        if planned.seen != prepared.branch.commit:
            done = network_git(planned.push, root=prepared.root)
            if done.returncode:
                raise SendFailed(f"git push to {fork.name} failed, nothing was sent: {last_line(done)}")
        return _open_pull(prepared, fork) or _create(prepared, planned)


class SendFailed(PinproofError):
    """git or gh failed while sending (exit 2)."""


def _open_pull(prepared: Prepared, fork: Remote) -> str | None:
    """The URL of a pull request that is open from this branch already."""
    upstream = prepared.draft.policy.upstream
    done = _gh(["gh", "pr", "list", "--repo", upstream, "--state", "open", "--head", prepared.branch.name,
                "--json", "url,headRepositoryOwner"], prepared.root)  # fmt: skip
    try:
        pulls = json.loads(done.stdout) if done.returncode == 0 else None
        mine = [pull["url"] for pull in pulls or []
                if pull["headRepositoryOwner"]["login"].lower() == fork.owner.lower()]  # fmt: skip
        url = None if not mine else _checked_url(mine[0], upstream)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise SendFailed(f"gh pr list said something unexpected ({type(error).__name__})") from error
    if pulls is None:
        raise SendFailed(f"the branch is on the fork; gh pr list failed: {last_line(done)}",
                         hint="gh auth status, then run it again")  # fmt: skip
    return url


def _create(prepared: Prepared, planned: Plan) -> str:
    done = _gh(list(planned.create), prepared.root)
    if done.returncode:
        raise SendFailed(f"the branch is on the fork; gh pr create failed: {last_line(done)}",
                         hint="gh auth status, then run it again")  # fmt: skip
    lines = done.stdout.decode(errors="replace").strip().splitlines() or [""]
    return _checked_url(lines[-1], prepared.draft.policy.upstream)


def _checked_url(url: str, upstream: str) -> str:
    if not re.fullmatch(rf"https://[A-Za-z0-9.-]+/{re.escape(upstream)}/pull/\d+", url, re.IGNORECASE):
        raise SendFailed(f"gh gave no pull request of {upstream}: {without_tokens(url)[:200]!r}")
    return url


def _gh(command: list[str], root: Path) -> subprocess.CompletedProcess[bytes]:
    """Run gh without prompts; it takes its token from its own keyring or GH_TOKEN, never from us."""
    env = git_env({"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_COLOR": "1"})
    try:
        return subprocess.run(
            command, cwd=root, env=env, capture_output=True, stdin=subprocess.DEVNULL,
            timeout=_GH_TIMEOUT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise SendFailed(f"gh did not answer within {_GH_TIMEOUT_S} s") from error
