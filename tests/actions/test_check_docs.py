"""The check of the documentation finds links, anchors and commands that lead nowhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPO

SCRIPT = REPO / "tools/ci/check_docs.py"


def check(root: Path, text: str) -> tuple[int, str]:
    (root / "docs").mkdir()
    (root / "docs/other page.md").write_text("# A title, with `code`\n")
    (root / "tools/pinproof/commands").mkdir(parents=True)
    (root / "tools/pinproof/commands/verdict.py").write_text("")
    (root / "tools/apply.sh").write_text("")
    (root / "docs/page.md").write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    done = subprocess.run([sys.executable, SCRIPT, str(root)], check=False, capture_output=True, text=True)
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    "text",
    [
        "[a](other%20page.md)", "[a](<other page.md#a-title-with-code>)", "[a](#here)\n\n## Here\n",
        "[a](https://example.org/x)", "```console\n$ pinproof verdict TREE\n$ tools/apply.sh TREE\n```\n",
        "```python\n[a](missing.md)\n```\n",
    ],
)  # fmt: skip
def test_what_leads_somewhere_is_fine(tmp_path: Path, text: str) -> None:
    assert check(tmp_path, text) == (0, "2 pages, 0 faults\n")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("\n[a](missing.md)", "docs/page.md:2: link to missing.md, which does not exist"),
        ("[a](<other page.md#nothing>)", "no such heading"),
        ("![a](missing.png)", "does not exist"),
        ("[a](http://example.org)", "is not https"),
        (
            "```console\n$ pinproof verdcit TREE\n```\n",
            "shows `$ pinproof verdcit`, and there is no such command",
        ),
        ("```sh\ntools/appply.sh TREE\n```\n", "no such command"),
    ],
)
def test_what_leads_nowhere_is_named_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    status, output = check(tmp_path, text)
    assert (status, says in output) == (1, True)
