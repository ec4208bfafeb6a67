"""The branch a pull request comes from: made at upstream's base by `git am`, checked, then named."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pinproof.errors import Conflict, InputError, Refused
from pinproof.git import git, git_text
from pinproof.patchset.patchfile import Patch
from pinproof.submit.keys import sides
from pinproof.submit.message import commit_message, mail, sign_off_fault
from pinproof.submit.policy import Policy
from pinproof.submit.records import ReviewRecord
from pinproof.submit.worktree import checked_out
from pinproof.tree import open_tree


class Branch(msgspec.Struct, frozen=True):
    """A branch as it will be sent: its name, its one commit, the base below it, and the message."""

    name: str
    commit: str
    base: str
    message: str


def branch_name(patch: Patch) -> str:
    """The branch of a patch: `pinproof/` and the patch's short title."""
    return "pinproof/" + patch.name.removesuffix(".patch").split("-", 1)[-1]


def commit_patch(worktree: Path, patch: Patch, review: ReviewRecord, policy: Policy) -> Branch:
    """Commit the patch in a worktree that stands at the base; no branch is made yet.

    The same patch, base and review give the same commit: dates are the review's.

    Args:
        worktree: a detached worktree at the base.
        patch: the patch.
        review: the review of the person who signs off.
        policy: the upstream's policy.

    Raises:
        Conflict: the patch does not apply to the base.
        Refused: the commit is not exactly the patch, or would fail the DCO check.
    """
    base = git_text(["rev-parse", "HEAD"], cwd=worktree)
    wanted = sides(patch, open_tree(worktree))
    done = git(
        ["-c", "core.autocrlf=false", "am", "--keep", "--keep-cr", "--no-3way",
         "--no-scissors", "--committer-date-is-author-date", "--quiet"],
        cwd=worktree, check=False, stdin=mail(patch, review, policy),
        env={"GIT_COMMITTER_NAME": review.person.name, "GIT_COMMITTER_EMAIL": review.person.email},
    )  # fmt: skip
    if done.returncode:
        text = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise Conflict(f"{patch.name} does not apply to {base[:12]}: {text[0]}")
    branch = Branch(branch_name(patch), git_text(["rev-parse", "HEAD"], cwd=worktree), base,
                    commit_message(patch, review, policy))  # fmt: skip
    _check(worktree, branch, review, {path: after for path, (_, after) in wanted.items()})
    return branch


def _check(worktree: Path, branch: Branch, review: ReviewRecord, after: dict[str, bytes | None]) -> None:
    """Make sure that the commit is what the person reviewed: a message can hide mail headers, say.

    Raises:
        Refused: it is not.
    """
    parent, name, email, message = git_text(
        ["show", "--no-patch", "--format=%P%x00%an%x00%ae%x00%B", branch.commit], cwd=worktree
    ).split("\0", 3)
    changed = git(["diff-tree", "-r", "--name-only", "-z", branch.base, branch.commit], cwd=worktree).stdout
    paths = {path.decode() for path in changed.split(b"\0") if path}
    committed = open_tree(worktree)
    fault = None
    if parent != branch.base:
        fault = "it is not one commit on the base"
    elif (name, email) != (review.person.name, review.person.email):
        fault = f"its author became {name} <{email}>"
    elif message.split() != branch.message.split():
        fault = "its message is not the one that was made"
    elif paths != set(after):
        fault = f"it touches {', '.join(sorted(paths ^ set(after)))}"
    elif any(committed.read(path) != data for path, data in after.items()):
        fault = "a file differs from what the gates saw"
    fault = fault or sign_off_fault(message, email)
    if fault:
        raise Refused(f"the commit is not what was reviewed: {fault}")


def publish_locally(root: Path, branch: Branch) -> bool:
    """Give the commit its branch name in the clone, in one transaction; True when that changed anything.

    A branch that pinproof made may be replaced; one that a person went on with may not.

    Raises:
        Refused: the branch was changed by hand, or is checked out somewhere.
    """
    ref, made = f"refs/heads/{branch.name}", f"refs/pinproof/made/{branch.name}"
    old, known = _ref(root, ref), _ref(root, made)
    if old == branch.commit == known:
        return False
    if old is not None and old not in (known, branch.commit):
        raise Refused(
            f"the branch {branch.name} holds commits that pinproof did not make",
            hint=f"git branch -m {branch.name} my-work",
        )
    if old is not None and checked_out(root, branch.name):
        raise Refused(f"the branch {branch.name} is checked out", hint="git switch --detach")
    zero = "0" * len(branch.commit)
    lines = ["start", f"update {ref} {branch.commit} {old or zero}",
             f"update {made} {branch.commit} {known or zero}", "prepare", "commit", ""]  # fmt: skip
    try:
        git(["update-ref", "--stdin"], cwd=root, stdin="\n".join(lines).encode())
    except InputError as error:
        raise Refused(f"the branch {branch.name} changed while this ran: {error.message}") from error
    return True


def _ref(root: Path, ref: str) -> str | None:
    done = git(["rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"], cwd=root, check=False)
    return done.stdout.decode().strip() or None
