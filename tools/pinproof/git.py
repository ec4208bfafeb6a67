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

# Variables through which the caller's shell would point git at another repository or program.
_DROP = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE",
         "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_EXTERNAL_DIFF", "GIT_PREFIX", "GIT_PAGER")  # fmt: skip


def git_env(extra: dict[str, str] | None = None) -> dict[str, str]:
    """The environment for git: the caller's, less what redirects git, with untranslated messages."""
    env = {key: value for key, value in os.environ.items() if key not in _DROP}
    env.update(LC_ALL="C", GIT_TERMINAL_PROMPT="0", GIT_OPTIONAL_LOCKS="0")
    env.update(extra or {})
    return env


def git(
    args: Sequence[str],
    *,
    cwd: Path,
    stdin: bytes | None = None,
    check: bool = True,
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run one git command with no hook, filter program, pager or prompt of the tree's own.

    Args:
        args: the command and its arguments, without `git`.
        cwd: where to run it.
        stdin: bytes for its standard input.
        check: raise when it exits non-zero.
        env: variables to add.

    Returns:
        The finished process, output captured as bytes.

    Raises:
        InputError: git is missing, or it failed and `check` is on.
    """
    try:
        done = subprocess.run(
            ["git", *_NO_CODE, *args], cwd=cwd, input=stdin, env=git_env(env), capture_output=True,
            check=False, stdin=subprocess.DEVNULL if stdin is None else None,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise InputError("git is not installed", hint="install git 2.34 or newer") from error
    if check and done.returncode:
        text = done.stderr.decode(errors="replace").strip() or done.stdout.decode(errors="replace").strip()
        raise InputError(f"git {args[0]} failed in {cwd}: {text}")
    return done


def git_text(args: Sequence[str], *, cwd: Path) -> str:
    """The standard output of a git command, decoded and stripped."""
    return git(args, cwd=cwd).stdout.decode(errors="replace").strip()
