"""Register this machine as an ephemeral GPU runner for one job, and run it; standard library only.

  GITHUB_TOKEN=... register_runner.py OWNER/NAME sm90|sm100 RUNNER_DIR

RUNNER_DIR holds GitHub's runner (run.sh). The token (administration: write on this repository) asks for a
just-in-time configuration, which is good for one job; the job itself is not given the token.
https://docs.github.com/en/rest/actions/self-hosted-runners, "Create configuration for a just-in-time runner".
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

LABELS = ("self-hosted", "linux", "x64", "ephemeral")
_LIMIT_S = 30


class Refused(Exception):
    """The machine is not registered; nothing was started."""


def main(arguments: list[str]) -> int:
    """Register and run one job; the runner's own exit code, or 2 when it was not registered."""
    try:
        repository, gpu, folder = checked(arguments)
        config = jit_config(repository, gpu)
    except Refused as error:
        print(f"register_runner: {error}", file=sys.stderr)
        return 2
    env = {name: value for name, value in os.environ.items() if not re.search("TOKEN|SECRET|PASSWORD", name)}
    return subprocess.run(
        [folder / "run.sh", "--jitconfig", config], cwd=folder, env=env, check=False
    ).returncode


def checked(arguments: list[str]) -> tuple[str, str, Path]:
    """The three arguments.

    Raises:
        Refused: one is missing or is none.
    """
    if len(arguments) != 3:
        raise Refused("give OWNER/NAME, sm90 or sm100, and the folder of GitHub's runner")
    repository, gpu, folder = arguments[0], arguments[1], Path(arguments[2])
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", repository):
        raise Refused(f"{repository!r} is not a repository")
    if gpu not in ("sm90", "sm100"):
        raise Refused(f"{gpu!r} is neither sm90 nor sm100")
    if not os.access(folder / "run.sh", os.X_OK):
        raise Refused(f"{folder} holds no run.sh; unpack GitHub's runner there")
    if not os.environ.get("GITHUB_TOKEN"):
        raise Refused("GITHUB_TOKEN is not set")
    return repository, gpu, folder


def jit_config(repository: str, gpu: str) -> str:
    """A just-in-time configuration, good for one job.

    Raises:
        Refused: GitHub gives none; the message never holds the token.
    """
    api = (os.environ.get("GITHUB_API_URL") or "https://api.github.com").rstrip("/")
    if not re.match(r"https://|http://127\.0\.0\.1[:/]", api):
        raise Refused(f"{api} is not https")
    body = {
        "name": f"{socket.gethostname()[:40]}-{gpu}-{secrets.token_hex(4)}", "runner_group_id": 1,
        "labels": [*LABELS, gpu], "work_folder": "_work",
    }  # fmt: skip
    headers = {
        "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    url = f"{api}/repos/{repository}/actions/runners/generate-jitconfig"
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method="POST")  # noqa: S310 (checked above)
    try:
        with urllib.request.urlopen(request, timeout=_LIMIT_S) as reply:  # noqa: S310
            config = json.load(reply)["encoded_jit_config"]
    except urllib.error.HTTPError as error:
        raise Refused(
            f"GitHub answers {error.code}: the token needs administration: write on {repository}"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Refused(f"no configuration from GitHub ({type(error).__name__})") from error
    if not isinstance(config, str) or not re.fullmatch(r"[A-Za-z0-9+/=_-]+", config):
        raise Refused("GitHub's configuration is not what its documentation says")
    return config


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
