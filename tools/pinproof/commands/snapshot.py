"""Record the signatures of one library at one version in a file, for offline use.

  pinproof snapshot flashinfer 0.6.14
  pinproof snapshot deep_gemm ~/DeepGEMM --version 8b1392b978f5a03c828dd1711090d7fb50958b8a -o FILE
  pinproof snapshot deep_gemm --vendored-in vllm==0.28.0 --version 8b1392b978f5a03c828dd1711090d7fb50958b8a

The file is what `pinproof contract --library NAME=FILE` takes; without -o it goes to the cache, where
every later run finds it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pinproof.console import emit_json, say
from pinproof.contract.declared.snapshot import Snapshot
from pinproof.contract.watch.watchlist import Watched
from pinproof.errors import Exit, InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("library", metavar="LIBRARY", help="a watched library, e.g. flashinfer")
    parser.add_argument("spec", nargs="?", metavar="SPEC",
                        help="a version, a folder, or git+URL@COMMIT")  # fmt: skip
    parser.add_argument(
        "--vendored-in", metavar="RELEASE", help="the copy inside this release, e.g. vllm==0.28.0"
    )
    parser.add_argument(
        "--version", metavar="COMMIT", help="the version or commit to write into the snapshot"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="where to write it")
    parser.add_argument("--watch", type=Path, metavar="FILE", help="a watch list to add to the shipped one")
    parser.add_argument("--json", action="store_true", help="print JSON for machines")


def run(args: argparse.Namespace) -> int:
    """Take the snapshot and write it."""
    from pinproof.contract.declared import snapshot as snapshots
    from pinproof.contract.sources import memory
    from pinproof.contract.watch.watchlist import find, load
    from pinproof.paths import atomic_write

    watched = find(load(args.watch), args.library)
    found = _take(watched, args)
    target: Path = args.output or memory.signature_file(watched.name, found.version)
    if args.output is None and ("/" in found.version or found.version.startswith(".")):
        raise InputError(
            f"{found.version!r} is not a version to keep it under", hint="give --version or -o FILE"
        )
    atomic_write(target, snapshots.encode(found, pretty=True))
    if args.json:
        emit_json("pinproof.snapshot/1", {"library": found.library, "version": found.version,
                                          "source": found.source, "modules": len(found.modules),
                                          "file": str(target)})  # fmt: skip
    else:
        say(f"{found.library} {found.version}: {len(found.modules)} modules from {found.source} -> {target}")
    return Exit.OK


def _take(watched: Watched, args: argparse.Namespace) -> Snapshot:
    import msgspec

    from pinproof.contract.sources import fetching

    if (args.spec is None) == (args.vendored_in is None):
        raise InputError("give a SPEC or --vendored-in RELEASE, one of them")
    if args.vendored_in is not None:
        found = fetching.from_vendored(watched, args.vendored_in)
    else:
        found = fetching.from_spec(watched, args.spec)
    return msgspec.structs.replace(found, version=args.version) if args.version else found
