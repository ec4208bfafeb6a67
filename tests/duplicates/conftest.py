"""A small repository on a local GitHub, and a client that never waits in earnest."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest
from pinproof.patchset.patchfile import Patch, parse_patch

from tests.duplicates.facts import load_known
from tests.duplicates.github_server import SECRET, GitHubServer, serve
from tests.duplicates.synthetic import Made, build

SMALL = build(load_known(), total=420, opened=120, near_misses=2)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were to be waited for, instead of the waiting."""
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    return waited


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, waits: list[float]) -> Iterator[GitHubServer]:
    """A GitHub with 420 pull requests, to which the scan is pointed with a token."""
    empty = tmp_path / "empty-path"
    empty.mkdir()
    monkeypatch.setenv("PATH", f"{empty}:/usr/bin:/bin")
    with serve({number: msgspec.structs.replace(made) for number, made in SMALL.pulls.items()}) as running:
        monkeypatch.setenv("GITHUB_API_URL", running.url)
        monkeypatch.setenv("GITHUB_SERVER_URL", f"file://{tmp_path}/no-server")
        monkeypatch.delenv("GITHUB_GRAPHQL_URL", raising=False)
        monkeypatch.delenv("GH_TOKEN", raising=False)
        monkeypatch.setenv("GITHUB_TOKEN", SECRET)
        yield running


def made_pull(number: int, **changes: object) -> Made:
    """An open pull request with no likeness to any other, altered as asked."""
    day = datetime(2026, 8, 10, tzinfo=timezone.utc)
    made = Made(
        number=number, title="[Doc] Describe the flux capacitor", body="Words.", state="open", created=day,
        updated=day + timedelta(days=1), closed=None, author="someone", branch="docs",
        patches={"docs/flux.md": "@@ -1,1 +1,2 @@\n flux\n+capacitor of the flux"}, closes=set(),
    )  # fmt: skip
    return msgspec.structs.replace(made, **changes)


def patch_text(
    path: str, removed: list[str], added: list[str], *, at: int = 100, context: str = "ctx"
) -> str:
    """A one-hunk patch as GitHub's file list shows it."""
    lines = [f" {context}", *(f"-{line}" for line in removed), *(f"+{line}" for line in added), " end"]
    return f"@@ -{at},{len(removed) + 2} +{at},{len(added) + 2} @@\n" + "\n".join(lines)


def patch_of(
    subject: str,
    prose: str,
    path: str,
    removed: list[str],
    added: list[str],
    *,
    date: str = "Mon, 10 Aug 2026",
) -> Patch:
    """A parsed patch file with one hunk."""
    text = (
        "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"
        f"From: A <a@example.org>\nDate: {date} 00:00:00 +0000\nSubject: [PATCH] {subject}\n\n{prose}\n\n"
        f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{patch_text(path, removed, added)}\n"
    )
    return parse_patch(text.encode(), "0009-test.patch")


KIMI = "vllm/models/kimi_k3/nvidia/model.py"
RENAME = (
    ["            activation_beta=self.activation_beta,",
     "            activation_linear_beta=self.activation_linear_beta,"],
    ["            situ_beta=self.activation_beta,",
     "            situ_linear_beta=self.activation_linear_beta,"],
)  # fmt: skip


def kimi_pull(number: int = 52500, **changes: object) -> Made:
    """A pull request that makes the change of patch 0001."""
    facts: dict[str, object] = {
        "title": "[Bugfix] Rename SiTU kwargs of Kimi-K3 MegaMoE", "body": "TypeError on `fp8_fp4_mega_moe`",
        "patches": {KIMI: patch_text(KIMI, *RENAME, at=470, context="another base")},
    }  # fmt: skip
    return made_pull(number, **{**facts, **changes})
