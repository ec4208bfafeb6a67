"""Where the GitHub token comes from, and how it is kept out of every text."""

from __future__ import annotations

import os
import subprocess
from urllib.parse import urlsplit

PUBLIC_API = "https://api.github.com"


def api_url() -> str:
    """The REST API to talk to: $GITHUB_API_URL (as GitHub Actions sets it), else GitHub's own."""
    return (os.environ.get("GITHUB_API_URL") or PUBLIC_API).rstrip("/")


def graphql_url() -> str:
    """The GraphQL API that belongs to it: $GITHUB_GRAPHQL_URL, else beside the REST API."""
    return os.environ.get("GITHUB_GRAPHQL_URL") or f"{api_url()}/graphql"


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
