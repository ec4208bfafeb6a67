"""Real pull requests, read out of a repository's commits: their words, their diffs, what became of them.

A squash merge leaves "title (#number)" and the description on the trunk; what was never merged has its
head alone, and its commits' messages stand for title and description.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection, Iterable
from datetime import datetime, timezone
from pathlib import Path

import msgspec
from pinproof.duplicates.history import Changed, Commit, Trunk, commits, diffs

_SQUASHED = re.compile(r"^(.*?)\s*\(#(\d+)\)\s*$")
_TRUNK = "HEAD"
# A pull request larger than this is a vendored tree; nobody keeps one as a patch.
_MOST_TEXT = 1_000_000
_RELEASE = re.compile(r"refs/heads/(release|rel[-/]|v?\d|.*-dev$)")


class Real(msgspec.Struct, kw_only=True):
    """A pull request as its commits tell it; `opened` is when its author wrote it, in seconds."""

    number: int
    title: str
    body: str
    author: str
    opened: int
    ended: int
    state: str
    base: str
    head: str
    files: Changed

    @property
    def size(self) -> int:
        """The characters of its diff."""
        return sum(len(text or "") for _, text in self.files)

    @property
    def lines(self) -> int:
        """How many lines it changes."""
        texts = [text for _, text in self.files if text]
        return sum(line[:1] in ("+", "-") for text in texts for line in text.split("\n"))


def extract(repo: Path, newest: int, always: Collection[int] = ()) -> list[Real]:
    """The `newest` pull requests, merged or not, and those asked for `always`, by number."""
    heads = _heads(repo)
    trunk = list(commits(repo, [_TRUNK]))
    found = {pull.number: pull for pull in _merged(trunk, "main")}
    releases: dict[str, Commit] = {}
    branch_of: dict[str, str] = {}
    for branch in _branches(repo):
        own = list(commits(repo, [branch, f"^{_TRUNK}"]))
        name = branch.rpartition("heads/")[2]
        releases.update({made.id: made for made in own})
        branch_of.update(dict.fromkeys((made.id for made in own), name))
        for pull in _merged(own, name):
            found.setdefault(pull.number, pull)
    open_ones = {int(name.split("/")[2]) for name in _names(repo, "refs/pull/*/merge")}
    side = {made.id: made for made in commits(repo, [*heads.values(), f"^{_TRUNK}"])}
    parents = {identity: made.parents for identity, made in (side | releases).items()}
    by_id = side | releases | {made.id: made for made in trunk}
    line = Trunk([*trunk, *releases.values()])
    for number, head in heads.items():
        base = line.base(head, parents)
        if number not in found and base not in (None, head) and head in side:
            found[number] = _unmerged(number, head, base, by_id, number in open_ones)
    latest = set(sorted(found)[-newest:])
    kept = [pull for number, pull in sorted(found.items()) if number in latest or number in always]
    pairs = [_trees(pull, by_id, repo, branch_of) for pull in kept]
    for pull, files in zip(kept, diffs(repo, pairs), strict=True):
        pull.files = files or []
    return [pull for pull in kept if 0 < pull.size < _MOST_TEXT]


def _names(repo: Path, pattern: str) -> list[str]:
    asked = ["git", "for-each-ref", "--format=%(refname)", pattern]
    return subprocess.run(asked, cwd=repo, check=True, capture_output=True, text=True).stdout.split()


def _heads(repo: Path) -> dict[int, str]:
    asked = ["git", "for-each-ref", "--format=%(refname) %(objectname)", "refs/pull/*/head"]
    done = subprocess.run(asked, cwd=repo, check=True, capture_output=True, text=True)
    return {int(name.split("/")[2]): head for name, head in map(str.split, done.stdout.splitlines())}


def _branches(repo: Path) -> list[str]:
    named = [name for name in _names(repo, "refs/heads/*") if _RELEASE.match(name)]
    return named + _names(repo, "refs/heads/releases/*")


def _merged(made: Iterable[Commit], base: str) -> Iterable[Real]:
    for commit in made:
        if match := _SQUASHED.match(commit.subject):
            yield Real(
                number=int(match[2]), title=match[1], body=_description(commit.body), author=commit.author,
                opened=commit.authored, ended=commit.committed, state="merged", base=base, head=commit.id,
                files=[],
            )  # fmt: skip


def _description(body: str) -> str:
    """A squash commit's message without its trailers."""
    lines = [line for line in body.split("\n") if not re.match(r"(Signed-off-by|Co-authored-by): ", line)]
    return "\n".join(lines).strip().removesuffix("---------").strip()


def _unmerged(number: int, head: str, base: str, by_id: dict[str, Commit], opened: bool) -> Real:
    line: list[Commit] = []
    at = head
    while at != base and at in by_id and len(line) < 300:
        line.append(by_id[at])
        at = by_id[at].parents[0] if by_id[at].parents else base
    own = [made for made in line if len(made.parents) < 2] or line
    first = own[-1]
    words = [made.subject for made in reversed(own[:-1])]
    return Real(
        number=number, title=first.subject, body="\n".join([_description(first.body), *words]).strip(),
        author=first.author, opened=first.authored, ended=line[0].committed,
        state="open" if opened else "closed", base=f"main@{base}", head=head, files=[],
    )  # fmt: skip


def _trees(pull: Real, by_id: dict[str, Commit], repo: Path, branch_of: dict[str, str]) -> tuple[str, str]:
    if pull.state == "merged":
        done = subprocess.run(
            ["git", "rev-parse", f"{pull.head}^^{{tree}}", f"{pull.head}^{{tree}}"],
            cwd=repo, capture_output=True, text=True, check=True,
        ).stdout.split()  # fmt: skip
        return done[0], done[1]
    base = pull.base.partition("@")[2]
    pull.base = branch_of.get(base, "main")
    return by_id[base].tree, by_id[pull.head].tree


def save(pulls: list[Real], path: Path) -> None:
    """Keep what was read."""
    path.write_bytes(msgspec.msgpack.encode(pulls))


def load(path: Path) -> list[Real]:
    """What `save` kept."""
    return msgspec.msgpack.decode(path.read_bytes(), type=list[Real])


def stamp(seconds: int) -> str:
    """A time as GitHub writes it."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
