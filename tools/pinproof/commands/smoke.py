"""Prove a patch at run time, as far as this machine allows, and say exactly how far that was.

Four rungs, lowest first. bind runs the real forward with a recorder under the pinned wrapper; compile
builds the pinned kernel for sm_100a with nvcc; kernel runs the real experts on a CUDA GPU; model runs a
tiny random Kimi model through vllm.LLM. `auto` climbs until the machine or the patch says stop. The tree is
imported by --python in a child process and never changed. The run is recorded beside a patch of the series
that is in the tree.

  pinproof smoke TREE --python /path/to/venv/bin/python
  pinproof smoke 0001 TREE --rung bind --json
  pinproof smoke 0001 TREE --nproc 2
"""

from __future__ import annotations

import argparse
import shutil
from typing import TYPE_CHECKING

from pinproof.commands.common import add_json, add_patch_and_tree, patch_and_tree
from pinproof.console import note
from pinproof.errors import InputError
from pinproof.patchset.patchfile import Patch
from pinproof.tree import Tree

if TYPE_CHECKING:
    from pinproof.gate import GateResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_patch_and_tree(parser)
    parser.add_argument(
        "--python",
        metavar="PYTHON",
        help="the interpreter that has torch and vLLM (default: python3 on PATH)",
    )
    parser.add_argument(
        "--rung", default="auto", choices=("auto", "bind", "compile", "kernel", "model"),
        help="one rung, or auto: all that this machine allows (default)",
    )  # fmt: skip
    parser.add_argument(
        "--nproc", type=int, default=1, metavar="N", help="GPUs for the kernel and model rungs (default 1)"
    )
    parser.add_argument(
        "--timeout", type=float, metavar="S",
        help="seconds that one child process may run before all its stacks are dumped and it is stopped "
        "(default: 300 for bind, 240 for kernel, 540 for model)",
    )  # fmt: skip
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    import msgspec

    from pinproof.console import emit_json, say, table, typed
    from pinproof.gate import exit_code
    from pinproof.smoke.ladder import smoke_gate

    if args.nproc < 1:
        raise InputError(f"--nproc {args.nproc} is not a number of GPUs")
    patches, tree = patch_and_tree(args)
    python = interpreter(args.python)
    # Numerics belong to one patch: a series is smoked by its tree, the first patch gives the twin.
    patch = patches[0] if patches else None
    gate = smoke_gate(tree, python, args.rung, patch=patch, nproc=args.nproc, limit_s=args.timeout)
    if patch is not None:
        _record(patch, tree, gate, args)
    if args.json:
        emit_json("pinproof.smoke/1", {"gate": msgspec.to_builtins(gate)})
        return int(exit_code([gate]))
    rungs = gate.details["rungs"]
    table(("rung", "outcome", "seconds", "details"),
          [(r["rung"], r["outcome"], f"{r['duration_s']:.1f}", r["summary"]) for r in rungs])  # fmt: skip
    say(gate.summary)
    if gate.clear:
        say(f"  -> {typed(gate.clear)}")
    return int(exit_code([gate]))


def _record(patch: Patch, tree: Tree, gate: GateResult, args: argparse.Namespace) -> None:
    """Keep the run as evidence; a tree without the patch proves nothing for it."""
    from pinproof.commands.recording import keep_results
    from pinproof.patchset.change import text_state

    if text_state(tree, patch) == "applied":
        keep_results(patch, tree, [gate], args.patches)
    else:
        note(f"not recorded: {patch.name} is not in {tree.name}")


def interpreter(given: str | None) -> str:
    """The interpreter to run children with, as an absolute path.

    Raises:
        InputError: there is no such program.
    """
    found = shutil.which(given or "python3")
    if found is None:
        raise InputError(f"no such interpreter: {given or 'python3'}", hint="give --python /path/to/python")
    return found
