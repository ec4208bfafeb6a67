from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from pinproof.errors import CannotCheck
from pinproof.smoke import process, verdicts
from pinproof.smoke.process import environment, run_child

from tests.smoke.conftest import RunBody


def test_a_child_reports_steps_and_findings_in_order(run_body: RunBody) -> None:
    child = run_body("with step('looking'):\n    say('found', value=3)")
    assert [entry["event"] for entry in child.events] == ["step", "found", "done", "finished"]
    assert child.first("found") == {"event": "found", "rank": 0, "value": 3}
    assert child.returncode == 0
    assert child.last_step() == "looking"


def test_steps_are_shown_as_progress(run_body: RunBody, capsys: pytest.CaptureFixture[str]) -> None:
    run_body("with step('importing a lot'):\n    pass")
    assert "test: importing a lot" in capsys.readouterr().err


def test_an_exception_becomes_a_crash_with_its_place(run_body: RunBody) -> None:
    child = run_body("with step('dividing'):\n    1 / 0")
    crash = child.first("crashed")
    assert crash is not None
    assert crash["error"]["type"] == "ZeroDivisionError"
    found = verdicts.broken_run("bind", child)
    assert found is not None
    assert found.outcome == "error"
    assert found.summary == "ZeroDivisionError while dividing: division by zero"


def test_a_missing_package_is_a_skip_that_names_it(run_body: RunBody) -> None:
    found = verdicts.broken_run("bind", run_body("import no_such_package_here.part"))
    assert found is not None
    assert found.outcome == "skip"
    assert found.clear == "PYTHON -m pip install no_such_package_here"


def test_a_fault_ends_the_child_only_and_is_reported_with_its_step(run_body: RunBody) -> None:
    child = run_body("with step('launching'):\n    os.abort()")
    found = verdicts.broken_run("kernel", child)
    assert child.returncode == -signal.SIGABRT
    assert found is not None
    assert found.outcome == "error"
    assert found.summary == "the child process ended with signal 6 while launching"


def test_a_hang_is_stopped_with_a_dump_of_all_stacks(run_body: RunBody) -> None:
    start = time.monotonic()
    child = run_body("with step('waiting'):\n    time.sleep(60)", timeout_s=0.7)
    assert time.monotonic() - start < 10
    found = verdicts.broken_run("kernel", child)
    assert found is not None
    assert found.outcome == "error"
    assert "hung while waiting" in found.summary
    assert "in main" in found.details["stacks"]


def test_a_child_that_ignores_its_own_watchdog_is_killed(
    run_body: RunBody, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_GRACE_S", 0.5)
    body = "import faulthandler\nfaulthandler.cancel_dump_traceback_later()\ntime.sleep(60)"
    child = run_body(body, timeout_s=0.5)
    assert child.hung
    assert child.returncode == -signal.SIGKILL


def test_workers_of_a_finished_child_do_not_outlive_it(run_body: RunBody) -> None:
    child = run_body(
        "import subprocess\n"
        "worker = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "say('worker', pid=worker.pid)"
    )
    worker = child.first("worker")
    assert worker is not None
    for _ in range(50):
        if not _alive(worker["pid"]):
            return
        time.sleep(0.1)
    pytest.fail("the worker is still there")


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_an_interrupt_ends_the_child_and_is_passed_on(run_body: RunBody) -> None:
    def interrupt() -> None:
        time.sleep(1.0)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_body("time.sleep(60)")
    thread.join()
    assert time.monotonic() - start < 15


def test_a_line_cut_off_by_a_crash_is_left_out(run_body: RunBody) -> None:
    child = run_body("say('good')\nopen(job['report'], 'a').write('{\"event\": \"ba')\nos._exit(3)")
    assert [entry["event"] for entry in child.events] == ["good"]


def test_secrets_of_the_caller_do_not_reach_the_tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("GITHUB_TOKEN", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "MY_PASSWORD", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "hunter2")
    monkeypatch.setenv("KEYBOARD", "de")
    env = environment(tmp_path, None, 1)
    assert "hunter2" not in env.values()
    assert env["KEYBOARD"] == "de"


def test_settings_that_keep_nvlink_multicast_off_are_passed_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NCCL_NVLS_ENABLE", "0")
    assert environment(tmp_path, None, 2)["NCCL_NVLS_ENABLE"] == "0"


def test_bytecode_goes_to_a_cache_where_the_caller_forbids_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    env = environment(tmp_path, None, 1)
    assert "PYTHONDONTWRITEBYTECODE" not in env
    assert Path(env["PYTHONPYCACHEPREFIX"]).is_dir()


def test_the_laid_out_tree_comes_before_the_callers_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    parts = environment(tmp_path, tmp_path / "tree", 1)["PYTHONPATH"].split(os.pathsep)
    assert parts == [str(tmp_path / "path"), str(tmp_path / "tree"), "/elsewhere"]


def test_the_children_are_this_checkouts_whoever_filled_the_cache(tmp_path: Path) -> None:
    link = tmp_path / "path" / "pinproof_smoke"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "a checkout that is gone")
    environment(tmp_path, None, 1)
    assert link.readlink() == process.PACKAGE
    environment(tmp_path, None, 1)
    assert link.readlink() == process.PACKAGE


def test_an_interpreter_that_cannot_start_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(CannotCheck, match="cannot start /no/such/python"):
        run_child("/no/such/python", "probe", base=tmp_path, tree=None, timeout_s=5, label="test")


def test_the_children_import_without_pinproof(tmp_path: Path) -> None:
    """They run under the user's interpreter, which has none of pinproof's dependencies."""
    script = (
        "import sys, json; sys.modules['pinproof'] = sys.modules['msgspec'] = None\n"
        "import pinproof_smoke.child.report, pinproof_smoke.child.machine, pinproof_smoke.child.warm\n"
        "import pinproof_smoke.probes.kimi_k3_megamoe.child.bind\n"
        "import pinproof_smoke.probes.kimi_k3_megamoe.child.model\n"
        "import pinproof_smoke.probes.fused_moe_triton.child.bind\n"
    )
    env = environment(tmp_path, None, 1)
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_child_that_prints_without_end_is_stopped_and_its_log_is_bounded(
    run_body: RunBody, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(process, "_LARGEST_LOG", 100_000)
    child = run_body("while True:\n    sys.stdout.write('x' * 10_000)\n    sys.stdout.flush()")
    assert child.returncode == -signal.SIGKILL
    assert len(child.log) < 101_000
    assert child.log.endswith(b"more bytes; stopped]\n")
    assert len(child.tail()) <= 4000
    assert "stopped, it printed over" in capsys.readouterr().err


def test_lines_of_a_report_that_are_no_reports_are_passed_over(run_body: RunBody) -> None:
    body = (
        "f = open(job['report'], 'a')\nf.write('{\"event\":\"step\"}\\n' + '[' * 100_000 + '\\n')\nf.close()"
    )
    child = run_body(body)
    assert child.returncode == 0
    assert [entry["event"] for entry in child.events][-1] == "finished"


def test_a_child_reports_which_of_the_watched_lines_it_ran(run_body: RunBody, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "vllm").mkdir(parents=True)
    (tree / "vllm/__init__.py").touch()
    (tree / "vllm/a.py").write_text(
        "def f(x):\n    if x:\n        return g(\n            x)\n    return 0\n\n\ndef g(x):\n    return x\n"
    )
    watch = {"vllm/a.py": [[3, 4], [5, 5]], "vllm/absent.py": [[1, 9]]}
    child = run_body("from vllm.a import f\nwith watching(job):\n    f(1)\nf(0)", tree=tree, watch=watch)
    ran = child.first("ran lines")
    assert ran is not None, child.tail()
    assert ran["lines"] == {"vllm/a.py": [3, 4], "vllm/absent.py": []}


def test_the_watched_lines_are_reported_when_the_call_raises(run_body: RunBody, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "vllm").mkdir(parents=True)
    (tree / "vllm/__init__.py").write_text("def f():\n    raise TypeError('no')\n")
    body = "import vllm\ntry:\n    with watching(job):\n        vllm.f()\nexcept TypeError:\n    pass"
    child = run_body(body, tree=tree, watch={"vllm/__init__.py": [[2, 2]]})
    assert (child.first("ran lines") or {})["lines"] == {"vllm/__init__.py": [2]}
