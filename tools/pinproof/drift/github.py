"""The few calls of GitHub's REST API that the watch needs, with errors that say what to do."""

from __future__ import annotations

import contextlib
import json
import os
import re
from typing import TYPE_CHECKING, Any

from pinproof.errors import CannotCheck, InputError
from pinproof.index.trouble import need_network

if TYPE_CHECKING:
    from githubkit import GitHub, TokenAuthStrategy

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
_TIMEOUT_S = 30.0


class Repository:
    """One repository on GitHub, as the token sees it; use it in a `with` statement.

    Args:
        name: OWNER/NAME.
        token: a token that may read contents, and write contents and issues where that is asked for.

    Raises:
        InputError: the name is not a repository name.
    """

    def __init__(self, name: str, token: str) -> None:
        from githubkit import GitHub, TokenAuthStrategy

        if not _REPOSITORY.fullmatch(name) or name.endswith(("/.", "/..")):
            raise InputError(f"{name!r} is not a repository", hint="write OWNER/NAME")
        need_network(f"{name} on GitHub was not asked")
        self.name = name
        api = os.environ.get("GITHUB_API_URL") or "https://api.github.com"
        self._github: GitHub[TokenAuthStrategy] = GitHub(
            TokenAuthStrategy(token),
            base_url=api,
            user_agent="pinproof",
            timeout=_TIMEOUT_S,
            http_cache=False,
        )

        self._open = contextlib.ExitStack()

    def __enter__(self) -> Repository:
        self._open.enter_context(self._github)  # one connection for all calls
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def call(self, method: str, path: str, body: dict[str, Any] | None = None, **params: str | int) -> Any:
        """Send one request below the repository's own address.

        Args:
            method: GET, POST, PATCH or PUT.
            path: what follows `/repos/OWNER/NAME`, empty or beginning with a slash.
            body: sent as JSON.
            params: the query.

        Returns:
            The decoded answer; None where GitHub says 404 to a GET.

        Raises:
            CannotCheck: GitHub cannot be reached or refuses; its message is shown, the token never is.
        """
        from githubkit.exception import GitHubException, RequestFailed

        extra: dict[str, Any] = {"params": params} if params else {}
        if body is not None:
            extra["json"] = body
        try:
            reply = self._github.request(method, f"/repos/{self.name}{path}", **extra)
            return json.loads(reply.content)
        except RequestFailed as error:
            status = error.response.status_code
            if status == 404 and method == "GET":
                return None
            raise CannotCheck(
                f"GitHub refused {method} {path or self.name} (status {status})", hint=_hint(status)
            ) from None
        except (GitHubException, ValueError, OverflowError, RecursionError) as error:
            reason = type(error.__cause__ or error).__name__
            raise CannotCheck(f"cannot talk to GitHub about {self.name} ({reason})") from None


def _hint(status: int) -> str | None:
    if status in (401, 403, 404):
        return "the token needs `contents: write` and `issues: write` on this repository"
    return "another run changed it in between: run again" if status in (409, 422) else None
