"""Made pull requests in the words of GitHub's two APIs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tests.duplicates.synthetic import Made


def stamp(moment: datetime | None) -> str | None:
    """A time as GitHub writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None


def pull_node(made: Made) -> dict[str, Any]:
    """A PullRequest as GraphQL answers it."""
    return {
        "__typename": "PullRequest", "number": made.number, "title": made.title, "body": made.body,
        "state": made.state.upper(), "createdAt": stamp(made.created), "updatedAt": stamp(made.updated),
        "closedAt": stamp(made.closed), "headRefName": made.branch, "headRefOid": made.head,
        "isDraft": made.draft, "baseRefName": made.base,
        "mergeCommit": {"oid": made.merge} if made.merge else None,
        "author": {"__typename": "User", "login": made.author},
        "closingIssuesReferences": {"nodes": [{"number": number} for number in sorted(made.closes)]},
        "files": {
            "totalCount": len(made.patches), "nodes": [{"path": path} for path in list(made.patches)[:100]]
        },
    }  # fmt: skip


def pull_item(made: Made) -> dict[str, Any]:
    """A pull request as the REST list has it (the fields that matter here)."""
    return {
        "number": made.number, "title": made.title, "body": made.body,
        "state": "open" if made.state == "open" else "closed", "user": {"login": made.author},
        "created_at": stamp(made.created), "updated_at": stamp(made.updated), "closed_at": stamp(made.closed),
        "merged_at": stamp(made.closed) if made.state == "merged" else None,
        "head": {"sha": made.head, "ref": made.branch}, "base": {"ref": made.base}, "draft": made.draft,
        "merge_commit_sha": made.merge,
    }  # fmt: skip


def search_item(made: Made) -> dict[str, Any]:
    """The same as the REST search has it: without a head."""
    item = pull_item(made)
    del item["head"]
    item["pull_request"] = {"merged_at": item.pop("merged_at")}
    return item


def file_items(made: Made) -> list[dict[str, Any]]:
    """The changed files as the REST API lists them."""
    return [{"filename": path, "status": "modified", "patch": patch} for path, patch in made.patches.items()]
