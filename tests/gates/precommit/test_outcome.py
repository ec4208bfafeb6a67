"""A hook that did nothing, or failed for what this machine lacks, is shown as not run and never as passed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pinproof.gates.precommit.config import Hook
from pinproof.gates.precommit.outcome import HookResult, _judge, _why
from pinproof.gates.precommit.plan import Plan
from pinproof.gates.precommit.run import HookRun

ROOT = Path("/cache/check/abc/tree")


def judged(run: HookRun, *, repo: str = "local", network: bool = False) -> HookResult:
    hook = Hook(0, repo, None, None, {"id": "a"})
    plan = Plan(hook, hook.spec, repo, ("pre-commit",), True, network=network)
    return _judge(plan, run, "pre-commit", ROOT)


@pytest.mark.parametrize(
    "says",
    [
        "WARNING: 'cargo' not found in PATH; skipping rust pre-commit hook (cargo fmt).",
        "docker/Dockerfile has changed\nWarning: Docker command not found. Skipping Dockerfile graph update.",
    ],
)
def test_a_passing_hook_that_says_it_skipped_its_work_did_not_run(says: str) -> None:
    result = judged(HookRun("Passed", says))
    assert result.outcome == "not-run"
    assert result.reason == says.splitlines()[-1]


def test_a_passing_hook_that_merely_mentions_skipping_passed() -> None:
    assert judged(HookRun("Passed", "3 files checked, skipping none")).outcome == "pass"


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (HookRun("Failed", "Executable `cargo` not found", 1), "Executable `cargo` not found"),
        (HookRun("Failed", "line 2: node: command not found", 127), "line 2: node: command not found"),
        (HookRun("Failed", "", 127), "a program that it calls is not installed"),
        (
            HookRun("Failed", "error: toolchain '1.95' is not installed\nhelp: run rustup", 1),
            "error: toolchain '1.95' is not installed",
        ),
    ],
)
def test_a_missing_program_is_no_failure_of_the_patch(run: HookRun, reason: str) -> None:
    result = judged(run)
    assert (result.outcome, result.reason) == ("not-run", reason)


def test_only_a_hook_that_needs_the_network_may_blame_it() -> None:
    run = HookRun("Failed", "error: failed\n  Caused by: dns error", 2)
    assert judged(run, network=True).outcome == "not-run"
    assert judged(run).outcome == "fail"


def test_a_hook_that_rewrote_a_file_after_a_network_warning_failed() -> None:
    run = HookRun("Failed", "warning: dns error, going on without", 0, modified=True)
    assert judged(run, network=True).outcome == "fail"


def test_output_shows_neither_the_copys_place_nor_colours_nor_a_password() -> None:
    text = f"{ROOT}/vllm/a.py:1: \x1b[91merror:\x1b[0m see https://me:hunter2@index.example/simple in {ROOT}"
    shown = judged(HookRun("Failed", text, 1)).output
    assert shown == "vllm/a.py:1: error: see https://***@index.example/simple in ."


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            "ERROR: Could not find a version\nERROR: No matching distribution for x==1\nCheck the log at f",
            "ERROR: Could not find a version; ERROR: No matching distribution for x==1",
        ),
        ("   error: subprocess-exited-with-error\n   error: <urlopen error>\nerror: failed-wheel-build\n",
         "error: <urlopen error>"),
        ("npm error code E404\nnpm error 404 Not Found", "npm error code E404; npm error 404 Not Found"),
        ("An error has occurred: InvalidConfigError:\n==> wrong type", None),
        ("", "pre-commit ended without a word"),
    ],
)  # fmt: skip
def test_the_reason_is_the_installers_own_words(said: str, why: str | None) -> None:
    assert _why(said) == (why or "An error has occurred: InvalidConfigError:; ==> wrong type")


def test_every_result_can_be_written_as_json() -> None:
    import msgspec

    built: dict[str, Any] = msgspec.to_builtins(judged(HookRun("Failed", "no", 1)))
    assert built["hook"] == "a"
