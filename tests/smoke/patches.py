"""Patches made in a test: one file, from one text to another."""

from __future__ import annotations

import difflib

from pinproof.patchset.patchfile import Patch, parse_patch

HEAD = """From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: A Person <person@example.org>
Date: Tue, 1 Dec 2026 00:00:00 +0000
Subject: [PATCH] Change something for a test

This is a change that a test makes, for the reason that it needs one.

Upstream-Status: Pending
{fields}Last-Update: 2026-12-01

diff --git a/{path} b/{path}
index 1111111111..2222222222 100644
"""


def patch_between(path: str, before: str, after: str, *, probe: str | None = None) -> Patch:
    """A patch that turns one text of a file into another, naming a probe or none."""
    fields = f"Probe: {probe}\n" if probe else ""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    text = HEAD.format(path=path, fields=fields) + "".join(lines)
    return parse_patch(text.encode(), "0009-a-test.patch")
