"""The questions put to GitHub: pages of pull requests, the searches, changed files."""

from __future__ import annotations

from typing import Any

import msgspec

from pinproof.duplicates.client import Client, as_described
from pinproof.duplicates.pulls import Pull, from_graphql, from_rest, whole
from pinproof.duplicates.tokens import references
from pinproof.errors import InputError

PAGE = 100
"""Pull requests a page: the most that GitHub gives."""
FIRST_PAGE = 25
"""The first page is small: GitHub ends a query after ten seconds, and pages with all files are heavy."""

_FILES_OF_A_PULL = 100

_PULL = """
  __typename number title body state isDraft createdAt updatedAt closedAt
  headRefName headRefOid baseRefName
  mergeCommit { oid }
  author { login }
  closingIssuesReferences(first: 10) { nodes { number } }
"""
# An alias, since the two types of `state` must not share a name in one selection.
_ISSUE = "__typename number title body issueState: state createdAt updatedAt closedAt author { login }"

_PAGE_QUERY = """
query ($owner: String!, $name: String!, $states: [PullRequestState!], $first: Int!, $after: String) {
  rateLimit { cost }
  repository(owner: $owner, name: $name) {
    pullRequests(
      states: $states, first: $first, after: $after, orderBy: {field: UPDATED_AT, direction: DESC}
    ) {
      totalCount
      pageInfo { endCursor hasNextPage }
      nodes { PULL FILES }
    }
  }
}
"""
_FILES = f"files(first: {_FILES_OF_A_PULL}) {{ totalCount nodes {{ path }} }}"


def page_query(*, files: bool) -> str:
    """The GraphQL query for a page of pull requests."""
    return _PAGE_QUERY.replace("PULL", _PULL).replace("FILES", _FILES if files else "")


STATES = {"open": ["OPEN"], "closed": ["CLOSED", "MERGED"]}


class Page(msgspec.Struct, frozen=True):
    """One page of a list ordered from the latest update on; `after` is None on the last page."""

    pulls: list[Pull]
    after: str | None
    total: int | None


class Issue(msgspec.Struct, frozen=True):
    """An issue or pull request that the patch names, and the numbers its comments name."""

    number: int
    title: str
    state: str
    comments: int
    named: tuple[int, ...]
    kind: str = "issue"


@as_described()
def graphql_page(
    client: Client, repo: str, which: str, after: str | None, size: int, *, files: bool = True
) -> Page:
    """A page of open or closed pull requests, `size` at most; without `files` where git tells them.

    Raises:
        Stopped, TooHeavy, BadCursor: see Client.graphql.
        InputError: there is no such repository.
    """
    owner, name = repo.split("/")
    variables = {"owner": owner, "name": name, "states": STATES[which], "first": size, "after": after}
    repository = client.graphql(page_query(files=files), variables)["repository"]
    if repository is None:
        raise InputError(f"GitHub has no repository {repo}, or the token may not see it")
    found = repository["pullRequests"]
    info = found["pageInfo"]
    pulls = [from_graphql(node, repo) for node in found["nodes"] if node]
    return Page(pulls, _cursor(info), int(found["totalCount"]))


def _cursor(info: dict[str, Any]) -> str | None:
    """Where the next page begins, None on the last one.

    Raises:
        ValueError: there is a next page, and no way to it: the list must not look read to its end.
    """
    if not info["hasNextPage"]:
        return None
    if not (isinstance(info["endCursor"], str) and info["endCursor"]):
        raise ValueError("a next page without a cursor")
    return info["endCursor"]


@as_described()
def rest_page(client: Client, repo: str, which: str, after: str | None, size: int) -> Page:
    """The same without a token: the REST list, which does not tell the files.

    Raises:
        Stopped, InputError: see Client.rest.
    """
    number = int(after or 1)
    items, more = client.rest(
        f"/repos/{repo}/pulls", state=which, sort="updated", direction="desc", per_page=size, page=number
    )
    return Page([from_rest(item, repo) for item in items], str(number + 1) if more else None, None)


@as_described()
def changed_files(client: Client, repo: str, number: int) -> tuple[list[tuple[str, str | None]], bool]:
    """The first hundred changed files of a pull request as (path, patch text or None when left out).

    Returns:
        The files, and whether these are all.
    """
    items, more = client.rest(f"/repos/{repo}/pulls/{number}/files", per_page=100)
    return [(whole(item["filename"]), item.get("patch")) for item in items], not more


def search_query(count: int, issues: int) -> str:
    """The GraphQL query for so many searches and views of issues (or pull requests) in one request."""
    names = ", ".join([f"$s{at}: String!" for at in range(count)] + [f"$i{at}: Int!" for at in range(issues)])
    searches = "".join(
        f"""
  s{at}: search(type: ISSUE, query: $s{at}, first: 20) {{
    issueCount
    nodes {{
      ... on PullRequest {{ {_PULL} files(first: {_FILES_OF_A_PULL}) {{ totalCount nodes {{ path }} }} }}
      ... on Issue {{ {_ISSUE} }}
    }}
  }}"""
        for at in range(count)
    )
    views = "".join(
        f"""
    i{at}: issueOrPullRequest(number: $i{at}) {{
      ... on Issue {{
        __typename number title issueState: state comments(last: 50) {{ totalCount nodes {{ body }} }}
      }}
      ... on PullRequest {{
        __typename number title state comments(last: 50) {{ totalCount nodes {{ body }} }}
      }}
    }}"""
        for at in range(issues)
    )
    return f"""
query ($owner: String!, $name: String!{", " + names if names else ""}) {{
  rateLimit {{ cost }}
  repository(owner: $owner, name: $name) {{
    pullRequests(states: OPEN) {{ totalCount }}{views}
  }}{searches}
}}
"""


@as_described()
def graphql_searches(
    client: Client, repo: str, searches: list[str], issues: list[int]
) -> tuple[list[tuple[int, list[Pull]]], list[Issue | None], int]:
    """Run searches and look at issues in one request.

    Returns:
        For each search its count and first hits; for each issue what it says, None where it does not
        exist; and how many pull requests are open.
    """
    owner, name = repo.split("/")
    variables: dict[str, Any] = {"owner": owner, "name": name}
    variables.update({f"s{at}": text for at, text in enumerate(searches)})
    variables.update({f"i{at}": number for at, number in enumerate(issues)})
    data = client.graphql(search_query(len(searches), len(issues)), variables)
    repository = data["repository"]
    if repository is None:
        raise InputError(f"GitHub has no repository {repo}, or the token may not see it")
    answers = [data[f"s{at}"] for at in range(len(searches))]
    found = [
        (int(answer["issueCount"]), [from_graphql(node, repo) for node in answer["nodes"] if node])
        for answer in answers
    ]
    views = [_issue(repository[f"i{at}"], repo) for at in range(len(issues))]
    return found, views, int(repository["pullRequests"]["totalCount"])


def _issue(node: dict[str, Any] | None, repo: str) -> Issue | None:
    if node is None:
        return None
    comments = [comment["body"] for comment in node["comments"]["nodes"] if comment]
    named = references("\n".join(body[:4000] for body in comments), repo).mentions
    return Issue(
        node["number"], node["title"], (node.get("state") or node["issueState"]).lower(),
        node["comments"]["totalCount"], tuple(sorted(named)),
        "pull request" if node["__typename"] == "PullRequest" else "issue",
    )  # fmt: skip


@as_described()
def rest_search(client: Client, repo: str, search: str) -> tuple[int, list[Pull]]:
    """One search without a token."""
    answer, _ = client.rest("/search/issues", q=search, per_page=20)
    return int(answer["total_count"]), [from_rest(item, repo) for item in answer["items"]]


@as_described()
def rest_issue(client: Client, repo: str, number: int) -> Issue | None:
    """One issue without a token, its comments counted but not read."""
    try:
        item, _ = client.rest(f"/repos/{repo}/issues/{number}")
    except InputError:
        return None
    kind = "pull request" if "pull_request" in item else "issue"
    return Issue(number, item["title"], item["state"], item.get("comments", 0), (), kind)
