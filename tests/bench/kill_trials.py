"""Kills of apply and revert: no file may be torn, and git's index may never part from the worktree.

    python -m tests.bench.kill_trials [--trials 500] [--processes 40] [--seed 1] [--kinds git,plain]

Two kinds of trial, each on a plain tree and on a git checkout, each with four signals: SIGKILL, SIGKILL
of the whole process group (git dies too), SIGINT and SIGTERM. In the first a forked child has planned an
apply or a revert and is hit at a random moment of carrying it out. In the second the real `pinproof
apply` process is hit at a random moment of its life. After each: every file is whole, the next run
settles the tree, the index holds what the worktree holds, no lock and nothing of ours is left. After
SIGINT and SIGTERM all this must be true before the next run. Exits 1 on the first failure.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pinproof.errors import Refused
from pinproof.patchset.apply import carry_out, plan_apply, plan_revert, settle_tree
from pinproof.patchset.patchfile import Patch
from pinproof.patchset.series import find_patch
from pinproof.signals import raise_on_termination
from pinproof.tree import open_tree

from tests.trees import MODEL, SITU, make_tree, model_file

Tally = collections.Counter[str]
SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGKILL of the group": signal.SIGKILL, "SIGINT": signal.SIGINT,
           "SIGTERM": signal.SIGTERM}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--processes", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default="plain,git")
    options = parser.parse_args()
    patch = find_patch("0001")
    for kind in options.kinds.split(","):
        for trial, count in ((forked, options.trials), (process, options.processes)):
            for how in SIGNALS:
                with tempfile.TemporaryDirectory() as name:
                    root = make_tree(Path(name) / "tree", patch, fixed=False, declares=SITU)
                    if kind == "git":
                        commit(root)
                    tally = run_trials(trial, count, root, patch, how, random.Random(options.seed))
                print(f"{kind}, {trial.__name__}, {how}: {count} trials, 0 bad; {said(tally)}", flush=True)
    return 0


def run_trials(trial: object, count: int, root: Path, patch: Patch, how: str, rng: random.Random) -> Tally:
    assert callable(trial)
    tally: Tally = collections.Counter()
    spans = []
    for _ in range(5):  # how long an undisturbed one takes, in both directions
        before, started = (root / MODEL).read_bytes(), time.monotonic()
        trial(root, patch, how, None)
        spans.append(time.monotonic() - started)
        if (root / MODEL).read_bytes() == before:
            raise SystemExit("an undisturbed run changed nothing: the trials would prove nothing")
    span = statistics.median(spans)
    for _ in range(count):
        before = (root / MODEL).read_bytes()
        trial(root, patch, how, rng.random() * span * 1.1)
        check(root, patch, before, how, tally)
    return tally


def forked(root: Path, patch: Patch, how: str, after_s: float | None) -> None:
    """Fork, plan, then carry out; hit `after_s` seconds into the carrying out."""
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        with contextlib.suppress(BaseException), open(os.devnull, "w") as null:  # noqa: PTH123
            sys.stderr = null
            raise_on_termination()
            tree = open_tree(root)
            fixed = (root / MODEL).read_bytes() == model_file(patch, fixed=True)
            plan = plan_revert([patch], tree, named=True) if fixed else plan_apply([patch], tree, named=True)
            os.write(go, b"x")
            carry_out(plan, tree, series=[patch])
        os._exit(0)
    os.close(go)
    os.read(ready, 1)
    os.close(ready)
    hit(child, how, after_s)
    os.waitpid(child, 0)


def process(root: Path, patch: Patch, how: str, after_s: float | None) -> None:
    """The real command in a process of its own, hit `after_s` seconds after its start."""
    fixed = (root / MODEL).read_bytes() == model_file(patch, fixed=True)
    command = [sys.executable, "-m", "pinproof", "apply", *(["--revert"] if fixed else []), str(root)]
    child = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    hit(child.pid, how, after_s)
    child.wait()


def hit(child: int, how: str, after_s: float | None) -> None:
    if after_s is not None:
        time.sleep(after_s)
        send = os.killpg if "group" in how else os.kill
        with contextlib.suppress(ProcessLookupError):
            send(child, SIGNALS[how])


def check(root: Path, patch: Patch, before: bytes, how: str, tally: Tally) -> None:
    """Whole now; whole, tidy and agreed after the next run settles it, or already after a soft signal."""
    whole = [model_file(patch, fixed=fixed) for fixed in (False, True)]
    if (root / MODEL).read_bytes() not in whole:
        raise SystemExit(f"TORN: {root / MODEL}")
    settled = None
    if "KILL" in how:
        settled = settle_when_free(root)
    after = (root / MODEL).read_bytes()
    stray = [path for path in root.rglob("*") if "pinproof" in path.name or path.name == "index.lock"]
    if after not in whole or stray:
        raise SystemExit(f"NOT SETTLED: {stray or MODEL}")
    if (root / ".git").exists() and differs(root):
        raise SystemExit(f"INDEX AND WORKTREE DIFFER: {differs(root)}")
    tally[settled or ("changed" if after != before else "nothing changed")] += 1


def settle_when_free(root: Path) -> str | None:
    """What the next run does; it waits for a git child of the killed run, which ends by itself."""
    for _ in range(200):
        try:
            return settle_tree(open_tree(root))
        except Refused:
            time.sleep(0.01)
    raise SystemExit(f"STILL LOCKED: {root}")


def differs(root: Path) -> str:
    done = subprocess.run(
        ["git", "diff", "--name-only"], cwd=root, check=True, capture_output=True, text=True
    )
    return done.stdout


def commit(root: Path) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    for args in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "base")):
        subprocess.run(["git", *args], cwd=root, check=True)


def said(tally: Tally) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(tally.items()))


if __name__ == "__main__":
    sys.exit(main())
