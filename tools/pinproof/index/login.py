"""Who to be at which host: credentials of the settings, netrc, and, after a 401, a keyring."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from requests.auth import AuthBase, HTTPBasicAuth

if TYPE_CHECKING:
    import requests

    from pinproof.index.settings import Settings

Login = tuple[str, str]
_KEYRING_S = 30


class IndexAuth(AuthBase):
    """Basic authentication, host by host: what one host is told is never told to another."""

    def __init__(self, settings: Settings) -> None:
        self._keyring = settings.keyring
        self._users: dict[str, str] = {}
        self._logins: dict[str, Login | None] = {}
        for place in settings.places():
            if place.user is not None:
                self._users.setdefault(_origin(place.url), place.user)
            if place.password is not None:
                self._logins.setdefault(_origin(place.url), (place.user or "", place.password))

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add what is known about the request's host."""
        url = request.url or ""
        login = self._logins.get(_origin(url)) or self._from_url_or_netrc(url)
        if login is not None:
            return _basic(request, login)
        user = self._users.get(_origin(url))
        if user is not None and (asked := self._ask(url, user)) is not None:
            return _basic(request, asked)
        if user is not None:  # a token in the user's place, as some hosts take it
            request = _basic(request, (user, ""))
        if self._keyring != "disabled":
            request.hooks["response"].append(self._after_401)
        return request

    def _from_url_or_netrc(self, url: str) -> Login | None:
        from requests.utils import get_auth_from_url, get_netrc_auth

        login = get_auth_from_url(url)
        return login if any(login) else get_netrc_auth(url)

    def _after_401(self, reply: requests.Response, **options: Any) -> requests.Response:
        """Ask the keyring once for this host, and send the request again with what it knows."""
        url = reply.request.url or ""
        if reply.status_code != 401:
            return reply
        login = self._ask(url, self._users.get(_origin(url)))
        if login is None:
            return reply
        reply.close()
        again = _basic(reply.request.copy(), login)
        sent: requests.Response = reply.connection.send(again, **options)
        sent.history.append(reply)
        sent.request = again
        return sent

    def _ask(self, url: str, user: str | None) -> Login | None:
        origin = _origin(url)
        if origin not in self._logins:
            self._logins[origin] = from_keyring(url, user, self._keyring)
        return self._logins[origin]


def _basic(request: requests.PreparedRequest, login: Login) -> requests.PreparedRequest:
    HTTPBasicAuth(*login)(request)
    return request


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}"


def from_keyring(url: str, user: str | None, provider: str) -> Login | None:
    """What a keyring knows about a URL, else about its host; None where there is none or it knows nothing.

    Args:
        url: the URL that asked for a login.
        user: the name to log in with, when that is known.
        provider: as pip's and uv's --keyring-provider: disabled, import, subprocess or auto.
    """
    services = (url, urlsplit(url).netloc)
    if provider in ("import", "auto"):
        for service in services:
            if (login := _imported(service, user)) is not None:
                return login
    if provider in ("subprocess", "auto"):
        for service in services:
            if (login := _by_program(service, user)) is not None:
                return login
    return None


def _imported(service: str, user: str | None) -> Login | None:
    try:
        import keyring  # type: ignore[import-not-found, unused-ignore]

        found = keyring.get_credential(service, user)
    except Exception:  # not installed, locked, or a backend of any make that fails
        return None
    return None if found is None else (found.username, found.password)


def _by_program(service: str, user: str | None) -> Login | None:
    """`keyring get`, as pip and uv run it; without a user name its newer `--mode creds` gives both."""
    command = ["keyring", "get", service, user] if user else ["keyring", "--mode", "creds", "get", service]
    try:
        done = subprocess.run(
            command, capture_output=True, check=False, timeout=_KEYRING_S, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.decode(errors="replace").splitlines()
    if done.returncode or not lines:
        return None
    if user:
        return user, lines[0]
    return (lines[0], lines[1]) if len(lines) > 1 else None
