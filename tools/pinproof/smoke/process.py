"""Run one child under the user's interpreter: progress, watchdog, log, and what it reported."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pinproof.console import note
from pinproof.environment import without_secrets
from pinproof.errors import CannotCheck
from pinproof.paths import cache_dir
from pinproof.smoke.record import sha256

PACKAGE = Path(__file__).parent
"""What a child sees as `pinproof_smoke`: this package, of which it imports the `child` folders only."""
_GRACE_S = 15.0
# No log of a run that works comes near; what prints more is stopped, for the disk is not ours to fill.
_LARGEST_LOG = 64 * 1024 * 1024


@dataclass
class Child:
    """What came of one child.

    Attributes:
        events: what it reported, in order, all ranks mixed.
        returncode: its exit status, negative for a signal.
        log: everything it printed.
        duration_s: wall time.
        hung: it was stopped because it did not end in time.
    """

    events: list[dict[str, Any]]
    returncode: int
    log: bytes
    duration_s: float
    hung: bool = False
    log_sha256: str = field(init=False)

    def __post_init__(self) -> None:
        self.log_sha256 = sha256(self.log)

    def all(self, event: str) -> list[dict[str, Any]]:
        """Every report of this kind, one a rank."""
        return [entry for entry in self.events if entry["event"] == event]

    def first(self, event: str) -> dict[str, Any] | None:
        """The first report of this kind, None when there was none."""
        return next(iter(self.all(event)), None)

    def last_step(self) -> str:
        """The step that was under way at the end."""
        steps = self.all("step")
        return str(steps[-1].get("name")) if steps else "starting"

    def tail(self, lines: int = 8) -> str:
        """The end of what it printed."""
        text = self.log[-4000:].decode(errors="replace")
        return "\n".join(text.splitlines()[-lines:])


def run_child(
    python: str,
    module: str,
    *,
    base: Path,
    tree: Path | None,
    nproc: int = 1,
    timeout_s: float,
    label: str,
    more: Mapping[str, Any] | None = None,
) -> Child:
    """Run `pinproof_smoke.MODULE` and wait for it.

    Args:
        python: the interpreter.
        module: the child's module below this package, as in `child.machine`.
        base: a folder of this run's own, for the job, the report and the log.
        tree: the laid-out tree to put first on the path, None for none.
        nproc: processes; more than one goes through torch.distributed.run.
        timeout_s: after this the child dumps all stacks and ends itself; a little later it is killed.
        label: how progress lines begin.
        more: what else the job holds: `watch` for the lines to report on, `imports` for what to compile.

    Raises:
        CannotCheck: the interpreter cannot be started.
    """
    name = module.rpartition(".")[2]
    report, log = base / f"{name}.jsonl", base / f"{name}.log"
    report.write_bytes(b"")
    job = {
        "report": str(report), "timeout_s": timeout_s, "nproc": nproc, "work": str(base / "work"),
        "tree": str(tree) if tree else None, **(more or {}),
    }  # fmt: skip
    (base / f"{name}.json").write_text(json.dumps(job), encoding="utf-8")
    command = [*_launcher(python, module, nproc), str(base / f"{name}.json")]
    start = time.monotonic()
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(
                command, cwd=base, env=environment(base, tree, nproc), stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise CannotCheck(
                f"cannot start {python}: {error.strerror}", hint="give --python /path/to/python"
            ) from error
        hung = _watch(process, (report, log), start + timeout_s + _GRACE_S, label)
    events = _read(report)
    if process.returncode:
        note(f"{label}: its log is {log}")
    return Child(events, process.returncode, _text_of(log), time.monotonic() - start, hung)


def _launcher(python: str, module: str, nproc: int) -> list[str]:
    if nproc == 1 or module.endswith(".model"):  # the engine starts its own workers
        return [python, "-m", f"pinproof_smoke.{module}"]
    return [python, "-m", "torch.distributed.run", f"--nproc-per-node={nproc}", "--master-addr=127.0.0.1",
            f"--master-port={_free_port()}", "-m", f"pinproof_smoke.{module}"]  # fmt: skip


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(base: Path, tree: Path | None, nproc: int) -> dict[str, str]:
    """The child's environment: the caller's less its secrets, with the tree first and caches of our own."""
    env = without_secrets(os.environ)
    (base / "path").mkdir(exist_ok=True)
    link = base / "path" / "pinproof_smoke"
    if not link.is_symlink() or link.readlink() != PACKAGE:
        # The cache outlives the checkout that made it: another one, or a moved one, brings its own children.
        link.unlink(missing_ok=True)
        link.symlink_to(PACKAGE)
    parts = [str(base / "path"), *([str(tree)] if tree else []), *filter(None, [env.get("PYTHONPATH")])]
    env.update(PYTHONPATH=os.pathsep.join(parts), PYTHONUNBUFFERED="1", HF_HUB_OFFLINE="1",
               VLLM_NO_USAGE_STATS="1", VLLM_DO_NOT_TRACK="1")  # fmt: skip
    env.setdefault("TRITON_CACHE_DIR", str(cache_dir("smoke", "triton")))
    env.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache_dir("smoke", "inductor")))
    env.setdefault("VLLM_CACHE_ROOT", str(cache_dir("smoke", "vllm")))
    env.setdefault("DG_JIT_CACHE_DIR", str(cache_dir("smoke", "deep_gemm")))
    if env.pop("PYTHONDONTWRITEBYTECODE", ""):  # common in images; it makes every import a compilation
        env.setdefault("PYTHONPYCACHEPREFIX", str(cache_dir("smoke", "bytecode")))
    if nproc == 1:
        env.setdefault("MASTER_ADDR", "127.0.0.1")
        env.setdefault("MASTER_PORT", str(_free_port()))
        env.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    return env


def _text_of(log: Path) -> bytes:
    """What a child printed, without the middle of what is too much to read."""
    with log.open("rb") as stream:
        text = stream.read(_LARGEST_LOG)
        left_out = os.fstat(stream.fileno()).st_size - len(text)
    return text if left_out <= 0 else text + f"\n[{left_out} more bytes; stopped]\n".encode()


def _watch(process: subprocess.Popen[bytes], files: tuple[Path, Path], deadline: float, label: str) -> bool:
    """Show steps as they are reported until the child ends.

    Past the deadline, or when the report or the log outgrow all bounds, it is killed with its workers.
    """
    report, shown, hung = files[0], 0, False
    try:
        while process.poll() is None:
            shown = _show(report, shown, label)
            if time.monotonic() > deadline:
                hung = True
                break
            if any(path.stat().st_size > _LARGEST_LOG for path in files):
                note(f"{label}: stopped, it printed over {_LARGEST_LOG >> 20} MiB")
                break
            time.sleep(0.1)
        _show(report, shown, label)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return hung


def _show(report: Path, shown: int, label: str) -> int:
    steps = [entry for entry in _read(report) if entry["event"] == "step" and entry.get("rank") == 0]
    for entry in steps[shown:]:
        note(f"{label}: {entry.get('name')}")
    return len(steps)


def _read(report: Path) -> list[dict[str, Any]]:
    """The complete lines of a report; a line still being written, or cut off by a crash, is left out."""
    events = []
    with report.open("rb") as stream:
        raw = stream.read(_LARGEST_LOG)
    for line in raw.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            entry = json.loads(line)
            if isinstance(entry, dict) and isinstance(entry.get("event"), str):
                events.append(entry)
    return events
