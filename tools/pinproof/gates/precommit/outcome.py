"""From what pre-commit did to a result per hook: pass, fail, skip (not for these files) or not-run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from pinproof.gates.precommit.plan import Plan
from pinproof.gates.precommit.run import HookRun, Session, Watch, run_pre_commit

# How vLLM's scripts say that they did nothing (rust-check.sh without cargo, update-dockerfile-graph.sh
# without docker): they exit 0, which pre-commit calls Passed.
_DID_NOTHING = re.compile(r"^[ \t]*warning:.*\bskip(?:ping|ped)\b.*", re.IGNORECASE | re.MULTILINE)
# What a shell exits with when a program is not there; pre-commit itself says "Executable `x` not found".
_NO_COMMAND = 127
_NO_NETWORK = re.compile(
    r"could not resolve|dns error|failed to lookup|name resolution|getaddrinfo|network is unreachable"
    r"|unable to resolve host|connection (?:refused|reset|timed out)|failed to fetch|error sending request",
    re.IGNORECASE,
)
# What installers print when they give up; pip's own headings say less than the lines around them.
_ERROR_LINE = re.compile(
    r"^[ \t]*((?:ERROR:|npm (?:ERR!|error)|fatal:|error:)"
    r" (?!subprocess-exited|failed-wheel|metadata-gen).*)$",
    re.M,
)
_NO_TOOLCHAIN = re.compile(r"^error: toolchain '[^']*' is not installed", re.M)  # rustup's cargo, without one
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# A password in an index's address must not get into evidence or a pull request.
_SECRET = re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)")


class HookResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one hook.

    `reason` says why it failed without output, was skipped, or was not run; `note` that it was
    replaced and by what.
    """

    hook: str
    stage: str
    outcome: Literal["pass", "fail", "skip", "not-run"]
    reason: str | None = None
    note: str | None = None
    output: str = ""
    duration_s: float = 0.0
    modified: bool = False


class Setting(msgspec.Struct, frozen=True):
    """Where and how long hooks run."""

    settings: dict[str, Any]
    root: Path
    home: Path
    hook_limit_s: float
    watch: Watch


def run_stage(
    plans: Sequence[Plan], stage: str, arguments: Sequence[str], where: Setting
) -> dict[int, HookResult]:
    """Run hooks at one stage until each has a result; one that hangs or breaks does not stop the others.

    Returns:
        Results by hook index. A hook that its repository does not declare for this stage has none.
    """
    results: dict[int, HookResult] = {}
    left = list(plans)
    while left:
        session = _session(left, stage, arguments, where)
        results |= _results(left, session, stage, where.root)
        left = [plan for plan in left if plan.hook.index not in results]
        if session.ended == "done":
            break
        if session.at is None:
            results |= _one_by_one(left, stage, arguments, where)
            break
    return results


def _session(plans: Sequence[Plan], stage: str, arguments: Sequence[str], where: Setting) -> Session:
    return run_pre_commit(
        plans, where.settings, root=where.root, home=where.home, hook_limit_s=where.hook_limit_s,
        watch=where.watch, arguments=["--hook-stage", stage, *arguments],
    )  # fmt: skip


def _one_by_one(
    plans: Sequence[Plan], stage: str, arguments: Sequence[str], where: Setting
) -> dict[int, HookResult]:
    """After an environment could not be made: pre-commit then runs nothing, so find out whose it was."""
    results: dict[int, HookResult] = {}
    failed: dict[tuple[object, ...], str] = {}
    for plan in plans:
        reason = failed.get(plan.environment())
        if reason is None:
            session = _session([plan], stage, arguments, where)
            results |= _results([plan], session, stage, where.root)
            if session.ended == "done" or session.at is not None:
                continue
            reason = failed[plan.environment()] = "could not be set up here: " + _why(session.said)
        results[plan.hook.index] = _result(plan, stage, "not-run", reason=reason)
    return results


def _results(plans: Sequence[Plan], session: Session, stage: str, root: Path) -> dict[int, HookResult]:
    by_index = {plan.hook.index: plan for plan in plans}
    results = {index: _judge(by_index[index], run, stage, root) for index, run in session.runs.items()}
    if session.at is not None:
        plan = by_index[session.at]
        if session.ended == "hang":
            results[session.at] = _result(plan, stage, "fail", reason="gave no answer within the time limit")
        else:
            results[session.at] = _result(plan, stage, "not-run", reason=_why(session.said))
    return results


def _judge(plan: Plan, run: HookRun, stage: str, root: Path) -> HookResult:
    output = _presentable(run.output, root)
    seen = {"output": output, "duration_s": run.duration_s, "modified": run.modified}
    if run.status == "Skipped":
        return _result(plan, stage, "skip", reason="no touched file is for it")
    if run.status == "Passed":
        nothing = None if plan.hook.remote else _DID_NOTHING.search(output)
        if nothing:
            return _result(plan, stage, "not-run", reason=nothing[0].strip(), **seen)
        return _result(plan, stage, "pass", **seen)
    lacks = _lacking(run, output, network=plan.network)
    return _result(plan, stage, "not-run" if lacks else "fail", reason=lacks, **seen)


def _lacking(run: HookRun, output: str, *, network: bool) -> str | None:
    """What a failed hook lacked here, when it failed for that and not for what it found."""
    lines = output.strip().splitlines()
    if run.exit_code == _NO_COMMAND or output.startswith("Executable `"):
        return lines[-1][:200] if lines else "a program that it calls is not installed"
    toolchain = _NO_TOOLCHAIN.search(output)
    if toolchain:
        return toolchain[0]
    lost = [line.strip() for line in lines if _NO_NETWORK.search(line)] if network and run.exit_code else []
    return f"needs the network: {lost[-1][:200]}" if lost else None


def _result(plan: Plan, stage: str, outcome: Any, **more: Any) -> HookResult:
    return HookResult(hook=plan.hook.key, stage=stage, outcome=outcome, note=plan.note, **more)


def _presentable(text: str, root: Path) -> str:
    """Hook output without colours, this machine's path to the copy, or passwords."""
    return _SECRET.sub("***", _COLOUR.sub("", text).replace(f"{root}/", "").replace(str(root), "."))


def _why(said: str) -> str:
    """What tells most of pre-commit's complaint: the installer's last two errors, else the last lines."""
    lines = [match[1].strip() for match in _ERROR_LINE.finditer(said)]
    lines = lines or [line for line in said.strip().splitlines() if not line.startswith("Check the log at")]
    told = "; ".join(dict.fromkeys(lines[-2:])) or "pre-commit ended without a word"
    return _SECRET.sub("***", told)[:300]


def known_failures(
    plans: Sequence[Plan], results: dict[int, HookResult], files: Sequence[str], where: Setting
) -> dict[int, HookResult]:
    """Run the failed hooks again on the tree without the patch (which `where.root` must hold by now).

    Returns:
        Those that fail there too, with a `reason` that says so: the tree's fault, or this machine's.
    """
    found: dict[int, HookResult] = {}
    failed = [plan for plan in plans if results[plan.hook.index].outcome == "fail"]
    for stage in ("pre-commit", "manual"):
        due = [plan for plan in failed if results[plan.hook.index].stage == stage]
        for index, without in run_stage(due, stage, files, where).items():
            mine = results[index]
            if without.outcome == "fail" and mine.reason is None:
                how = "in the same words" if without.output == mine.output else "in other words"
                reason = f"fails without the patch too, {how}"
                found[index] = msgspec.structs.replace(mine, reason=reason)
    return found
