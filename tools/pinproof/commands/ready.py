"""Run the main job on a tree, then list every gate with its result and what clears each unmet one.

The main job: verdict, apply (when needed), compile, and the contract before and after. The patch is
written to the tree as `pinproof apply` would; --dry-run proves it on the would-be files instead. Gates
with their own commands (pre-commit, duplicates, smoke) are not run here.

  pinproof ready TREE            the series on a tree of yours
  pinproof ready 0001 TREE       one patch
  pinproof ready --demo          bring vLLM 0.28.0 from PyPI, take the fix out, run the main job on it

On a tree of yours exit code 0 means ready: every gate is met. With --demo it means that the main job
went as it should.
"""

from __future__ import annotations

import argparse
import shutil
from typing import TYPE_CHECKING

from pinproof.commands.common import add_json, add_libraries, add_patch_and_tree, libraries, patch_and_tree
from pinproof.console import emit_json, note, say, table
from pinproof.errors import Exit, InputError
from pinproof.gate import GATES, GateResult, exit_code

if TYPE_CHECKING:
    from pinproof.mainjob import MainJob
    from pinproof.patchset.patchfile import Patch
    from pinproof.tree import Tree

_DEMO_RELEASE = ("vllm", "0.28.0")
_OTHER_GATES = {"pre-commit": "check", "duplicates": "duplicates", "smoke": "smoke"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_patch_and_tree(parser)
    parser.add_argument(
        "--demo", action="store_true", help="on vLLM 0.28.0 with the fix taken out, from PyPI"
    )
    parser.add_argument("--dry-run", action="store_true", help="write nothing to the tree")
    add_libraries(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from pinproof.mainjob import run_main_job
    from pinproof.patchset.series import load_series

    patches, tree = _demo(args) if args.demo else patch_and_tree(args)
    series = load_series(args.patches)
    jobs: list[tuple[MainJob, list[GateResult]]] = []
    for patch in patches:
        job = run_main_job(patch, tree, series=series, libraries=libraries(args), dry_run=args.dry_run)
        jobs.append((job, _gates(job, patch, tree)))
    if args.json:
        _json(jobs, tree)
    else:
        for job, gates in jobs:
            _show(job, gates, tree, dry_run=args.dry_run)
    if args.demo:
        return exit_code([result for job, _ in jobs for result in (job.contract, job.compile)])
    return exit_code([result for _, gates in jobs for result in gates])


def _demo(args: argparse.Namespace) -> tuple[list[Patch], Tree]:
    """A fresh copy of the release without the fix: every demo starts from the broken state."""
    from pinproof.fetch import fetch_release
    from pinproof.patchset.series import find_patch
    from pinproof.paths import cache_dir

    if args.targets:
        raise InputError("--demo brings its own tree", hint="leave the other arguments out")
    patch = find_patch("0001", args.patches)
    folder = cache_dir("demo") / "vllm-0.28.0-without-0001"
    shutil.rmtree(folder, ignore_errors=True)
    note(f"bringing vLLM 0.28.0 from PyPI and taking {patch.name} out (vLLM's main, 2026-08-12 to 08-16)")
    return [patch], fetch_release(*_DEMO_RELEASE, folder, [patch])


def _gates(job: MainJob, patch: Patch, tree: Tree) -> list[GateResult]:
    """One result per gate: the two that ran here; the others as not run, with their command."""
    done = {result.gate: result for result in (job.contract, job.compile)}
    return [done.get(gate) or _not_run(gate, patch, tree) for gate in GATES]


def _not_run(gate: str, patch: Patch, tree: Tree) -> GateResult:
    command = _OTHER_GATES[gate]
    target = "" if gate == "duplicates" else f" {tree.name}"
    which = "" if gate == "smoke" else f" {patch.number}"
    return GateResult(
        gate=gate, outcome="not-run", summary="no evidence yet",  # type: ignore[arg-type]
        clear=f"tools/{command}.sh{which}{target}",
    )  # fmt: skip


def _show(job: MainJob, gates: list[GateResult], tree: Tree, *, dry_run: bool) -> None:
    say(f"{job.patch} on {tree.name}" + (f" ({tree.package} {tree.version})" if tree.version else ""))
    say(f"  verdict   {job.before.verdict}: {job.before.sentence}")
    step = job.plan.steps[0]
    say(f"  apply     {'would be ' if dry_run and step.action == 'write' else ''}{step.note}")
    say(f"  compile   {job.compile.outcome}: {job.compile.summary}")
    say(f"  contract  {job.after.verdict}: {job.after.sentence}")
    for warning in dict.fromkeys([*job.before.warnings, *job.after.warnings]):
        say(f"  note      {warning}")
    say()
    rows = [(g.gate, g.outcome.replace("-", " "), g.summary, g.clear or "") for g in gates]
    table(("gate", "result", "what was seen", "to clear it"), rows)
    if step.action == "write" and not dry_run:
        say()
        say(f"take it back with: tools/apply.sh --revert {tree.name}")


def _json(jobs: list[tuple[MainJob, list[GateResult]]], tree: Tree) -> None:
    import msgspec

    emit_json("pinproof.ready/1", {"tree": tree.name, "patches": [
        {
            "patch": job.patch, "verdict": msgspec.to_builtins(job.before),
            "steps": msgspec.to_builtins(job.plan.steps), "gates": msgspec.to_builtins(gates),
            "ready": exit_code(gates) == Exit.OK,
        }
        for job, gates in jobs
    ]})  # fmt: skip
