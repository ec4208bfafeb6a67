"""A pull request or issue as GitHub's two APIs describe it, read into one record."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Annotated, Any, Literal

import msgspec

from pinproof.duplicates import tokens
from pinproof.duplicates.history import Commit

Kind = Literal["pr", "issue"]
Number = Annotated[int, msgspec.Meta(ge=1, lt=2**53)]
Moment = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]


class Pull(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request (or an issue, which has no files).

    `state` is open, closed or merged; times are as GitHub writes them (ISO 8601, UTC);
    `files_total` is None where the files were not told; `head` is the last commit, `base` the branch that it
    is meant for, `merge` the commit that merged it. `undoes` is what it takes back: "#12" or a commit.
    """

    number: Number
    kind: Kind
    state: str
    title: str
    body: str
    author: str
    created: Moment
    updated: Moment
    closed: Moment | None
    head: str | None
    base: str = ""
    draft: bool = False
    merge: str | None = None
    undoes: frozenset[str] = frozenset()
    files: tuple[str, ...] = ()
    files_total: int | None = None
    closes: frozenset[Number] = frozenset()
    mentions: frozenset[Number] = frozenset()
    code: frozenset[str] = frozenset()


def from_graphql(node: dict[str, Any], repo: str) -> Pull:
    """A PullRequest or Issue node of the GraphQL API."""
    kind: Kind = "pr" if node["__typename"] == "PullRequest" else "issue"
    files = node.get("files") or {}
    state: str = node.get("state") or node["issueState"]
    linked = {item["number"] for item in _nodes(node.get("closingIssuesReferences"))}
    return _pull(
        node["number"], kind, state.lower(), node["title"], node["body"] or "", repo,
        author=(node.get("author") or {}).get("login", ""), created=node["createdAt"],
        updated=node["updatedAt"], closed=node.get("closedAt"), head=node.get("headRefOid"),
        branch=node.get("headRefName") or "", files=tuple(whole(item["path"]) for item in _nodes(files)),
        files_total=files.get("totalCount"), linked=linked, base=node.get("baseRefName") or "",
        draft=bool(node.get("isDraft")), merge=(node.get("mergeCommit") or {}).get("oid"),
    )  # fmt: skip


def from_rest(item: dict[str, Any], repo: str) -> Pull:
    """An item of the REST API's list of pull requests or of its search."""
    details = item.get("pull_request") or {}
    kind: Kind = "pr" if "head" in item or details else "issue"
    merged = item.get("merged_at") or details.get("merged_at")
    head = item.get("head") or {}
    return _pull(
        item["number"], kind, "merged" if merged else item["state"], item["title"], item.get("body") or "",
        repo, author=(item.get("user") or {}).get("login", ""), created=item["created_at"],
        updated=item["updated_at"], closed=item.get("closed_at"), head=head.get("sha") or "",
        branch=head.get("ref") or "", files=(), files_total=None, linked=set(),
        base=(item.get("base") or {}).get("ref") or "", draft=bool(item.get("draft")),
        merge=item.get("merge_commit_sha") if merged else None,
    )  # fmt: skip


def from_commit(
    number: int, state: str, title: str, commit: Commit, repo: str, *, head: str, base: str = "",
    merge: str | None = None, last: Commit | None = None,
) -> Pull:  # fmt: skip
    """A pull request as its squash commit, or its first commit and the `last`, tell it."""
    ended = _iso((last or commit).committed)
    return _pull(
        number, "pr", state, title, commit.body, repo, author=commit.author, created=_iso(commit.authored),
        updated=ended, closed=ended, head=head, branch="", files=(), files_total=None, linked=set(),
        base=base, draft=False, merge=merge,
    )  # fmt: skip


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _nodes(connection: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [node for node in (connection or {}).get("nodes") or [] if node]


def whole(text: str) -> str:
    """Text that every database and terminal takes: JSON can carry half a surrogate pair, and NUL."""
    return text[: tokens.LONGEST_TEXT].encode("utf-8", "replace").decode().replace("\0", " ")


def _pull(
    number: int, kind: Kind, state: str, title: str, body: str, repo: str, *, author: str, created: str,
    updated: str, closed: str | None, head: str | None, branch: str, files: tuple[str, ...],
    files_total: int | None, linked: set[int], base: str, draft: bool, merge: str | None,
) -> Pull:  # fmt: skip
    title, body, branch = whole(title), whole(body), whole(branch)
    text = f"{title}\n\n{body}"
    named = tokens.references(text, repo)
    code = tokens.names_in_prose(text) | tokens.compounds(text) | tokens.pinned_values(text)
    code |= {name.lower() for name, _ in tokens.errors(body)}
    code |= tokens.names_in_prose(branch.replace("/", " "))
    found = Pull(
        number=number, kind=kind, state=state, title=title[:400], body=body,
        author=whole(author), created=created, updated=updated, closed=closed,
        head=None if head is None else whole(head), base=whole(base), draft=draft, merge=merge,
        undoes=tokens.undone(title, body, repo), files=files,
        files_total=files_total, closes=frozenset(named.closes | linked),
        mentions=frozenset((named.mentions | linked) - {number}), code=frozenset(sorted(code)[:600]),
    )  # fmt: skip
    # The server's values may be of any type; what does not fit raises a ValueError here.
    return msgspec.convert(msgspec.structs.asdict(found), Pull)
