"""Show a callee's contract over the releases: what each one's library declares, and what its calls pass.

Parameters go down, releases across. A release that took a patch of the series in is also shown without that
patch: the state the patch was made for.

  pinproof history deep_gemm.fp8_fp4_mega_moe
  pinproof history deep_gemm.fp8_fp4_mega_moe --releases 0.26.0..0.33.0 --svg history.svg
  pinproof history flashinfer.comm.trtllm_alltoall.MnnvlMoe --json

Exit codes: 0 done; 2 no such library or callee; 5 a release or its library could not be read.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pinproof.commands.common import add_json, add_patches
from pinproof.errors import Exit, InputError

if TYPE_CHECKING:
    from pinproof.history.model import History

_NEWEST = 9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "callee", metavar="CALLEE", help="its full name in the library, e.g. deep_gemm.fp8_fp4_mega_moe"
    )
    parser.add_argument(
        "--releases", metavar="A..B",
        help=f"every final release from A to B (default: vLLM's newest {_NEWEST}; sglang==A..B for SGLang)",
    )  # fmt: skip
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write the chart to FILE as well")
    add_patches(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from pinproof.history.collect import history, wanted
    from pinproof.history.lookup import watched_for
    from pinproof.patchset.series import load_series

    watched_for(args.callee)  # a wrong name is said before anything is fetched
    project, versions = releases(args.releases)
    found = history(args.callee, wanted(project, versions, load_series(args.patches), args.callee))
    if args.svg is not None:
        _write(args.svg, found)
    if args.json:
        import msgspec

        from pinproof.console import emit_json

        content = msgspec.to_builtins(found)
        emit_json(content.pop("schema"), content)
    else:
        from pinproof.history.terminal import show

        show(found)
    return Exit.OK if all(column.read for column in found.columns) else Exit.SKIPPED


def releases(given: str | None) -> tuple[str, list[str]]:
    """The project and the releases that `A..B` names; vLLM's newest nine for None.

    Raises:
        InputError: it is not `A..B`, or there is no such release.
        CannotCheck: the package index cannot be reached.
    """
    from pinproof.releases import parse_release, versions, versions_between

    if given is None:
        return "vllm", versions("vllm")[-_NEWEST:]
    first, dots, last = given.partition("..")
    if not dots:
        raise InputError(f"--releases {given!r} is not A..B", hint="e.g. --releases 0.26.0..0.33.0")
    project, start = parse_release(first)
    return project, versions_between(project, start, parse_release(last, default_project=project)[1])


def _write(path: Path, found: History) -> None:
    from pinproof.history.chart import svg
    from pinproof.paths import atomic_write

    if not path.parent.is_dir():
        raise InputError(f"--svg {path}: there is no folder {path.parent}")
    atomic_write(path, svg(found).encode())
