"""Run the main job on a tree, then list everything the upstream's policy asks for and what clears it.

The main job: verdict, apply (when needed), compile, and the contract before and after. The patch is
written to the tree as `pinproof apply` would; --dry-run proves it on the would-be files instead. What was
proven is recorded beside the patches. The other gates are not run here: their records count when they
are about these very bytes.

  pinproof ready TREE            the series on a tree of yours
  pinproof ready 0001 TREE       one patch
  pinproof ready --demo          bring vLLM 0.28.0 from PyPI, take the fix out, run the main job on it

On a tree of yours exit code 0 means ready: nothing is unmet. With --demo it means that the main job went as
it should; a demo records nothing.
"""

from __future__ import annotations

import argparse
import shutil
from typing import TYPE_CHECKING

from pinproof.commands.common import add_json, add_libraries, add_patch_and_tree, libraries, patch_and_tree
from pinproof.commands.recording import keep_results
from pinproof.console import emit_json, note, say, say_labelled, table, typed
from pinproof.errors import Exit, InputError
from pinproof.gate import GATES, Outcome, exit_code

if TYPE_CHECKING:
    from pinproof.mainjob import MainJob
    from pinproof.patchset.patchfile import Patch
    from pinproof.submit.requirements import Requirement, State
    from pinproof.tree import Tree

_DEMO_RELEASE = ("vllm", "0.28.0")
_STATES: dict[Outcome, State] = {
    "pass": "met", "skip": "missing", "not-run": "missing", "fail": "failed", "error": "failed",
}  # fmt: skip
_WORDS: dict[State, str] = {
    "met": "pass",
    "missing": "not run",
    "stale": "stale",
    "failed": "fail",
    "skipped": "skip",
}


# A title or a review is not a proof that could fail: it is still to be made.
_STEPS: dict[State, str] = {**_WORDS, "failed": "unmet", "missing": "to do"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_patch_and_tree(parser)
    parser.add_argument("--demo", action="store_true", help="on vLLM 0.28.0 without the fix, from PyPI")
    parser.add_argument("--dry-run", action="store_true", help="write nothing, neither tree nor records")
    parser.add_argument("--policy", default="vllm", metavar="NAME", help="whose demands (default: vllm)")
    add_libraries(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from pinproof.mainjob import run_main_job
    from pinproof.patchset.series import load_series

    patches, tree = _demo(args) if args.demo else patch_and_tree(args)
    series = load_series(args.patches)
    jobs: list[tuple[MainJob, list[Requirement]]] = []
    for patch in patches:
        job = run_main_job(patch, tree, series=series, libraries=libraries(args), dry_run=args.dry_run)
        if not (args.demo or args.dry_run):
            keep_results(patch, tree, [job.contract, job.compile], args.patches)
        jobs.append((job, _requirements(job, patch, tree, args)))
        if not args.json:
            _show(*jobs[-1], tree, dry_run=args.dry_run)
    if args.json:
        _json(jobs, tree)
    ran = exit_code([result for job, _ in jobs for result in (job.contract, job.compile)])
    return ran if args.demo else max(ran, _exit([item for _, items in jobs for item in items]))


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


def _requirements(job: MainJob, patch: Patch, tree: Tree, args: argparse.Namespace) -> list[Requirement]:
    """What the policy asks for: the two gates that ran here by their results, all else by the records."""
    from datetime import datetime, timezone

    from msgspec import structs

    from pinproof.submit.policy import load_policy
    from pinproof.submit.requirements import Requirement, requirements
    from pinproof.submit.store import open_store

    fresh = {result.gate: result for result in (job.contract, job.compile)}
    asked = requirements(
        patch, tree, load_policy(args.policy), open_store(args.patches), datetime.now(timezone.utc)
    )
    found = []
    for item in asked:
        result = fresh.get(item.item)  # type: ignore[call-overload]
        if result is not None:
            item = Requirement(
                item=item.item, state=_STATES[result.outcome], why=result.summary, clear=result.clear
            )
        elif item.item in GATES and item.state == "met":
            item = structs.replace(item, why=f"on record: {item.why}")
        found.append(item)
    return found


def _show(job: MainJob, items: list[Requirement], tree: Tree, *, dry_run: bool) -> None:
    say(f"{job.patch} on {tree.name}" + (f" ({tree.package} {tree.version})" if tree.version else ""))
    step = job.plan.steps[0]
    say_labelled("verdict", f"{job.before.verdict}: {job.before.sentence}")
    say_labelled("apply", f"{'would be ' if dry_run and step.action == 'write' else ''}{step.note}")
    say_labelled("compile", f"{job.compile.outcome}: {job.compile.summary}")
    say_labelled("contract", f"{job.after.verdict}: {job.after.sentence}")
    rung = job.contract.details.get("witness")
    if rung is not None:
        say_labelled("witness", f"{rung['outcome']}: {rung['summary']}")
    for warning in dict.fromkeys([*job.before.warnings, *job.after.warnings]):
        say_labelled("note", warning)
    say()
    gates = [item for item in items if item.item in GATES]
    table(("gate", "result", "details", "next step"), [_row(item) for item in gates])
    rest = [item for item in items if item.item not in GATES and item.open]
    if rest:
        say()
        table(("before it is submitted", "state", "why", "next step"), [_row(item) for item in rest])
    if step.action == "write" and not dry_run:
        say()
        say(f"to undo: {typed(f'pinproof apply --revert {tree.name}')}")


def _row(item: Requirement) -> tuple[str, str, str, str]:
    words = _WORDS if item.item in GATES else _STEPS
    return item.item, words[item.state], item.why, typed(item.clear) if item.open and item.clear else ""


def _exit(items: list[Requirement]) -> Exit:
    """A failed gate outweighs all; a step that is still to be made (a review, a title) is not a failure."""
    unmet = [item for item in items if item.open]
    if any(item.item in GATES and item.state == "failed" for item in unmet):
        return Exit.FAILED
    return Exit.SKIPPED if unmet else Exit.OK


def _json(jobs: list[tuple[MainJob, list[Requirement]]], tree: Tree) -> None:
    import msgspec

    emit_json("pinproof.ready/1", {"tree": tree.name, "patches": [
        {
            "patch": job.patch, "verdict": msgspec.to_builtins(job.before),
            "steps": msgspec.to_builtins(job.plan.steps),
            "ran": msgspec.to_builtins([job.contract, job.compile]),
            "asked": msgspec.to_builtins(items), "ready": not any(item.open for item in items),
        }
        for job, items in jobs
    ]})  # fmt: skip
