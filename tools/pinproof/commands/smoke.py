"""Prove a patch at run time, as far as this machine allows, and say exactly how far that was.

A patch names its probe in its header (`Probe: NAME`): the harness that runs the calls which it changes. Four
rungs, lowest first. bind runs the real call with a recorder under it; compile builds the kernel for GPUs that
need not be there; kernel runs it on a CUDA GPU against a reference; model runs a tiny random model through
vllm.LLM. `auto` climbs until the machine or the patch says stop. The tree is imported by --python in a child
process and never changed. The run is recorded beside a patch of the series that is in the tree. A probe
that exercises nothing of the patch is refused; a patch without a probe is not run.

  pinproof smoke TREE --python /path/to/venv/bin/python
  pinproof smoke 0001 TREE --rung bind --json
  pinproof smoke TREE --probe fused_moe_triton        the tree alone, without a patch
  pinproof smoke --list-probes
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
        "--probe", metavar="NAME", help="the probe to run instead of the one that the patch names"
    )
    parser.add_argument("--list-probes", action="store_true", help="show the probes and stop")
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
    if args.list_probes:
        return _list_probes()
    if args.nproc < 1:
        raise InputError(f"--nproc {args.nproc} is not a number of GPUs")
    patches, tree = patch_and_tree(args)
    alone = args.probe is not None and len(args.targets) < 2
    gates = [_smoke(patch, tree, args) for patch in ([None] if alone else patches)]
    if not gates:
        raise InputError("the series holds no patch", hint="--probe NAME runs the tree alone; --list-probes")
    return _shown(gates, args)


def _list_probes() -> int:
    from pinproof.console import table
    from pinproof.smoke import registry

    shipped = [registry.load(name) for name in registry.names()]
    table(("probe", "rungs", "what it runs"), [(p.name, ", ".join(p.rungs), p.about) for p in shipped])
    return 0


def _smoke(patch: Patch | None, tree: Tree, args: argparse.Namespace) -> GateResult:
    """One patch with its probe, or the tree alone with the probe that was named."""
    from pinproof.smoke import registry
    from pinproof.smoke.ladder import smoke_gate, subject_of
    from pinproof.smoke.unprobed import without_probe

    name = args.probe or (patch.field("Probe") if patch else None)
    if name is None:
        assert patch is not None
        return without_probe(patch, tree)
    subject = subject_of(tree, registry.load(name), patch)
    python = interpreter(args.python)
    gate = smoke_gate(subject, python, args.rung, nproc=args.nproc, limit_s=args.timeout)
    if patch is not None:
        _record(patch, tree, gate, args)
    return gate


def _shown(gates: list[GateResult], args: argparse.Namespace) -> int:
    import msgspec

    from pinproof.console import emit_json, say, table, typed
    from pinproof.gate import exit_code

    if args.json:
        plain = [msgspec.to_builtins(gate) for gate in gates]
        emit_json("pinproof.smoke/2", {"gate": plain[0]} if len(plain) == 1 else {"gates": plain})
        return int(exit_code(gates))
    for gate in gates:
        rungs = gate.details.get("rungs", [])
        if rungs:
            rows = [(r["rung"], r["outcome"], f"{r['duration_s']:.1f}", r["summary"]) for r in rungs]
            table(("rung", "outcome", "seconds", "details"), rows)
        say(gate.summary)
        said = [gate.summary, *(f"{r['reason']} {r['summary']}" for r in rungs)]
        if gate.reason and not any(gate.reason in text for text in said):
            say(f"  {gate.outcome}: {gate.reason}")
        for part in gate.details.get("exercised", [])[:3]:
            say(f"  went through {part['file']}:{part['first']}-{part['last']} in {part['scope']}")
        if gate.clear:
            say(f"  -> {typed(gate.clear)}")
    return int(exit_code(gates))


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
