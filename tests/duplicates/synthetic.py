"""A repository of pull requests in vLLM's shape, made from real file names and code names by seed.

How the decoys are made is told in docs/duplicates.md; nothing in them is copied from a pull request.
"""

from __future__ import annotations

import json
import random
import re
from datetime import datetime, timedelta, timezone
from functools import cache
from pathlib import Path

import msgspec

from tests.duplicates.facts import Facts, Known

NAMES = Path(__file__).parent.parent / "data" / "vllm-names.json"
TODAY = datetime(2026, 11, 30, tzinfo=timezone.utc)
NEAR_MISSES = 6
"""Decoys around each planted pull request: same files, shared names, words of its title, near dates."""
TOLD, CHANGED = 0.9, 0.75
"""How likely a known name stands in the text of a planted pull request or near-miss, and in its diff. The
names are known from texts (bodies and discussions), so that they stand there is nearly certain."""

# fmt: off
_TAGS = (
    "[Bugfix]", "[Core]", "[Model]", "[Frontend]", "[Perf]", "[Misc]", "[CI]", "[Refactor]",
    "[ROCm]", "[Quantization]", "[V1]", "[Spec Decode]", "[Build]", "[Doc]", "[XPU]", "",
)
_VERBS = (
    "Fix", "Support", "Handle", "Avoid", "Remove unused", "Refactor", "Add test for", "Speed up", "Guard",
    "Correct", "Enable", "Simplify", "Update", "Restore", "Bump", "Validate",
)
_NOUNS = (
    "when batch is empty", "for chunked prefill", "on Blackwell", "in streaming mode", "for MoE models",
    "with CUDA graphs", "under data parallel", "after warmup", "for quantized weights", "on startup",
    "with prefix caching", "crash", "regression", "shape mismatch", "error message", "",
)
_PROSE = (
    "The value was read before it was set.", "This path is only reached with tensor parallel size above one.",
    "Before this change the worker stopped with an error on the first request.", "No functional change.",
    "The check ran on every step although the result does not change.", "Follow-up of an earlier refactor.",
    "Ran the unit tests locally on one GPU, all pass.", "Accuracy on GSM8K is unchanged.",
    "Throughput improves by about two percent on H100.", "The old name is kept for compatibility.",
    "Found while serving with a long context.", "Tested with eager mode and with CUDA graphs.",
)
# fmt: on
# Days between the two pull requests of each pair of the corpus that has both dates.
_GAPS = (0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 5, 15, 15, 57, 145)
_COMMIT = re.compile(r"(?=.*\d)[0-9a-f]{7,40}")
_CHECKLIST = (
    "---\n<details>\n<summary>Essential Elements of an Effective PR Description Checklist</summary>\n\n"
    "- [x] The purpose of the PR\n- [x] The test plan\n- [x] The test results\n</details>\n"
)


class Made(msgspec.Struct, kw_only=True):
    """A made pull request; `patches` are the changed files with their diffs as GitHub lists them."""

    number: int
    title: str
    body: str
    state: str
    created: datetime
    updated: datetime
    closed: datetime | None
    author: str
    branch: str
    patches: dict[str, str]
    closes: set[int]
    base: str = "main"
    draft: bool = False
    merge: str | None = None
    commit: str | None = None

    @property
    def head(self) -> str:
        """A commit hash that moves when the pull request is updated by a push."""
        if self.commit:
            return self.commit
        return f"{self.number:020x}{int(self.created.timestamp()):020x}"


class Repository(msgspec.Struct):
    """All pull requests by number, and those that were planted."""

    pulls: dict[int, Made]
    planted: set[int]


@cache
def names_table() -> dict[str, list[str]]:
    """Real files with names from their code, the largest file first."""
    return {path: text.split() for path, text in json.loads(NAMES.read_text()).items()}


def build(
    known: Known, *, total: int = 10_000, opened: int = 2_000, seed: int = 1, titles: bool = True,
    near_misses: int = NEAR_MISSES,
) -> Repository:  # fmt: skip
    """Make a repository.

    Args:
        known: what to plant.
        total: how many pull requests there are in the end, planted ones and near-misses included.
        opened: about how many of them are open.
        seed: the same seed gives the same repository.
        titles: False withholds the planted pull requests' real titles; they get made-up ones.
    """
    maker = _Maker(random.Random(seed), opened / total, titles)
    for facts in sorted(known.pulls.values(), key=lambda facts: facts.number):
        maker.plant(facts)
    planted = set(maker.pulls)
    for facts in sorted(known.pulls.values(), key=lambda facts: facts.number):
        maker.surround(facts, near_misses)
    while len(maker.pulls) < total:
        maker.decoy()
    return Repository(maker.pulls, planted)


class _Maker:
    def __init__(self, rng: random.Random, open_share: float, titles: bool) -> None:
        self.rng = rng
        self.open_share = open_share
        self.titles = titles
        self.pulls: dict[int, Made] = {}
        self.dates: dict[tuple[str, ...], datetime] = {}
        self.table = names_table()
        self.words: dict[str, list[str]] = {}
        code = [
            path for path in self.table if not path.startswith(("tests/", "rust/src/server/src/routes/tests"))
        ]
        self.files = code
        self.weights = [1.0 / (rank + 15) for rank in range(len(code))]
        self.tests = [path for path in self.table if path.startswith("tests/")]

    def vocabulary(self, path: str) -> list[str]:
        """Names of a file and of a neighbour, whose names its changes use too."""
        if path not in self.words:
            folder = path.rsplit("/", 1)[0]
            near = [other for other in self.table if other.startswith(folder) and other != path]
            neighbour = self.table[self.rng.choice(near or self.files[:200])]
            own = self.table.get(path) or self.table[self.rng.choice(near or self.files[:200])]
            self.words[path] = [*own, *neighbour]
        return self.words[path]

    def plant(self, facts: Facts) -> None:
        """A pull request with the known facts; what is unknown is made as for any other."""
        files = facts.files or [self.popular()]
        about = [self.rng.choice(facts.names)] if self.titles and facts.names else []
        title = facts.title if self.titles and facts.title else self.title(files[0], about)
        date = self.date_of(facts)
        self.add(facts.number, title, files, facts.names, date, facts.closes, facts.state, facts.place)

    def date_of(self, facts: Facts) -> datetime:
        """Its date, or one near the date of a known pull request that shares its files."""
        if facts.date:
            date = datetime.fromisoformat(facts.date).replace(tzinfo=timezone.utc)
        else:
            anchor = self.dates.get(tuple(facts.files), TODAY - timedelta(days=self.rng.randint(60, 200)))
            date = anchor + timedelta(days=self.rng.choice(_GAPS) * self.rng.choice((-1, 1)))
        self.dates.setdefault(tuple(facts.files), date)
        return date + timedelta(minutes=self.rng.randint(0, 1400))

    def surround(self, facts: Facts, count: int) -> None:
        """Near-misses by turns: the same files only, the files and half of the names, only the names."""
        for at in range(count):
            date = self.pulls[facts.number].created + timedelta(days=self.rng.uniform(-45, 45))
            some = [self.other_value(name) for name in self.rng.sample(facts.names, len(facts.names) // 2)]
            if at % 3 == 0:
                files, shared = facts.files or [self.popular()], []
            elif at % 3 == 1:
                files, shared = facts.files or [self.popular()], some
            else:
                files, shared = [self.popular()], list(facts.names)
            words = re.findall(r"[A-Za-z0-9_]{4,}", facts.title or "") if self.titles else []
            title = self.title(files[0], self.rng.sample(words, min(3, len(words))))
            self.add(self.number(), title, files, shared, date, set(), None)

    def other_value(self, name: str) -> str:
        """A name as it is; a version or commit changed, since a bump to the same value is a duplicate."""
        digit = self.rng.choice("1234567")
        if _COMMIT.fullmatch(name):
            return digit + name[1:] if digit != name[0] else f"8{name[1:]}"
        return f"{name}{digit}" if re.fullmatch(r"[\d.]+\d", name) else name

    def decoy(self) -> None:
        """Any other pull request: one to a few files of one area, large files more often."""
        files = [self.popular()]
        folder = files[0].rsplit("/", 1)[0]
        near = [path for path in self.files if path.startswith(folder)]
        for _ in range(min(int(self.rng.expovariate(0.6)), 12)):
            files.append(self.rng.choice(near))
        if self.rng.random() < 0.4:
            files.append(self.rng.choice(self.tests))
        date = TODAY - timedelta(days=self.rng.uniform(0, 330))
        closes = {self.rng.randint(20_000, 58_000)} if self.rng.random() < 0.35 else set()
        self.add(self.number(), self.title(files[0], []), list(dict.fromkeys(files)), [], date, closes, None)

    def popular(self) -> str:
        return self.rng.choices(self.files, self.weights)[0]

    def number(self) -> int:
        while True:
            number = self.rng.randint(20_000, 60_000)
            if number not in self.pulls:
                return number

    def title(self, path: str, extra: list[str]) -> str:
        stem = path.rsplit("/", 1)[-1].split(".")[0].replace("_", " ")
        name = self.rng.choice(self.vocabulary(path))
        subject = self.rng.choice((stem, f"{name} in {stem}", name.replace("_", " ")))
        parts = (self.rng.choice(_VERBS), *extra, subject, self.rng.choice(_NOUNS))
        return f"{self.rng.choice(_TAGS)} {' '.join(part for part in parts if part)}".strip()

    def add(
        self, number: int, title: str, files: list[str], names: list[str], date: datetime,
        closes: set[int], state: str | None, place: int | None = None,
    ) -> None:  # fmt: skip
        """One pull request; each of `names` stands in its text (TOLD) and in its diff (CHANGED) by chance."""
        rng = self.rng
        told = [name for name in names if rng.random() < TOLD]
        changed = [name for name in names if rng.random() < CHANGED] or ([] if told else names[:1])
        used = {path: rng.sample(self.vocabulary(path), 6) for path in files}
        told += rng.sample(used[files[0]], 3)
        state = state or rng.choices(("open", "merged", "closed"), (self.open_share, 0.62, 0.18))[0]
        closed = None if state == "open" else min(date + timedelta(days=rng.expovariate(1 / 6)), TODAY)
        updated = closed or min(date + timedelta(days=rng.expovariate(1 / 12)), TODAY)
        patches = {
            path: self.patch(path, own, changed if at == 0 else changed[:1], place)
            for at, (path, own) in enumerate(used.items())
        }
        self.pulls[number] = Made(
            number=number, title=title, body=self.body(told, closes), state=state, created=date,
            updated=updated.replace(microsecond=0), closed=closed, author=f"user{rng.randint(1, 900)}",
            branch=f"fix-{rng.randint(1, 9999)}", patches=patches, closes=closes,
        )  # fmt: skip

    def body(self, told: list[str], closes: set[int]) -> str:
        """A body in vLLM's shape that names what the change is about."""
        rng = self.rng
        mention = [f"`{name}`" if re.fullmatch(r"\w+", name) else name for name in told]
        rng.shuffle(mention)
        lines = ["## Purpose", *(f"{rng.choice(_PROSE)} See {name}." for name in mention)]
        lines += [f"{rng.choice(('Fixes', 'Closes', 'Resolves'))} #{number}" for number in sorted(closes)]
        lines += ["## Test Plan", f"pytest {rng.choice(self.tests)}", "## Test Result"]
        lines += rng.choices(_PROSE, k=rng.randint(1, 6))
        return "\n".join([*lines, _CHECKLIST])

    def place(self, words: list[str], place: int | None) -> tuple[int, str]:
        """A line and a function; where the place is known to be shared, the same but for some drift."""
        if place is None:
            return self.rng.randint(10, 1500), self.rng.choice(words)
        known = random.Random(place)
        return known.randint(10, 1500) + self.rng.randint(-8, 8), known.choice(words)

    def patch(self, path: str, own: list[str], changed: list[str], place: int | None) -> str:
        """One or two hunks with names of the file and the shared names on their changed lines."""
        rng = self.rng
        words = self.vocabulary(path)
        plain = [name.split()[0] if " " in name else name for name in changed]
        hunks: list[str] = []
        for at in range(1 if len(plain) < 3 else 2):
            start, scope = self.place(words, place)
            section = f" def {scope}(self) -> None:" if path.endswith(".py") else ""
            old = [f"-    {own[0]} = {own[1]}({own[2]}=None)"]
            new = [f"+    {rng.choice(own)} = {name}({rng.choice(own)})" for name in plain[at::2]]
            new.append(f"+    {own[3]} = {own[4]}({own[5]}={rng.randint(0, 9)})")
            lines = [f"     {rng.choice(words)}()", *old, *new, f"     return {rng.choice(words)}"]
            hunks.append(f"@@ -{start},3 +{start},{2 + len(new)} @@{section}\n" + "\n".join(lines))
        return "\n".join(hunks)


def as_patch_file(made: Made) -> bytes:
    """The pull request as a patch file, as its author would keep it here."""
    date = made.created.strftime("%a, %d %b %Y %H:%M:%S +0000")
    lines = [
        "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001",
        f"From: {made.author} <{made.author}@example.org>", f"Date: {date}", f"Subject: [PATCH] {made.title}",
        "", made.body.split("---\n<details>")[0].strip(), "",
    ]  # fmt: skip
    for path, patch in made.patches.items():
        lines += [f"diff --git a/{path} b/{path}", f"--- a/{path}", f"+++ b/{path}", patch]
    return ("\n".join(lines) + "\n").encode()
