"""How well the scan finds known duplicates: fill an index, ask for each pair, count the ranks."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import msgspec
from pinproof.duplicates import scan
from pinproof.duplicates.diffs import facts_of_files
from pinproof.duplicates.index import Index, open_index
from pinproof.duplicates.pulls import from_graphql
from pinproof.duplicates.ranking import Scored, rank
from pinproof.duplicates.recall import candidates, rarity
from pinproof.duplicates.subject import Subject, describe
from pinproof.duplicates.verdicts import judge
from pinproof.patchset.patchfile import parse_patch

from tests.duplicates.facts import Known
from tests.duplicates.github_data import pull_node
from tests.duplicates.synthetic import Repository, as_patch_file

REPO = "vllm-project/vllm"


class Figures(msgspec.Struct, kw_only=True):
    """Ranks of the originals, one for each pair, and what else the run showed."""

    ranks: list[int]
    unfiltered: list[int]
    negatives_same_change: int
    to_answer: list[int]
    """For each query, how many other hits would ask a human for a reason."""
    seconds: list[float]
    verdicts: dict[str, int]
    misses: list[str]

    def recall(self, at: int) -> float:
        """The share of pairs whose original is among the first `at`."""
        return sum(rank <= at for rank in self.ranks) / len(self.ranks)

    def mrr(self) -> float:
        """The mean reciprocal rank."""
        return statistics.mean(1 / rank for rank in self.ranks)


def fill(repository: Repository, path: Path) -> Index:
    """An index with all pull requests as GraphQL tells them, without diffs."""
    index = open_index(path)
    pulls = [from_graphql(pull_node(made), REPO) for made in repository.pulls.values()]
    for at in range(0, len(pulls), 100):
        index.store(pulls[at : at + 100])
    return index


def ask(index: Index, repository: Repository, number: int) -> tuple[Subject, list[Scored], float]:
    """Rank all against one pull request taken as a patch, comparing the diffs of the best, as a scan does."""
    made = repository.pulls[number]
    subject = describe(parse_patch(as_patch_file(made), f"{number}.patch"), REPO)
    started = time.perf_counter()
    first = _ranked(index, subject, number)
    seconds = time.perf_counter() - started
    for scored in first[: scan.CLOSER_LOOK]:
        other = repository.pulls[scored.candidate.number]
        index.store_diff(other.number, other.head, facts_of_files(other.patches.items()), other.patches)
    started = time.perf_counter()
    ranked = _ranked(index, subject, number)
    return subject, ranked, seconds + time.perf_counter() - started


def _ranked(index: Index, subject: Subject, number: int) -> list[Scored]:
    rare = rarity(index, subject)
    found = [candidate for candidate in candidates(index, subject, rare) if candidate.number != number]
    return rank(subject, found, rare)


def evaluate(index: Index, repository: Repository, known: Known) -> Figures:
    """Ask for every pair; other known duplicates of the same pull request do not count against a rank."""
    figures = Figures(
        ranks=[], unfiltered=[], negatives_same_change=0, to_answer=[], seconds=[], verdicts={}, misses=[]
    )
    groups = _groups(known.pairs)
    for dup, original in known.pairs:
        subject, ranked, seconds = ask(index, repository, dup)
        order = [scored.candidate.number for scored in ranked]
        others = groups[dup] - {original}
        figures.unfiltered.append(_rank(order, original))
        figures.ranks.append(_rank([number for number in order if number not in others], original))
        figures.seconds.append(seconds)
        hits = {hit.number: hit for hit in (judge(subject, scored) for scored in ranked)}
        verdict = hits[original].verdict if original in hits else "not seen"
        figures.verdicts[verdict] = figures.verdicts.get(verdict, 0) + 1
        same = [hit for hit in hits.values() if hit.verdict.startswith("same")]
        figures.to_answer.append(sum(hit.number not in groups[dup] for hit in same))
        if figures.ranks[-1] > 1:
            figures.misses.append(f"{dup} -> {original}: rank {figures.ranks[-1]}, first is {order[0]}")
    for one, other in known.negatives:
        subject, ranked, _ = ask(index, repository, one)
        hits = {hit.number: hit for hit in (judge(subject, scored) for scored in ranked)}
        figures.negatives_same_change += other in hits and hits[other].verdict == "same change"
    return figures


def _rank(order: list[int], number: int) -> int:
    return order.index(number) + 1 if number in order else 10_000


def _groups(pairs: list[tuple[int, int]]) -> dict[int, set[int]]:
    """All pull requests that known pairs join, however indirectly."""
    groups: dict[int, set[int]] = {}
    for one, other in pairs:
        joined = groups.get(one, {one}) | groups.get(other, {other})
        groups.update(dict.fromkeys(joined, joined))
    return groups
