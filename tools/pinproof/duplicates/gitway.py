"""The diffs of all pull requests by git, and what the trunk's history tells of merged and closed ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

import msgspec

from pinproof.duplicates import mirror as mirrors
from pinproof.duplicates.diffs import facts_of_files
from pinproof.duplicates.history import Changed, Commit, Trunk, commits, diffs
from pinproof.duplicates.index.store import Index, Waiting
from pinproof.duplicates.mirror import Mirror
from pinproof.duplicates.pulls import Pull, from_commit

# So many pull requests are fetched and stored at a time: a scan that is ended goes on from there.
_AT_A_TIME = 1000
_SQUASHED = re.compile(r"^(.*?)\s*\(#([1-9]\d{0,8})\)$")


class History(msgspec.Struct, frozen=True):
    """The trunk and the release branches as the mirror has them.

    `commits` are all of theirs; `merged` tells by number which commit merged a pull request, and into which
    branch ("" for the trunk); `branches` to which release branch a commit belongs.
    """

    commits: dict[str, Commit]
    trunk: Trunk
    merged: dict[int, tuple[Commit, str]]
    branches: dict[str, str]


def read_trunk(mirror: Mirror) -> History:
    """Bring the trunk and the release branches up to date and read them.

    Raises:
        InputError: git cannot reach the server.
    """
    mirrors.fetch_trunk(mirror)
    made = {commit.id: commit for commit in commits(mirror.path, [mirrors.TRUNK])}
    merged: dict[int, tuple[Commit, str]] = {}
    _note_merged(made.values(), "", merged)
    branches: dict[str, str] = {}
    for branch, tip in mirrors.local_branches(mirror).items():
        own = list(commits(mirror.path, [tip, f"^{mirrors.TRUNK}"]))
        _note_merged(own, branch, merged)
        made.update({commit.id: commit for commit in own})
        branches.update(dict.fromkeys((commit.id for commit in own), branch))
    return History(made, Trunk(made.values()), merged, branches)


def _note_merged(made: Iterable[Commit], branch: str, merged: dict[int, tuple[Commit, str]]) -> None:
    for commit in made:
        if match := _SQUASHED.match(commit.subject):
            merged.setdefault(int(match[2]), (commit, branch))


def bring_diffs(
    index: Index, mirror: Mirror, history: History, since: str, on_step: Callable[[int], None]
) -> int:
    """Compare what is not compared yet: the open ones, and those updated since then.

    Args:
        index: where the facts of the diffs go.
        mirror: our part of the repository.
        history: its trunk.
        since: a time as GitHub writes it.
        on_step: told how many more pull requests are done.

    Returns:
        How many diffs could not be read.

    Raises:
        InputError: git cannot reach the server; what was stored stays.
    """
    todo = index.without_diff(since)
    lost = 0
    for at in range(0, len(todo), _AT_A_TIME):
        part = todo[at : at + _AT_A_TIME]
        lost += _bring(index, mirror, history, part)
        on_step(len(part))
    return lost


def _bring(index: Index, mirror: Mirror, history: History, part: list[Waiting]) -> int:
    by_head = [number for number, _, merge in part if merge not in history.commits]
    here = mirrors.local_heads(mirror)
    known = {number: head for number, head, _ in part}
    stale = [number for number in by_head if here.get(number) != known[number]]
    there = mirrors.remote_heads(mirror) if stale else {}
    mirrors.fetch_heads(mirror, [number for number in stale if number in there])
    trees = dict(_trees(mirror, history, part, by_head))
    mirrors.fetch_contents(mirror, list(trees.values()))
    read = 0
    for number, changed in zip(trees, diffs(mirror.path, list(trees.values())), strict=True):
        if changed is None:
            continue
        # Nothing is left out by git: a file without text is a binary one, which has no lines to compare.
        facts = facts_of_files((path, text or "") for path, text in changed)
        index.store_diff(number, known[number], facts, [path for path, _ in changed])
        read += 1
    return len(part) - read


def _trees(
    mirror: Mirror, history: History, part: list[Waiting], by_head: list[int]
) -> Iterator[tuple[int, tuple[str, str]]]:
    """What to compare: a squash commit with its parent, a branch with the commit where it left the trunk."""
    here = mirrors.local_heads(mirror)
    heads = {number: here[number] for number in by_head if number in here}
    side = _side(mirror, heads)
    parents = {identity: commit.parents for identity, commit in side.items()}
    for number, head, merge in part:
        commit = history.commits.get(merge or "")
        if commit and commit.parents and commit.parents[0] in history.commits:
            yield number, (history.commits[commit.parents[0]].tree, commit.tree)
        elif heads.get(number) == head and (base := history.trunk.base(head, parents)):
            yield number, (history.commits[base].tree, (side.get(head) or history.commits[head]).tree)


def _side(mirror: Mirror, heads: dict[int, str]) -> dict[str, Commit]:
    """The commits of branches that the trunk does not have."""
    if not heads:
        return {}
    known = [mirrors.TRUNK, *mirrors.local_branches(mirror).values()]
    found = commits(mirror.path, [*heads.values(), *(f"^{name}" for name in known)])
    return {commit.id: commit for commit in found}


def changed_by(mirror: Mirror, history: History, waiting: Waiting) -> Changed | None:
    """The files of one pull request with their hunks; None where git does not have them."""
    number, _, merge = waiting
    by_head = [] if merge in history.commits else [number]
    mirrors.fetch_heads(mirror, by_head)
    trees = dict(_trees(mirror, history, [waiting], by_head))
    mirrors.fetch_contents(mirror, list(trees.values()))
    return next(diffs(mirror.path, list(trees.values())), None)


def merged_and_closed(
    mirror: Mirror, history: History, opened: set[int], since: str, repo: str
) -> Iterator[Pull]:
    """The merged and the closed pull requests as commits tell them, for who has no token.

    A squash commit holds the title and the description; one that is neither open nor merged is closed, and
    its first commit's message stands for both. Those whose numbers are lower than what was merged at the
    beginning of the time asked for are older.
    """
    day = int(datetime.fromisoformat(since.replace("Z", "+00:00")).timestamp())
    recent = {number: found for number, found in history.merged.items() if found[0].committed >= day}
    there = mirrors.remote_heads(mirror)
    for number, (commit, branch) in recent.items():
        title = commit.subject.rpartition("(#")[0].strip()
        head = there.get(number, commit.id)
        yield from_commit(number, "merged", title, commit, repo, head=head, base=branch, merge=commit.id)
    numbers = sorted(number for number, (_, branch) in recent.items() if not branch)
    oldest = numbers[len(numbers) // 20] if numbers else 0
    closed = {
        number: head for number, head in there.items()
        if number >= oldest and number not in opened and number not in history.merged
    }  # fmt: skip
    mirrors.fetch_heads(mirror, _moved(mirror, closed))
    side = _side(mirror, closed)
    parents = {identity: commit.parents for identity, commit in side.items()}
    for number, head in closed.items():
        if first := _first(head, side):
            base = history.branches.get(history.trunk.base(head, parents) or "", "")
            yield from_commit(
                number, "closed", first.subject, first, repo, head=head, base=base, last=side[head]
            )


def _moved(mirror: Mirror, heads: dict[int, str]) -> list[int]:
    here = mirrors.local_heads(mirror)
    return [number for number, head in heads.items() if here.get(number) != head]


def _first(head: str, side: dict[str, Commit]) -> Commit | None:
    """The first commit of a branch's own line."""
    found: Commit | None = None
    commit = side.get(head)
    while commit is not None:
        found = commit if len(commit.parents) < 2 or found is None else found
        commit = side.get(commit.parents[0]) if commit.parents else None
    return found
