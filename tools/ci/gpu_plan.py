"""Decide which commit may run on the GPU machines, and on which GPUs and vLLM releases.

Runs on a hosted machine before any GPU is asked for; needs Python's standard library and git only. It reads
EVENT_NAME, REF, SHA (what GitHub says of the run) and INPUT_SHA, INPUT_GPU, INPUT_RELEASE (what a person
typed), and appends `sha` and `matrix` to $GITHUB_OUTPUT. Anything it does not know is refused: exit 2.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

_MATRIX = Path(__file__).parents[2] / ".github/gpu-matrix.json"
# The merge queue runs on a ref of its own, which only GitHub writes.
_QUEUE_REF = re.compile(r"refs/heads/gh-readonly-queue/[\w./-]{1,200}")


class Refused(Exception):
    """This must not run on a GPU machine."""


def main() -> int:
    """Write the plan; 0 when there is one, 2 when it is refused."""
    try:
        sha = allowed_sha(os.environ)
        matrix = chosen(os.environ.get("INPUT_GPU", "all"), os.environ.get("INPUT_RELEASE", "all"))
    except Refused as error:
        print(f"::error::{' '.join(str(error).split())}")
        return 2
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as output:
        output.write(f"sha={sha}\nmatrix={json.dumps(matrix)}\n")
    print(f"{sha} on {len(matrix['include'])} machines")
    return 0


def allowed_sha(env: os._Environ[str] | dict[str, str]) -> str:
    """The commit to run.

    GitHub serves the commits of every fork through the parent repository, so 40 hex digits alone prove
    nothing: a typed commit must be on the default branch, where only reviewed work lands.

    Raises:
        Refused: another event, no full commit, or one that is not on the default branch.
    """
    event, head = env.get("EVENT_NAME", ""), env.get("SHA", "")
    if event == "merge_group":
        if not _QUEUE_REF.fullmatch(env.get("REF", "")):
            raise Refused("a merge group outside the merge queue's own branches")
        return _full(head)
    if event != "workflow_dispatch":
        raise Refused("only the merge queue and a person's own start run on GPU machines")
    wanted = _full(env.get("INPUT_SHA", ""))
    branch = f"origin/{env.get('DEFAULT_BRANCH', '')}"
    inside = subprocess.run(
        ["git", "merge-base", "--is-ancestor", "--end-of-options", wanted, branch],
        check=False, capture_output=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if inside.returncode != 0:
        raise Refused(f"{wanted} is not on the default branch: merge it first, or use the merge queue")
    return wanted


def _full(text: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{40}", text):
        raise Refused("the commit must be given as its 40 hex digits")
    return text


def chosen(gpu: str, release: str) -> dict[str, list[dict[str, str]]]:
    """The machines to run on: one entry for each chosen GPU and vLLM release of gpu-matrix.json.

    Raises:
        Refused: the file names no such GPU or release.
    """
    known = json.loads(_MATRIX.read_text("utf-8"))
    gpus = known["gpus"] if gpu == "all" else [name for name in known["gpus"] if name == gpu]
    releases = known["releases"] if release == "all" else [r for r in known["releases"] if r == release]
    if not gpus or not releases:
        raise Refused("no such GPU or release; .github/gpu-matrix.json has those there are")
    return {"include": [{"gpu": g, "release": r} for g in gpus for r in releases]}


if __name__ == "__main__":
    sys.exit(main())
