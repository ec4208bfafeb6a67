"""Run git on trees we do not trust, and leave the user's repository as it was."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pinproof.errors import InputError

# A checkout brings its own .git/config, and several of its keys name programs that git would run.
# These override every such key that the commands used here can reach.
_NO_CODE = (
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.pager=cat",
    "-c", "core.editor=false",
    "-c", "core.sshCommand=false",
    "-c", "core.untrackedCache=false",
    "-c", "commit.gpgSign=false",
    "-c", "tag.gpgSign=false",
    "-c", "diff.external=",
    "-c", "submodule.recurse=false",
    "-c", "protocol.ext.allow=never",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "advice.detachedHead=false",
    "-c", "color.ui=false",
)  # fmt: skip

# The caller's GIT_* variables that are kept: who commits, that person's own settings and credentials.
# Every other one points git at another repository, index, program, hash or way to read a path.
_KEPT = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_CONFIG_", "GIT_SSH", "GIT_ASKPASS", "GIT_SSL_", "GIT_HTTP_",
         "GIT_PROXY_", "GIT_EXEC_PATH", "GIT_CEILING_DIRECTORIES")  # fmt: skip

_OF_THE_TREE = ("local", "worktree")


def git_env(extra: dict[str, str] | None = None) -> dict[str, str]:
    """The environment for git: the caller's, less what redirects git, with untranslated messages."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k.startswith(_KEPT)}
    env.update(LC_ALL="C", GIT_TERMINAL_PROMPT="0", GIT_OPTIONAL_LOCKS="0")
    # A partial clone would fetch missing objects through whatever its config names as upload-pack.
    env.update(GIT_NO_LAZY_FETCH="1", GIT_ALLOW_PROTOCOL="none")
    env.update(extra or {})
    return env


def git(
    args: Sequence[str],
    *,
    cwd: Path,
    stdin: bytes | None = None,
    check: bool = True,
    env: dict[str, str] | None = None,
    transport: str | None = None,
    timeout_s: float | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run one git command with no hook, filter program, pager or prompt of the tree's own.

    Args:
        args: the command and its arguments, without `git`.
        cwd: where to run it.
        stdin: bytes for its standard input.
        check: raise when it exits non-zero.
        env: variables to add.
        transport: the protocols it may use, e.g. "https" or "file:https:ssh"; none by default.
        timeout_s: when to give up, in seconds; None waits for ever.

    Returns:
        The finished process, output captured as bytes.

    Raises:
        InputError: git is missing, it failed and `check` is on, or the time is up.
    """
    extra = dict(env or {})
    if transport is not None:
        _not_offline(args[0])
        extra["GIT_ALLOW_PROTOCOL"] = transport
    try:
        done = subprocess.run(
            ["git", *_NO_CODE, *args], cwd=cwd, input=stdin, env=_no_drivers(cwd, git_env(extra)),
            capture_output=True, check=False, stdin=subprocess.DEVNULL if stdin is None else None,
            timeout=timeout_s,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise InputError("git is not installed", hint="install git 2.34 or newer") from error
    except subprocess.TimeoutExpired as error:
        raise InputError(f"git {args[0]} gave no answer within {timeout_s:g} s") from error
    if check and done.returncode:
        text = done.stderr.decode(errors="replace").strip() or done.stdout.decode(errors="replace").strip()
        lines = text.splitlines()
        if len(lines) > 8:  # it prints its whole usage where a repository has gone
            text = lines[0]
        raise InputError(f"git {args[0]} failed in {cwd}: {text}")
    return done


def _not_offline(command: str) -> None:
    from pinproof.index.settings import offline

    if offline():
        raise InputError(f"offline: git {command} was not run")


def _no_drivers(cwd: Path, env: dict[str, str]) -> dict[str, str]:
    """`env` with overrides for the filter and merge programs that the repository's own config names.

    Its names may hold any character, `=` too, so they cannot travel as `-c NAME=VALUE`; and they may
    stand in the file of a single worktree (extensions.worktreeConfig). The user's own are left alone.
    """
    listing = subprocess.run(
        ["git", "config", "--show-scope", "--includes", "--null", "--name-only", "--get-regexp",
         r"^(filter\..*\.(clean|smudge|process|required)|merge\..*\.driver)$"],
        cwd=cwd, env=env, capture_output=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    fields = [os.fsdecode(field) for field in listing.stdout.split(b"\0")[:-1]]
    names = [name for scope, name in zip(fields[::2], fields[1::2], strict=True) if scope in _OF_THE_TREE]
    count = _config_count(env)
    added: dict[str, str] = {}
    for number, name in enumerate(dict.fromkeys(names), count):
        # A filter that is empty passes bytes through; a merge driver that is empty would claim success.
        passes = name.startswith("filter.") and not name.endswith(".required")
        added[f"GIT_CONFIG_KEY_{number}"] = name
        added[f"GIT_CONFIG_VALUE_{number}"] = "" if passes else "false"
    return {**env, **added, "GIT_CONFIG_COUNT": str(count + len(added) // 2)}


def _config_count(env: dict[str, str]) -> int:
    text = env.get("GIT_CONFIG_COUNT") or "0"
    if not (text.isascii() and text.isdigit() and len(text) < 6):
        raise InputError(
            f"GIT_CONFIG_COUNT is {text!r}, which is not a number", hint="unset GIT_CONFIG_COUNT"
        )
    return int(text)


def git_text(args: Sequence[str], *, cwd: Path) -> str:
    """The standard output of a git command, decoded and stripped."""
    return git(args, cwd=cwd).stdout.decode(errors="replace").strip()
