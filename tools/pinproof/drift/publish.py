"""Report a look: one issue, opened or updated, then the state saved on a branch of the repository."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec

from pinproof.drift.findings import Findings
from pinproof.drift.github import Repository
from pinproof.drift.issue import MARK, body, title
from pinproof.drift.state import State, decode_state, encode_state
from pinproof.errors import CannotCheck

LABEL = "drift-watch"
# A branch of its own, so that the default branch can stay protected.
BRANCH = "drift-state"
STATE_PATH = ".github/drift-state.json"
# The account that a workflow's token acts as. Issues of anyone else are never edited, mark or not.
BOT = "github-actions[bot]"


class _Content(msgspec.Struct):
    content: str
    sha: str


def read_state(repository: Repository) -> State | None:
    """The state on the branch, None before the first report.

    Raises:
        CannotCheck: GitHub cannot be reached.
        InputError: the file there is no state.
    """
    found = _content(repository)
    return None if found is None else decode_state(_bytes(found), f"{BRANCH}:{STATE_PATH}")


def publish(repository: Repository, findings: Findings, author: str = BOT) -> str:
    """Report the findings, then remember what was seen: a run that breaks off in between reports again,
    and the issue does not change by that.

    Args:
        repository: where the issue and the state are.
        findings: a look with something new in it.
        author: the account whose open issue is updated.

    Returns:
        The address of the issue.

    Raises:
        CannotCheck: GitHub cannot be reached or refuses.
    """
    try:
        url = _report(repository, findings, author)
        _save(repository, findings.state)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise CannotCheck(
            f"GitHub's answer is not what its API describes ({type(error).__name__})",
            hint="is GITHUB_API_URL the right one?",
        ) from error
    return url


def _report(repository: Repository, findings: Findings, author: str) -> str:
    issue = _open_issue(repository, author)
    if issue is None:
        made = repository.call("POST", "/issues", {
            "title": title(findings), "body": body(findings), "labels": [LABEL],
        })  # fmt: skip
        return str(made["html_url"])
    before = issue.get("body") or ""
    after = body(findings, before)
    if after != before:
        number = int(issue["number"])
        repository.call("PATCH", f"/issues/{number}", {"title": title(findings), "body": after})
        # an edited body notifies nobody
        repository.call("POST", f"/issues/{number}/comments", {"body": f"Updated. {title(findings)}"})
    return str(issue["html_url"])


def _open_issue(repository: Repository, author: str) -> dict[str, Any] | None:
    """The watch's own open issue: its label, its mark, and its author, for anyone can write a mark."""
    found = repository.call("GET", "/issues", state="open", labels=LABEL, per_page=100)
    mine = [
        issue for issue in found or []
        if (issue.get("user") or {}).get("login") == author
        and MARK in (issue.get("body") or "") and "pull_request" not in issue
    ]  # fmt: skip
    return min(mine, key=lambda issue: int(issue["number"])) if mine else None


def _save(repository: Repository, state: State) -> None:
    found = _content(repository)
    data = encode_state(state)
    if found is not None and _bytes(found) == data:
        return
    if found is None:
        _make_branch(repository)
        found = _content(repository)
    change: dict[str, Any] = {
        "message": f"drift watch: {state.engine} {state.version}",
        "content": base64.b64encode(data).decode(), "branch": BRANCH,
    }  # fmt: skip
    if found is not None:
        change["sha"] = found.sha
    repository.call("PUT", f"/contents/{STATE_PATH}", change)


def _make_branch(repository: Repository) -> None:
    if repository.call("GET", f"/git/ref/heads/{BRANCH}") is not None:
        return
    default = (repository.call("GET", "") or {}).get("default_branch", "main")
    head = repository.call("GET", f"/git/ref/heads/{default}")
    if head is None:
        raise CannotCheck(f"{repository.name} has no branch {default}")
    repository.call("POST", "/git/refs", {"ref": f"refs/heads/{BRANCH}", "sha": head["object"]["sha"]})


def _content(repository: Repository) -> _Content | None:
    found = repository.call("GET", f"/contents/{STATE_PATH}", ref=BRANCH)
    if found is None:
        return None
    try:
        return msgspec.convert(found, _Content)
    except msgspec.ValidationError:
        raise CannotCheck(f"{BRANCH}:{STATE_PATH} is not a file") from None


def _bytes(found: _Content) -> bytes:
    try:
        return base64.b64decode(found.content)
    except binascii.Error:
        raise CannotCheck(f"{BRANCH}:{STATE_PATH} arrived damaged") from None
