"""The options of every command that say where packages come from, by pip's names, and --offline.

They are handed on as pip's and uv's own environment variables, so that pinproof and each program that it
starts (pre-commit installs its hooks with pip) follow the same answer.
"""

from __future__ import annotations

import argparse
import os


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the group; `--offline` is left to a command that has one of its own."""
    group = parser.add_argument_group(
        "package index", "default: as pip and uv are configured (docs/mirrors.md)"
    )
    group.add_argument("--index-url", metavar="URL", help="the index to use instead")
    group.add_argument(
        "--extra-index-url", action="append", metavar="URL", help="a further index (repeatable)"
    )
    group.add_argument("--find-links", action="append", metavar="PLACE", help="a folder or page with wheels")
    group.add_argument("--no-index", action="store_true", help="use no index, only --find-links")
    if "--offline" not in parser._option_string_actions:
        group.add_argument(
            "--offline",
            dest="no_network",
            action="store_true",
            help="send nothing to any host; use the cache",
        )


def adopt(args: argparse.Namespace) -> None:
    """Make the options this process's settings, and those of its children."""
    if args.index_url:
        _set(args.index_url, "PIP_INDEX_URL", "UV_DEFAULT_INDEX")
    if args.extra_index_url:
        _set(" ".join(args.extra_index_url), "PIP_EXTRA_INDEX_URL", "UV_INDEX")
        os.environ.pop("UV_EXTRA_INDEX_URL", None)
    if args.find_links:
        _set(" ".join(args.find_links), "PIP_FIND_LINKS", "UV_FIND_LINKS")
    if args.no_index:
        _set("1", "PIP_NO_INDEX", "UV_NO_INDEX")
    if getattr(args, "no_network", False):
        _set("1", "PINPROOF_OFFLINE", "UV_OFFLINE", "PIP_NO_INDEX", "HF_HUB_OFFLINE")


def _set(value: str, *names: str) -> None:
    os.environ.update(dict.fromkeys(names, value))
