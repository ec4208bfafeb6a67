"""Bring the steps together: copy the tree, plan each hook, run them, and say what came of it."""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.utils import parseaddr
from pathlib import Path
from typing import Any, Literal

import msgspec

from pinproof.errors import Refused
from pinproof.gate import GateResult, Outcome
from pinproof.gates.patched import patched_files
from pinproof.gates.precommit.config import PATH, Config, parse_config
from pinproof.gates.precommit.outcome import HookResult, Setting, known_failures, run_stage
from pinproof.gates.precommit.plan import Plan, plan_hooks
from pinproof.gates.precommit.reach import reachable, remember_cloned
from pinproof.gates.precommit.repo import git_in
from pinproof.gates.precommit.workspace import Workspace, workspace
from pinproof.patchset.patchfile import Patch
from pinproof.paths import atomic_write, cache_dir
from pinproof.tree import Tree

# mypy on vLLM takes 60 s cold on two slow cores; ten times that is a hang.
HOOK_LIMIT_S = 900.0

Tell = Callable[[Literal["start", "end", "note"], str, str], None]
"""Told ("start", hook, ""), ("end", hook, its status in pre-commit's words) and ("note", "", a line)."""


def precommit_gate(
    tree: Tree,
    patch: Patch,
    *,
    offline: bool = False,
    fix: bool = False,
    hook_limit_s: float = HOOK_LIMIT_S,
    tell: Tell = lambda event, hook, text: None,
) -> GateResult:
    """Run the tree's own hooks on the files a patch touches, with the patch in.

    Hooks run in a copy of the tree in the cache; the tree itself is only read, but for `fix`. The hooks
    are the tree's code and run as the user: check only trees that you would run.

    Args:
        tree: the tree, with or without the patch applied.
        patch: the patch.
        offline: replace every remote hook repository, reachable or not.
        fix: write what hooks rewrite into the tree; the patch must be applied there.
        hook_limit_s: how long one hook may take, in seconds.
        tell: told of progress.

    Returns:
        pass when every hook that is for a touched file passed; fail when one failed; skip when none
        failed but one could not be run, or the tree has no config. `details` holds `hooks` (one
        HookResult each), `diff` (what hooks rewrote), `fixed` (files written), `files` and
        `config_sha256`.

    Raises:
        Conflict: the patch neither is in the tree nor applies to it.
        Refused: `fix` on a tree without the patch.
        InputError: the config cannot be read.
    """
    started = time.monotonic()
    changes = patched_files(tree, patch)
    missing = _nothing_to_run(tree, changes)
    if missing:
        return GateResult(
            gate="pre-commit", outcome="skip", summary=missing, reason=missing,
            clear=f"pinproof fetch vllm=={tree.version or 'VERSION'} DIR, then check that",
        )  # fmt: skip
    if fix and any(tree.read(path) != data for path, data in changes.items()):
        raise Refused(f"{patch.name} is not applied to {tree.name}: there is nowhere to write fixes to",
                      hint=f"pinproof apply {patch.number} {tree.name}")  # fmt: skip
    with workspace(tree, changes) as space:
        raw = (space.root / PATH).read_bytes()
        job = _prepare(parse_config(raw), space, offline, hook_limit_s, tell)
        found = _run(job, patch)
        diff, trespass = space.diff(), space.trespass()
        fixed = _write_fixes(tree, space) if fix and not trespass else []
        results = _known(job, found, space, tell)
    outcome, summary = _sum_up(results) if trespass is None else ("error", trespass)
    return GateResult(
        gate="pre-commit", outcome=outcome, summary=summary,
        reason=summary if outcome in ("skip", "error") else None,
        clear=f"pinproof check {patch.number} {tree.name}" if outcome != "pass" else None,
        duration_s=round(time.monotonic() - started, 3),
        details={
            "hooks": [msgspec.to_builtins(result) for result in results],
            "files": list(space.paths), "diff": diff, "fixed": fixed,
            "config_sha256": hashlib.sha256(raw).hexdigest(),
        },
    )  # fmt: skip


def _known(job: _Job, found: dict[int, HookResult], space: Workspace, tell: Tell) -> list[HookResult]:
    """The results, each failure marked that the tree has without the patch as well."""
    if any(result.outcome == "fail" for result in found.values()):
        tell("note", "", "running the failed hooks on the tree without the patch")
        space.take_patch_out()
        found = found | known_failures(job.plans, found, job.files, job.where)
    return list(found.values())


def _nothing_to_run(tree: Tree, changes: dict[str, bytes | None]) -> str | None:
    if tree.root is None:
        return f"{tree.name} is a release on PyPI: hooks need a tree on disk"
    if changes.get(PATH, tree.read(PATH)) is None:
        return f"{tree.name} has no {PATH}: an installed package carries none"
    return None


@dataclass(frozen=True)
class _Job:
    """What is to be run, on which files, and where."""

    plans: list[Plan]
    files: list[str]
    where: Setting


def _prepare(config: Config, space: Workspace, offline: bool, hook_limit_s: float, tell: Tell) -> _Job:
    home = cache_dir("pre-commit")
    remote = [hook for hook in config.hooks if hook.remote]
    reach = {(h.repo, h.rev or ""): False for h in remote} if offline else reachable(remote, home)

    def watch(event: Any, index: int, text: str) -> None:
        tell(event, config.hooks[index].key if index >= 0 else "", text)

    plans = plan_hooks(config, space.root, space.paths, reach)
    files = ["--files", *(f"./{path}" for path in space.paths)]
    return _Job(plans, files, Setting(config.settings, space.root, home, hook_limit_s, watch))


def _run(job: _Job, patch: Patch) -> dict[int, HookResult]:
    """Every hook's result by index, in the config's order."""
    results = _not_started(job.plans)

    def due(wanted: Callable[[Plan], bool]) -> list[Plan]:
        return [plan for plan in job.plans if plan.hook.index not in results and wanted(plan)]

    # First, while nothing is unstaged: pre-commit would stash what hooks rewrote.
    results |= _check_message(due(lambda plan: plan.stages == ("commit-msg",)), patch, job.where)
    results |= run_stage(
        due(lambda plan: _runs_at(plan, "pre-commit", ())), "pre-commit", job.files, job.where
    )
    results |= run_stage(
        due(lambda plan: _runs_at(plan, "manual", ("pre-commit",))), "manual", job.files, job.where
    )
    ran = {index for index, result in results.items() if result.outcome in ("pass", "fail")}
    cloned = [p.hook for p in job.plans if p.hook.remote and p.repo == p.hook.repo and p.hook.index in ran]
    remember_cloned(cloned, job.where.home)
    return {plan.hook.index: results.get(plan.hook.index) or _elsewhere(plan) for plan in job.plans}


def _not_started(plans: Sequence[Plan]) -> dict[int, HookResult]:
    """Results that need no run: no touched file is for the hook, or there is no way to run it here."""
    found: dict[int, HookResult] = {}
    for plan in plans:
        stage = plan.stages[0] if plan.stages else "pre-commit"
        if plan.applies is False and stage != "commit-msg":
            found[plan.hook.index] = HookResult(
                hook=plan.hook.key, stage=stage, outcome="skip", reason="no touched file is for it"
            )
        elif plan.unavailable:
            found[plan.hook.index] = HookResult(
                hook=plan.hook.key, stage=stage, outcome="not-run", reason=plan.unavailable
            )
    return found


def _runs_at(plan: Plan, stage: str, ran_before: Sequence[str]) -> bool:
    if plan.stages is None:
        return True
    return stage in plan.stages and not set(ran_before) & set(plan.stages)


def _elsewhere(plan: Plan) -> HookResult:
    at = ", ".join(plan.stages) if plan.stages else "other stages"
    return HookResult(hook=plan.hook.key, stage=at, outcome="skip", reason=f"runs at {at} only")


def _check_message(plans: Sequence[Plan], patch: Patch, where: Setting) -> dict[int, HookResult]:
    """Run the commit-msg hooks on the patch's own message, as its author would at `git commit`."""
    if not plans:
        return {}
    name, email = parseaddr(patch.author)
    for key, value in (("user.name", name), ("user.email", email)):
        git_in(where.root, "config", key, value)
    before = commit_message(patch)
    path = where.root / ".git" / "COMMIT_EDITMSG"
    path.write_text(before, encoding="utf-8")
    results = run_stage(plans, "commit-msg", ["--commit-msg-filename", str(path)], where)
    added = [
        line for line in path.read_text("utf-8", "replace").splitlines() if line not in before.splitlines()
    ]
    says = "adds " + "; ".join(filter(None, added)) if added else "leaves the message as it is"
    return {index: msgspec.structs.replace(result, note=says) for index, result in results.items()}


def commit_message(patch: Patch) -> str:
    """The message that the patch's commit will have: its subject and body, without the diff."""
    head = patch.raw.partition(b"\ndiff --git ")[0].decode("utf-8", "replace")
    body = head.partition("\n\n")[2].split("\n---\n")[0].strip("\n")
    return f"{patch.subject}\n\n{body}\n"


def _write_fixes(tree: Tree, space: Workspace) -> list[str]:
    """Write the files that hooks rewrote into the tree, which still is what the hooks were given."""
    rewritten = space.rewritten()
    for path, data in rewritten.items():
        real = Path(os.path.realpath(tree.disk_root() / path))
        atomic_write(real, data, mode=real.stat().st_mode & 0o7777)
    return sorted(rewritten)


def _sum_up(results: Sequence[HookResult]) -> tuple[Outcome, str]:
    """The gate's outcome, and a line for people."""
    count = Counter(result.outcome for result in results)
    replaced = sum(
        r.note is not None and " instead of " in r.note and r.outcome in ("pass", "fail") for r in results
    )
    aside = f"; {replaced} run from a package instead of their repository" if replaced else ""
    aside += f"; {count['skip']} have no touched file" if count["skip"] else ""
    for outcome, word in (("fail", "failed"), ("not-run", "could not be run here")):
        named = [result.hook for result in results if result.outcome == outcome]
        if named:
            verdict: Outcome = "fail" if outcome == "fail" else "skip"
            return verdict, f"{', '.join(named)} {word}; {count['pass']} hooks passed{aside}"
    if not count["pass"]:
        return "skip", "no hook is for the touched files"
    return "pass", f"{count['pass']} hooks passed{aside}"
