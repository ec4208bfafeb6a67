"""Figures of the duplicate scan: `pytest tests/bench/test_duplicates.py --benchmark-only -s`.

The ranking and the gate are measured on real pull requests only. PINPROOF_DUPLICATES_REPOS names them, as
owner/name=FOLDER with commas between: bare git repositories that hold refs/pull/*/head (git clone --mirror).
PINPROOF_DUPLICATES_CORPUS names a file of known pairs in the form of tests/data/duplicates.json, and
PINPROOF_DUPLICATES_NEWEST how many pull requests are read of each (6,000). The requests are counted against
a local server that holds made-up ones: no rank and no rate rests on those.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections import Counter
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import pytest
from pinproof.duplicates.scan import duplicates_gate
from pinproof.patchset.patchfile import Patch
from pytest_benchmark.fixture import BenchmarkFixture

from tests.duplicates.evaluate import as_patch, ask, fill, lazy_copy, pairs, randomly, said_pairs
from tests.duplicates.facts import DATA, load_known
from tests.duplicates.github_server import SECRET, serve
from tests.duplicates.real import Real, extract, load, save
from tests.duplicates.synthetic import TODAY, build

_NAMED = os.environ.get("PINPROOF_DUPLICATES_REPOS", "")
REPOS = dict(item.split("=", 1) for item in _NAMED.split(",") if item)
ASKED = int(os.environ.get("PINPROOF_DUPLICATES_ASKED", "100"))


def known_pairs(repo: str, pulls: dict[int, Real]) -> list[tuple[int, int]]:
    """The pairs of the corpus that are in this repository."""
    corpus = json.loads(Path(os.environ.get("PINPROOF_DUPLICATES_CORPUS") or DATA).read_text())
    ends = [(pair["dup_pr"], pair["original_pr"]) for pair in corpus["pairs"] if pair.get("project") == repo]
    return [pair for pair in ends if pair[0] in pulls and pair[1] in pulls]


def read(repo: str, folder: Path) -> list[Real]:
    """The pull requests, kept between runs beside the index (PINPROOF_CACHE)."""
    kept = Path(os.environ.get("PINPROOF_CACHE", folder)) / f"real--{repo.replace('/', '--')}.msgpack"
    if not kept.exists():
        newest = int(os.environ.get("PINPROOF_DUPLICATES_NEWEST", "6000"))
        save(extract(Path(REPOS[repo]), newest), kept)
    return load(kept)


@pytest.mark.parametrize("repo", REPOS)
def test_real_pull_requests(benchmark: BenchmarkFixture, tmp_path: Path, repo: str) -> None:
    pulls = read(repo, tmp_path)
    by_number = {pull.number: pull for pull in pulls}
    path = tmp_path / "real.sqlite"
    index = benchmark.pedantic(partial(fill, pulls, path, repo), rounds=1)  # type: ignore[no-untyped-call]
    print(f"\n{repo}: {len(pulls)} pull requests, index {path.stat().st_size / 1e6:.0f} MB")
    listed = known_pairs(repo, by_number)
    for name, known in (("known pairs", listed), ("pairs that say so themselves", said_pairs(pulls))):
        if known:
            figures = pairs(index, by_number, known, repo)
            print(f"  {name}: {figures.told()}", *figures.misses, sep="\n    ")
    asked, seconds = [], []
    for pull in randomly(pulls, ASKED, seed=5):
        answer = ask(index, as_patch(pull), repo, pull.number, pull.base)
        asked.append(len(answer.asking(set())))
        seconds.append(answer.seconds)
    some = sum(map(bool, asked)) / len(asked)
    mean = statistics.mean(asked)
    print(f"  {len(asked)} random merged ones: {some:.0%} ask anything, {mean:.2f} hits a scan")
    print(f"  ranking: {statistics.median(seconds):.2f} s in the median, {max(seconds):.2f} s at most")
    copies = randomly(pulls, 2 * ASKED, seed=9)
    told = Counter(ask(index, lazy_copy(pull), repo, -1, pull.base).verdict(pull.number) for pull in copies)
    print(f"  lazy copies: {dict(told)}")
    index.close()
    assert set(told) <= {"same change", "reverted"}


def test_requests_of_a_first_and_a_second_scan(
    benchmark: BenchmarkFixture, patch: Patch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    repository = build(load_known(), seed=11)
    since = datetime(2025, 12, 1, tzinfo=timezone.utc)
    monkeypatch.setenv("GITHUB_SERVER_URL", f"file://{tmp_path}/none")
    with serve(repository.pulls) as server:
        monkeypatch.setenv("GITHUB_API_URL", server.url)
        monkeypatch.setenv("GITHUB_TOKEN", SECRET)
        scan = partial(duplicates_gate, patch, since=since)
        started = time.process_time()
        first = benchmark.pedantic(scan, rounds=1)  # type: ignore[no-untyped-call]
        spent = time.process_time() - started
        for at, made in enumerate(list(repository.pulls.values())[::200][:50]):
            made.updated = TODAY + timedelta(minutes=at + 1)
        server.changed()
        second = scan()
        assert server.violations == []
    print(f"\n{json.dumps(first.details['inspected'])}")
    for name, result in (("first", first), ("after 50 updates", second)):
        cost = result.details["graphql_cost"]
        print(f"{name}: {result.details['requests']} requests, {cost} GraphQL points, {result.outcome}")
    print(f"first scan with the server in the same process: {spent:.0f} CPU s")
    assert first.details["requests"] <= 160
    assert second.details["requests"] <= 5
