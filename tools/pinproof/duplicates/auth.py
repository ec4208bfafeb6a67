"""Where the GitHub token comes from, and how it is kept out of every text."""

from __future__ import annotations

import os
import subprocess
from urllib.parse import urlsplit

PUBLIC_API = "https://api.github.com"
PUBLIC_SERVER = "https://github.com"
_ENTERPRISE = "/api/v3"


def api_url() -> str:
    """The REST API to talk to.

    $GITHUB_API_URL (as GitHub Actions sets it), else that of $GH_HOST (as `gh` reads it), else GitHub's own.
    """
    if given := os.environ.get("GITHUB_API_URL"):
        return given.rstrip("/")
    host = os.environ.get("GH_HOST", "").strip()
    if not host or host == "github.com":
        return PUBLIC_API
    return f"https://api.{host}" if host.endswith(".ghe.com") else f"https://{host}{_ENTERPRISE}"


def graphql_url() -> str:
    """The GraphQL API of the same server: $GITHUB_GRAPHQL_URL, else /api/graphql beside /api/v3."""
    if given := os.environ.get("GITHUB_GRAPHQL_URL"):
        return given
    api = api_url()
    return f"{api.removesuffix('/v3')}/graphql" if api.endswith(_ENTERPRISE) else f"{api}/graphql"


def server_url() -> str:
    """Where git fetches from: $GITHUB_SERVER_URL, else the server that the API belongs to."""
    if given := os.environ.get("GITHUB_SERVER_URL"):
        return given.rstrip("/")
    api = urlsplit(api_url())
    if api_url() == PUBLIC_API:
        return PUBLIC_SERVER
    return f"{api.scheme}://{api.netloc.removeprefix('api.') if api.scheme == 'https' else api.netloc}"


def find_token() -> str | None:
    """GITHUB_TOKEN, GH_TOKEN, or what `gh auth token` prints; None without any of them."""
    for name in ("GITHUB_TOKEN", "GH_TOKEN"):
        if value := os.environ.get(name, "").strip():
            return value
    host = urlsplit(api_url()).hostname or ""
    try:
        done = subprocess.run(
            ["gh", "auth", "token", "--hostname", host.removeprefix("api.")],
            capture_output=True, check=False, timeout=10, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace").strip() or None if done.returncode == 0 else None


def without_token(text: str, token: str | None) -> str:
    """`text` with the token masked, should a server have echoed it."""
    return text.replace(token, "[token]") if token else text
