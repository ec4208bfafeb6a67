"""Stop a release whose commit has not passed the checks: every `check` job of ci.yml must be green on it.

Given by the workflow: GITHUB_REPOSITORY, GITHUB_SHA, GITHUB_TOKEN (reads checks). Exit 0 when all are
green, 1 when one is not or is missing. https://docs.github.com/en/rest/checks/runs
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import yaml
from pinproof.drift.github import Repository
from pinproof.errors import PinproofError

_CI = Path(__file__).parents[2] / ".github/workflows/ci.yml"


def wanted() -> set[str]:
    """The names of the check runs that ci.yml makes: one for each entry of its job's matrix."""
    job = yaml.safe_load(_CI.read_text("utf-8"))["jobs"]["check"]
    return {
        job["name"].replace("${{ matrix.python }}", version)
        for version in job["strategy"]["matrix"]["python"]
    }


def main() -> int:
    """Look at the commit's check runs; say what is missing."""
    sha = os.environ["GITHUB_SHA"]
    if not re.fullmatch(r"[0-9a-f]{40}", sha):
        print("::error::GITHUB_SHA is not a commit")
        return 1
    try:
        with Repository(os.environ["GITHUB_REPOSITORY"], os.environ["GITHUB_TOKEN"]) as repository:
            answer = repository.call("GET", f"/commits/{sha}/check-runs", filter="latest", per_page=100)
    except PinproofError as error:
        print(f"::error::{error.message}")
        return 1
    # Anybody with write access could name a check run like this; only those of GitHub Actions count.
    green = {
        run["name"]
        for run in answer["check_runs"]
        if run["conclusion"] == "success" and run["app"]["slug"] == "github-actions"
    }
    missing = sorted(wanted() - green)
    for name in missing:
        print(f"::error::{name} has not passed on {sha}; push the commit to main, wait for ci, then tag it")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
