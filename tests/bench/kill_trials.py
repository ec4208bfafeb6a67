"""Kill -9 trials of apply and revert: no file may ever be anything but the old bytes or the new ones.

    python -m tests.bench.kill_trials [--trials 500] [--processes 40] [--seed 1]

Two kinds of trial, each on a plain tree and on a git checkout. In the first a forked child has planned an
apply or a revert and is killed at a random moment of carrying it out. In the second the real `pinproof
apply` process is killed at a random moment of its life. After each: every file is whole, the next run
settles the tree, and apply and revert still work. Exits 1 on the first failure.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pinproof.patchset.apply import carry_out, plan_apply, plan_revert, settle_tree
from pinproof.patchset.patchfile import Patch
from pinproof.patchset.series import find_patch
from pinproof.tree import open_tree

from tests.trees import MODEL, SITU, make_tree, model_file

Tally = collections.Counter[str]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--processes", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    patch = find_patch("0001")
    for kind in ("plain", "git"):
        for trial, count in ((forked, options.trials), (process, options.processes)):
            with tempfile.TemporaryDirectory() as name:
                root = make_tree(Path(name) / "tree", patch, fixed=False, declares=SITU)
                if kind == "git":
                    commit(root)
                tally = run_trials(trial, count, root, patch, random.Random(options.seed))
            print(f"{kind}, {trial.__name__}: {count} trials, 0 torn files; " + said(tally))
    return 0


def run_trials(trial: object, count: int, root: Path, patch: Patch, rng: random.Random) -> Tally:
    assert callable(trial)
    tally: Tally = collections.Counter()
    span = 0.0
    for _ in range(3):  # how long an undisturbed one takes, and both directions once
        started = time.monotonic()
        trial(root, patch, None)
        span = max(span, time.monotonic() - started)
    for _ in range(count):
        before = (root / MODEL).read_bytes()
        trial(root, patch, rng.random() * span * 1.1)
        check(root, patch, before, tally)
    return tally


def forked(root: Path, patch: Patch, kill_after: float | None) -> None:
    """Fork, plan, then carry out; killed `kill_after` seconds into the carrying out."""
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        tree = open_tree(root)
        fixed = (root / MODEL).read_bytes() == model_file(patch, fixed=True)
        plan = plan_revert([patch], tree, named=True) if fixed else plan_apply([patch], tree, named=True)
        os.write(go, b"x")
        carry_out(plan, tree, series=[patch])
        os._exit(0)
    os.close(go)
    os.read(ready, 1)
    os.close(ready)
    end(child, kill_after)


def process(root: Path, patch: Patch, kill_after: float | None) -> None:
    """The real command in a process of its own, killed `kill_after` seconds after its start."""
    fixed = (root / MODEL).read_bytes() == model_file(patch, fixed=True)
    command = [sys.executable, "-m", "pinproof", "apply", *(["--revert"] if fixed else []), str(root)]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if kill_after is not None:
        time.sleep(kill_after)
        child.send_signal(signal.SIGKILL)
    child.wait()


def end(child: int, kill_after: float | None) -> None:
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def check(root: Path, patch: Patch, before: bytes, tally: Tally) -> None:
    """Whole now, whole and tidy after the next run settles it."""
    whole = [model_file(patch, fixed=fixed) for fixed in (False, True)]
    if (root / MODEL).read_bytes() not in whole:
        raise SystemExit(f"TORN: {root / MODEL}")
    for _ in range(200):  # a git of the killed run may still be at work; it ends by itself
        if not (root / ".git/index.lock").exists():
            break
        time.sleep(0.01)
    settled = settle_tree(open_tree(root))
    after = (root / MODEL).read_bytes()
    stray = list(root.rglob("*pinproof*"))
    if after not in whole or stray:
        raise SystemExit(f"NOT SETTLED: {stray or MODEL}")
    tally[settled or ("changed" if after != before else "nothing changed")] += 1


def commit(root: Path) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    for args in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "base")):
        subprocess.run(["git", *args], cwd=root, check=True)


def said(tally: Tally) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(tally.items()))


if __name__ == "__main__":
    sys.exit(main())
