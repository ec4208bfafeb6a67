"""Check the series file and every patch's header and bytes.

Reported: a patch that is not listed, listed twice or missing; a missing, unknown, doubled or malformed
field; a patch without a reason or a removal plan; bytes that a re-export would change. Exit 1 when
there is something to fix.
"""

from __future__ import annotations

import argparse

from pinproof.commands.common import add_json, add_patches
from pinproof.console import emit_json, say, say_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_patches(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    import msgspec

    from pinproof.patchset.lint import lint_folder
    from pinproof.patchset.series import patch_dir, read_series

    folder = patch_dir(args.patches)
    problems = lint_folder(folder)
    if args.json:
        emit_json("pinproof.lint/1", {"problems": msgspec.to_builtins(problems)})
    else:
        for problem in problems:
            say_text(f"{problem.file}: {problem.text}")
        if not problems:
            say(f"{len(read_series(folder))} patch(es), nothing to fix")
    return int(bool(problems))
