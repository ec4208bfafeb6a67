"""A small upstream repository with pull refs, as GitHub serves one to git."""

from __future__ import annotations

import subprocess
from datetime import datetime
from pathlib import Path

FILE = "vllm/models/kimi_k3/nvidia/model.py"
BEFORE = "".join(f"line {at} of the model\n" for at in range(60))


class Upstream:
    """A bare repository in `folder`/owner/name.git and a work tree to fill it from."""

    def __init__(self, folder: Path, repo: str) -> None:
        self.bare = folder / f"{repo}.git"
        self.tree = folder / "work"
        self.bare.mkdir(parents=True)
        self._git("init", "--quiet", "--bare", "--initial-branch=main", ".", cwd=self.bare)
        for key in ("allowFilter", "allowAnySHA1InWant"):
            self._git("config", f"uploadpack.{key}", "true", cwd=self.bare)
        self._git("clone", "--quiet", str(self.bare), str(self.tree), cwd=folder)
        self._git("checkout", "--quiet", "-B", "main")
        self.commit("main", {FILE: BEFORE, "README.md": "hello\n"}, "Begin", "2025-09-01T00:00:00Z")

    def _git(self, *args: str, cwd: Path | None = None, day: str = "2026-08-01T00:00:00Z") -> str:
        env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.bare), "GIT_AUTHOR_DATE": day,
            "GIT_COMMITTER_DATE": day, "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org",
        }  # fmt: skip
        done = subprocess.run(
            ["git", *args], cwd=cwd or self.tree, env=env, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, branch: str, files: dict[str, str], message: str, day: str) -> str:
        """Commit files on a branch (made from main where it is new) and push it."""
        if not self._git("branch", "--list", branch) and branch != "main":
            self._git("branch", branch, "main")
        if self._git("branch", "--list", "main"):
            self._git("checkout", "--quiet", branch)
        for path, text in files.items():
            target = self.tree / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        self._git("add", "-A")
        self._git("commit", "--quiet", "-m", message, day=day)
        self._git("push", "--quiet", "origin", f"+{branch}:refs/heads/{branch}")
        return self._git("rev-parse", "HEAD")

    def pull(self, number: int, files: dict[str, str], message: str, day: str) -> str:
        """A pull request that was not merged: refs/pull/N/head."""
        head = self.commit(f"topic-{number}", files, message, day)
        self._git(
            "push", "--quiet", "origin", f"+{head}:refs/pull/{number}/head", f":refs/heads/topic-{number}"
        )
        return head


def changed(text: str, at: int, *lines: str) -> str:
    """A text with some lines put in place of as many from line `at` on."""
    old = text.splitlines()
    return "\n".join([*old[:at], *lines, *old[at + len(lines) :]]) + "\n"


def instant(day: str) -> datetime:
    """A day with time as the test data has it."""
    return datetime.fromisoformat(day.replace("Z", "+00:00"))
