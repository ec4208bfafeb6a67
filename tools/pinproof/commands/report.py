"""Make a static site of what is known: patches, findings, contracts over time, and how fast they move.

Without a server, a script from elsewhere, or a font to load; under 500 KB. It also holds badges, an Atom feed
of new breaks, and the same facts as JSON with their schema.

  pinproof report -o site
  pinproof report -o site --releases 0.26.0..0.33.0
  pinproof report -o site --plugin vllm-omni --plugin vllm-ascend==0.28.0rc1
  pinproof report --json > report.json
  pinproof report -o site --from report.json

The folder is made, or replaced when it holds an older report. Exit codes: 0 done; 2 bad input; 3 the folder
holds something else; 5 done, but a release or a library could not be read: the page says which.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pinproof.commands.common import add_json, add_patches
from pinproof.console import note
from pinproof.errors import Exit, InputError

if TYPE_CHECKING:
    from pinproof.report.model import Report

_URL = "https://pinproof.github.io/pinproof/"
_LARGEST = 32 * 1024 * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="the folder to write")
    parser.add_argument(
        "--releases", metavar="A..B", help="every final release from A to B (default: vLLM's newest nine)"
    )
    parser.add_argument("--from", dest="source", type=Path, metavar="FILE",
                        help="render what --json printed, without looking anything up")  # fmt: skip
    parser.add_argument(
        "--plugin", action="append", default=[], metavar="NAME[==V]",
        help="a project built on the engine, against every release (repeatable; default V: its newest)",
    )  # fmt: skip
    parser.add_argument(
        "--url", default=_URL, help="where the site will stand, for the feed (default: %(default)s)"
    )
    add_patches(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.output is None and not args.json:
        raise InputError("where to?", hint="pinproof report -o site")
    if not args.url.startswith(("https://", "http://")):
        raise InputError(f"--url {args.url!r} is not a web address")
    report = _load(args.source) if args.source is not None else _gather(args)
    if args.output is not None:
        _write(args.output, report, args.url.rstrip("/") + "/")
    if args.json:
        import sys

        import msgspec

        sys.stdout.write(msgspec.json.encode(report).decode() + "\n")
    return Exit.SKIPPED if report.missing else Exit.OK


def _gather(args: argparse.Namespace) -> Report:
    from datetime import datetime, timezone

    from pinproof.commands.history import releases
    from pinproof.patchset.series import load_series
    from pinproof.report.gather import gather
    from pinproof.submit.store import open_store

    project, versions = releases(args.releases)
    patches, store = load_series(args.patches), open_store(args.patches)
    return gather(project, versions, patches, store, datetime.now(timezone.utc), args.plugin)


def _load(path: Path) -> Report:
    import msgspec

    from pinproof.paths import read_regular
    from pinproof.report.model import Report

    raw = read_regular(path, _LARGEST)
    try:
        found = msgspec.json.decode(raw, type=Report)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not what --json printed: {error}") from error
    if not found.releases:
        raise InputError(f"{path} holds no release")
    return found


def _write(target: Path, report: Report, url: str) -> None:
    from pinproof.report.pages import render
    from pinproof.report.site import write_site

    files = render(report, url)
    write_site(target, files)
    size = sum(map(len, files.values()))
    note(f"{target}/index.html: {len(files)} files, {size / 1000:.0f} KB")
