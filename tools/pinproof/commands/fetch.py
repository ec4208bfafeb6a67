"""Bring a release from PyPI as a git tree with one commit.

The sdist is downloaded once (kept in the cache), its sha256 verified against the index, and unpacked so
that nothing leaves the folder. `--without 0001` takes a patch of the series back out: with
vllm==0.28.0 that is the state of vLLM's main branch between 2026-08-12 and 2026-08-16.

  pinproof fetch vllm==0.28.0 vllm-0.28.0
  pinproof fetch vllm==0.28.0 broken --without 0001
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pinproof.commands.common import add_json, add_patches
from pinproof.console import emit_json, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", metavar="RELEASE", help="vllm==0.28.0, or just 0.28.0")
    parser.add_argument("dir", type=Path, metavar="DIR", help="a folder that does not exist yet, or is empty")
    parser.add_argument(
        "--without", action="append", default=[], metavar="PATCH", help="take this patch out (repeatable)"
    )
    add_patches(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from pinproof.fetch import fetch_release
    from pinproof.patchset.series import find_patch
    from pinproof.releases import parse_release

    project, version = parse_release(args.release)
    without = [find_patch(spec, args.patches) for spec in args.without]
    tree = fetch_release(project, version, args.dir, without)
    names = [patch.name for patch in without]
    if args.json:
        emit_json(
            "pinproof.fetch/1", {"release": f"{project}=={version}", "dir": str(args.dir), "without": names}
        )
    else:
        say(f"{tree.name}: {project} {version}" + "".join(f", without {name}" for name in names))
    return 0
