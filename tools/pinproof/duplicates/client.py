"""The GitHub client: githubkit with bounded retries, counted requests and errors that tell what to do."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, NoReturn

from pinproof.console import note
from pinproof.duplicates.auth import without_token
from pinproof.errors import CannotCheck, InputError

if TYPE_CHECKING:
    from githubkit import GitHub
    from githubkit.exception import GitHubException, RequestFailed
    from githubkit.response import Response
    from githubkit.retry import RetryOption

# The longest GitHub may ask us to wait before we stop and keep what we have; a primary limit resets
# within the hour, a secondary one within a minute or so.
PATIENCE = timedelta(seconds=90)
# A secondary limit that names no time asks for "at least one minute", and for longer each time.
_SECONDARY = (timedelta(seconds=60), timedelta(seconds=120), timedelta(seconds=240))
_TRIES = 4
_TIMEOUT_S = 30.0


class Stopped(CannotCheck):
    """GitHub cannot be asked further for now; what was fetched is kept."""


class TooHeavy(Exception):
    """GitHub gave up on a query (502, 504, or its own time limit): ask for less."""


class BadCursor(Exception):
    """The place in a list that we remembered is no longer known."""


@contextlib.contextmanager
def as_described() -> Iterator[None]:
    """Around reading an answer: one of another shape than GitHub's API describes is a stop, not a crash.

    Raises:
        Stopped: a field is missing, null or of another type, or the text nests too deep to read.
    """
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise Stopped(
            f"GitHub's answer is not what its API describes ({type(error).__name__})",
            hint="is GITHUB_API_URL the right one?",
        ) from error


class Client:
    """Talks to one GitHub.

    `requests` counts every HTTP request sent, repeated ones included; `cost` adds up the points that
    GraphQL queries took from the hourly budget.
    """

    def __init__(self, api: str, graphql: str, token: str | None) -> None:
        self.requests = 0
        self.cost = 0
        self.authenticated = token is not None
        self._graphql_url = graphql
        self._token = token
        self._stack = contextlib.ExitStack()
        self._github = self._connect(api)

    def _connect(self, api: str) -> GitHub[Any]:
        from githubkit import GitHub, TokenAuthStrategy, UnauthAuthStrategy

        def count(_request: object) -> None:
            self.requests += 1

        # http_cache=False: githubkit's cache would keep whole answers in a store of its own
        auth = TokenAuthStrategy(self._token) if self._token else UnauthAuthStrategy()
        github = GitHub(
            auth, base_url=api, user_agent="pinproof", timeout=_TIMEOUT_S, http_cache=False,
            event_hooks={"request": [count]}, auto_retry=_whether_to_retry,
        )  # fmt: skip
        # one connection for the whole scan; close() ends it
        self._stack.enter_context(github)
        return github

    def close(self) -> None:
        """Close the connections."""
        self._stack.close()

    def rest(self, path: str, **params: str | int) -> tuple[Any, bool]:
        """GET a path of the REST API.

        Returns:
            The decoded answer, and whether a further page follows.

        Raises:
            Stopped: a rate limit, an outage, a missing right.
            InputError: it does not exist.
        """
        response = self._send("GET", path, params=params)
        return self._decoded(response), 'rel="next"' in response.headers.get("link", "")

    def graphql(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        """Run a GraphQL query; parts that do not exist are null in the answer.

        Raises:
            Stopped: a rate limit, an outage, a missing right.
            TooHeavy: GitHub gave up on the query.
            BadCursor: a cursor in the variables is no longer known.
        """
        for attempt in range(_TRIES):
            response = self._send("POST", self._graphql_url, json={"query": query, "variables": variables})
            answer = self._decoded(response)
            kinds = {str(error.get("type") or "") for error in answer.get("errors") or []}
            if not kinds & {"RATE_LIMITED", "RATE_LIMIT"}:
                break
            self._wait_for_reset(response, attempt)
        self._check(answer, kinds)
        data: dict[str, Any] = answer["data"]
        self.cost += (data.get("rateLimit") or {}).get("cost", 0)
        return data

    def _check(self, answer: dict[str, Any], kinds: set[str]) -> None:
        messages = " ".join(str(error.get("message")) for error in answer.get("errors") or [])
        if "INVALID_CURSOR_ARGUMENTS" in kinds or "cursor" in messages.lower():
            raise BadCursor
        if kinds & {"RESOURCE_LIMITS_EXCEEDED", "TIMEOUT"} or "Something went wrong" in messages:
            raise TooHeavy
        if answer.get("data") is None or kinds - {"NOT_FOUND"}:
            raise Stopped(f"GitHub refused the query: {self._safe(messages or 'no data')}")

    def _wait_for_reset(self, response: Response[Any], attempt: int) -> None:
        import time

        wait = timedelta(seconds=_seconds(response.headers.get("retry-after"), 1 + attempt**2))
        if "x-ratelimit-reset" in response.headers:
            at = _seconds(response.headers["x-ratelimit-reset"], 0)
            wait = datetime.fromtimestamp(at, timezone.utc) - datetime.now(timezone.utc)
        if wait > PATIENCE or attempt == _TRIES - 1:
            self._stop_for_limit(wait)
        time.sleep(max(wait.total_seconds(), 0.0))

    def _send(self, method: str, url: str, **request: Any) -> Response[Any]:
        from githubkit.exception import GitHubException

        from pinproof.index.settings import offline

        if offline():
            raise Stopped("offline: GitHub was not asked")
        try:
            return self._github.request(method, url, **request)
        except GitHubException as error:
            self._explain(error, url)
        except (ValueError, OverflowError):  # githubkit reads the limits' headers without looking at them
            raise Stopped("GitHub's answer has a header that cannot be read") from None

    def _decoded(self, response: Response[Any]) -> Any:
        try:
            return json.loads(response.content)
        except (ValueError, RecursionError) as error:
            raise Stopped("GitHub's answer is no JSON; is a proxy in between?") from error

    def _explain(self, error: GitHubException, url: str) -> NoReturn:
        """Turn the library's error into ours; its own text may hold addresses and headers."""
        from githubkit.exception import RateLimitExceeded, RequestFailed

        if isinstance(error, RateLimitExceeded):
            self._stop_for_limit(error.retry_after)
        if not isinstance(error, RequestFailed):
            raise Stopped(
                f"cannot reach GitHub ({type(error.__cause__ or error).__name__})",
                hint="check the network, or use what is indexed: --offline",
            ) from None
        self._explain_status(error, url)

    def _explain_status(self, error: RequestFailed, url: str) -> NoReturn:
        status = error.response.status_code
        if status == 401:
            raise Stopped(
                "GitHub does not accept the token", hint="gh auth login, or unset GITHUB_TOKEN"
            ) from None
        if status == 404:
            raise InputError(f"GitHub has no {self._safe(url)}, or the token may not see it") from None
        if status in (500, 502, 503, 504) and url == self._graphql_url:
            raise TooHeavy from None
        if status >= 500:
            raise Stopped(
                f"GitHub has trouble (status {status})", hint="run the same command again later"
            ) from None
        if _secondary(error):
            self._stop_for_limit(_SECONDARY[-1], "GitHub's secondary rate limit (too many requests at once)")
        said = self._safe(_said(error))
        why = f"status {status}: {said}" if said else f"status {status}"
        raise Stopped(f"GitHub refused {self._safe(url)} ({why})") from None

    def _stop_for_limit(self, wait: timedelta, what: str = "GitHub's rate limit") -> NoReturn:
        until = (datetime.now(timezone.utc) + wait).strftime("%H:%M UTC")
        more = "" if self.authenticated else "; with a token (gh auth login) the limit is far higher"
        raise Stopped(
            f"{what} is used up until {until}; what was fetched is kept",
            hint=f"run the same command again then{more}",
        ) from None

    def _safe(self, text: str) -> str:
        return without_token(text, self._token)[:300]


def _said(error: RequestFailed) -> str:
    """GitHub's own sentence on why it refused."""
    try:
        message = json.loads(error.response.content)["message"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return message if isinstance(message, str) else ""


def _secondary(error: RequestFailed) -> bool:
    """Whether it is the secondary limit, told by the text alone: no header has to come with it."""
    said = _said(error).lower()
    return error.response.status_code in (403, 429) and ("secondary rate" in said or "abuse" in said)


def _seconds(value: str | None, default: int) -> int:
    return int(value) if value and value.isdecimal() and len(value) < 12 else default


def _whether_to_retry(error: GitHubException, count: int) -> RetryOption:
    """Wait as told when that is short; try again after 5xx and cut connections; then give up.

    GraphQL answers 502 when a query takes too long: the same query would again, so once is enough.
    """
    from githubkit.exception import RateLimitExceeded, RequestError, RequestFailed
    from githubkit.retry import RetryOption

    if count >= _TRIES - 1:
        return RetryOption(False)
    if isinstance(error, RateLimitExceeded):
        if error.retry_after > PATIENCE:
            return RetryOption(False)
        note(f"GitHub asks to wait {error.retry_after.total_seconds():.0f} s")
        return RetryOption(True, error.retry_after)
    if isinstance(error, RequestFailed) and _secondary(error):
        note(f"GitHub asks to go slower; waiting {_SECONDARY[count].total_seconds():.0f} s")
        return RetryOption(True, _SECONDARY[count])
    if isinstance(error, RequestFailed):
        again = error.response.status_code >= 500 and (count < 1 or error.request.method == "GET")
        return RetryOption(again, timedelta(seconds=0.5 * 4**count))
    return RetryOption(isinstance(error, RequestError), timedelta(seconds=0.5 * 4**count))
