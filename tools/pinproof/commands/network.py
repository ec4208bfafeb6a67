"""The options of every command that say where packages come from, by pip's names, and --offline.

They are handed on as pip's and uv's own environment variables, so that pinproof and each program that it
starts (pre-commit installs its hooks with pip) follow the same answer.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator


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
    group.add_argument(
        "--verify",
        action="store_true",
        help="download every wheel that is read once, whole, and hold it against the index's hash",
    )
    if "--offline" not in parser._option_string_actions:
        group.add_argument(
            "--offline",
            dest="no_network",
            action="store_true",
            help="send nothing to any host; use the cache",
        )


@contextlib.contextmanager
def adopted(args: argparse.Namespace) -> Iterator[None]:
    """While the block runs, the options are this process's settings, and those of its children."""
    chosen = _chosen(args)
    before = {name: os.environ.get(name) for name in chosen}
    os.environ.update(chosen)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _chosen(args: argparse.Namespace) -> dict[str, str]:
    """The variables of pip and uv that say what the options say."""
    chosen: dict[str, str] = {}
    if args.index_url:
        chosen |= dict.fromkeys(("PIP_INDEX_URL", "UV_DEFAULT_INDEX"), args.index_url)
    if args.extra_index_url:
        urls = " ".join(args.extra_index_url)
        chosen |= {"PIP_EXTRA_INDEX_URL": urls, "UV_INDEX": "", "UV_EXTRA_INDEX_URL": ""}
    if args.find_links:
        chosen |= {"PIP_FIND_LINKS": " ".join(args.find_links), "UV_FIND_LINKS": ",".join(args.find_links)}
    if args.no_index:
        chosen |= dict.fromkeys(("PIP_NO_INDEX", "UV_NO_INDEX"), "1")
    if args.verify:
        chosen["PINPROOF_VERIFY"] = "1"
    if getattr(args, "no_network", False):
        names = ("PINPROOF_OFFLINE", "UV_OFFLINE", "PIP_NO_INDEX", "HF_HUB_OFFLINE")
        chosen |= dict.fromkeys(names, "1")
    return chosen
