"""Cut what the scan uses out of GitHub's published API descriptions, for tests/data.

Run it as `python -m tests.duplicates.make_descriptions SCHEMA.graphql OPENAPI.json`, with the files of the
npm packages @octokit/graphql-schema and @octokit/openapi (both MIT).
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from graphql import GraphQLSchema, build_schema, print_type

DATA = Path(__file__).parent.parent / "data"
GRAPHQL = DATA / "github-subset.graphql"
REST = DATA / "github-rest-subset.json"

# What is kept of the schema: types with their fields. Fields keep their arguments and types.
FIELDS = {
    "RateLimit": ("cost", "limit", "remaining", "resetAt"),
    "Repository": ("pullRequests", "issueOrPullRequest"),
    "PullRequestConnection": ("totalCount", "pageInfo", "nodes"),
    "PageInfo": ("endCursor", "hasNextPage"),
    "PullRequest": ("number", "title", "body", "state", "createdAt", "updatedAt", "closedAt", "headRefName",
                    "headRefOid", "baseRefName", "isDraft", "mergeCommit", "author", "comments",
                    "closingIssuesReferences", "files"),
    "Commit": ("oid",),
    "Issue": ("number", "title", "body", "state", "createdAt", "updatedAt", "closedAt", "author", "comments"),
    "IssueConnection": ("totalCount", "nodes"),
    "IssueCommentConnection": ("totalCount", "nodes"),
    "IssueComment": ("body",),
    "PullRequestChangedFileConnection": ("totalCount", "nodes"),
    "PullRequestChangedFile": ("path",),
    "SearchResultItemConnection": ("issueCount", "nodes"),
    "Actor": ("login",),
    "User": ("login",),
}  # fmt: skip
WHOLE = ("PullRequestState", "IssueState", "IssueOrder", "IssueOrderField", "OrderDirection", "SearchType",
         "DateTime", "GitObjectID", "IssueCommentOrder", "IssueCommentOrderField")  # fmt: skip
UNION = "union SearchResultItem = Issue | PullRequest\n\nunion IssueOrPullRequest = Issue | PullRequest"
PATHS = ("/repos/{owner}/{repo}/pulls", "/repos/{owner}/{repo}/pulls/{pull_number}/files", "/search/issues",
         "/repos/{owner}/{repo}/issues/{issue_number}")  # fmt: skip


def graphql_subset(schema: GraphQLSchema) -> str:
    """The kept part of GitHub's schema, as a schema of its own."""
    parts = [
        "type Query {\n  rateLimit(dryRun: Boolean = false): RateLimit\n"
        f"  repository({_arguments(schema, 'Query', 'repository')}): Repository\n"
        f"  search({_arguments(schema, 'Query', 'search')}): SearchResultItemConnection!\n}}"
    ]
    for name, fields in FIELDS.items():
        kind = "interface" if name == "Actor" else "type"
        implements = " implements Actor" if name == "User" else ""
        lines = [f"  {field}{_field(schema, name, field)}" for field in fields]
        parts.append(f"{kind} {name}{implements} {{\n" + "\n".join(lines) + "\n}")
    parts += [_without_words(print_type(schema.type_map[name])) for name in WHOLE if name in schema.type_map]
    return "\n\n".join([*parts, UNION]) + "\n"


def _field(schema: GraphQLSchema, name: str, field: str) -> str:
    arguments = _arguments(schema, name, field)
    return (f"({arguments})" if arguments else "") + f": {schema.type_map[name].fields[field].type}"  # type: ignore[attr-defined]


def _arguments(schema: GraphQLSchema, name: str, field: str) -> str:
    known = schema.type_map[name].fields[field].args  # type: ignore[attr-defined]
    return ", ".join(
        f"{key}: {value.type}" for key, value in known.items() if key != "orderBy" or name == "Repository"
    )


def _without_words(text: str) -> str:
    """A type without its descriptions."""
    bare = re.sub(r'"""(?s:.*?)"""', "", text)
    return "\n".join(line for line in bare.split("\n") if line.strip())


def rest_subset(description: dict[str, Any]) -> dict[str, Any]:
    """For each path the parameters that GitHub documents: name, place, whether required, type."""
    table: dict[str, Any] = {"version": description["info"]["version"], "paths": {}}
    for path in PATHS:
        parameters = [
            _resolved(item, description) for item in description["paths"][path]["get"]["parameters"]
        ]
        table["paths"][path] = [
            {"name": item["name"], "in": item["in"], "required": item.get("required", False),
             "schema": {key: value for key, value in item["schema"].items() if key in ("type", "enum")}}
            for item in parameters
        ]  # fmt: skip
    return table


def _resolved(item: dict[str, Any], description: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in item:
        return item
    found: dict[str, Any] = description["components"]["parameters"][item["$ref"].rsplit("/", 1)[1]]
    return found


def main(schema: Path, openapi: Path) -> None:
    """Write both files."""
    GRAPHQL.write_text(graphql_subset(build_schema(schema.read_text(), assume_valid=True)))
    REST.write_text(json.dumps(rest_subset(json.loads(openapi.read_text())), indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
