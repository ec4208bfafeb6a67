"""Which hook repositories can be cloned from here, found out in seconds and remembered once cloned."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pinproof.errors import InputError
from pinproof.gates.precommit.config import Hook
from pinproof.git import git

# Long enough for a slow link's TLS handshake; a firewall that drops packets would take minutes.
_LIMIT_S = 5.0
# What git allows by default, less what its configuration could add: `ext::` runs any program.
TRANSPORT = "file:git:http:https:ssh"

Revision = tuple[str, str]


def reachable(hooks: Iterable[Hook], home: Path) -> dict[Revision, bool]:
    """Whether each remote (repository, rev) is cloned already or answers now; all are asked at once.

    Args:
        hooks: hooks of a config; those that are not remote are left out.
        home: pre-commit's cache folder, where remember_cloned() leaves its marks.
    """
    wanted = {(hook.repo, hook.rev or "") for hook in hooks if hook.remote}
    answers = {revision: _mark(revision, home).exists() for revision in wanted}
    asked = sorted({repo for repo, rev in wanted if not answers[repo, rev]})
    if asked:
        with ThreadPoolExecutor(max_workers=8) as pool:
            live = dict(zip(asked, pool.map(_answers, asked), strict=True))
        answers = {key: known or live[key[0]] for key, known in answers.items()}
    return answers


def remember_cloned(hooks: Iterable[Hook], home: Path) -> None:
    """Note that pre-commit has these hooks' repositories in its cache, so that they need no network."""
    for hook in hooks:
        mark = _mark((hook.repo, hook.rev or ""), home)
        mark.parent.mkdir(exist_ok=True)
        mark.touch()


def _answers(repo: str) -> bool:
    try:
        git(
            ["ls-remote", "--quiet", "--", repo, "HEAD"],
            cwd=Path("/"),
            timeout_s=_LIMIT_S,
            transport=TRANSPORT,
        )
    except InputError:
        return False
    return True


def _mark(revision: Revision, home: Path) -> Path:
    name = hashlib.sha256("\0".join(revision).encode()).hexdigest()[:24]
    # Below pre-commit's own folder, so that `pre-commit clean` forgets the marks with the clones.
    return home / "pinproof-cloned" / name
