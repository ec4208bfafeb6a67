"""Apply and revert: decide by the verdict, then change all files or none."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from pinproof.console import note
from pinproof.errors import Conflict, Refused
from pinproof.gitfolder import check_worktree
from pinproof.patchset.change import contents_after, text_state
from pinproof.patchset.gitindex import refuse_dirty, stage, store_blobs
from pinproof.patchset.indexlock import clear_index_lock, index_lock
from pinproof.patchset.installed import bookkeeping, drop_unchecked_bytecode
from pinproof.patchset.journal import Change, Stage, settle, tree_lock, write_all
from pinproof.patchset.merge import merge_three_way
from pinproof.patchset.patchfile import Patch
from pinproof.patchset.permission import permission_explained
from pinproof.patchset.verdict import Verdict, judge
from pinproof.signals import is_waiting, uninterrupted
from pinproof.tree import Tree

_UNWANTED = ("not-needed", "obsolete", "absent")
_REFUSALS = (*_UNWANTED, "unknown")


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done about one patch: `write`, or `nothing` with the reason in `note`."""

    patch: str
    action: str
    note: str
    verdict: Verdict | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The steps, and the resulting contents of every file that changes, by path."""

    steps: tuple[Step, ...]
    contents: dict[str, bytes | None]
    patches: tuple[Patch, ...]
    merged: bool = False
    revert: bool = False


def plan_apply(
    patches: Sequence[Patch], tree: Tree, *, named: bool, force: bool = False, three_way: bool = False,
    if_needed: bool = False, libraries: Mapping[str, str] | None = None,
) -> Plan:  # fmt: skip
    """What applying these patches in order would do; nothing is written.

    Args:
        patches: in series order; each sees the tree as the ones before leave it.
        tree: the tree.
        named: the user named the patch: then a refusal stops the run. In a whole series a patch
            that this tree does not want is passed over.
        force: write a patch whose text applies although the verdict is against it.
        three_way: merge where the text does not apply.
        if_needed: a tree that does not want a patch (not-needed, obsolete, absent) is not a refusal.
        libraries: signature sources by library name.

    Raises:
        Refused: the verdict of a named patch is against it, or that of every patch is.
        Conflict: the contract is broken and the patch does not apply.
    """
    steps: list[Step] = []
    todo: list[Patch] = []
    contents: dict[str, bytes | None] = {}
    merged = False
    refusals: list[Refused] = []
    for patch in patches:
        state = tree.with_changes(contents)
        verdict = judge(patch, state, libraries)
        if verdict.verdict == "applied":
            steps.append(_step(verdict, "nothing", "already applied"))
        elif if_needed and verdict.verdict in _UNWANTED:
            steps.append(_step(verdict, "nothing", f"{verdict.verdict}: {verdict.sentence}"))
        elif verdict.verdict in _REFUSALS and not force:
            refusals.append(_refusal(verdict, patch, state))
            if named:
                raise refusals[-1]
            steps.append(_step(verdict, "nothing", f"{verdict.verdict}: {verdict.sentence}"))
        else:
            after, was_merged = _text(verdict, patch, state, force=force, three_way=three_way)
            merged = merged or was_merged
            contents.update(after)
            todo.append(patch)
            steps.append(_step(verdict, "write", _write_note(verdict, merged=was_merged)))
    if refusals and not todo and all(step.note != "already applied" for step in steps):
        hint = refusals[0].hint if len(refusals) == 1 else "name a patch to see what can be done about it"
        raise Refused("; ".join(refusal.message for refusal in refusals), hint=hint)
    return Plan(steps=tuple(steps), contents=contents, patches=tuple(todo), merged=merged)


def plan_revert(patches: Sequence[Patch], tree: Tree, *, named: bool) -> Plan:
    """What taking these patches out, last first, would do.

    Raises:
        Refused: a named patch is not in the tree.
    """
    steps: list[Step] = []
    todo: list[Patch] = []
    contents: dict[str, bytes | None] = {}
    for patch in reversed(patches):
        state = tree.with_changes(contents)
        if text_state(state, patch) != "applied":
            if named:
                raise Refused(f"{patch.name} is not in {tree.name}; nothing to revert")
            steps.append(Step(patch=patch.name, action="nothing", note="not in this tree"))
            continue
        contents.update(contents_after(state, patch, reverse=True))
        todo.append(patch)
        steps.append(Step(patch=patch.name, action="write", note="reverted"))
    return Plan(steps=tuple(steps), contents=contents, patches=tuple(todo), revert=True)


def carry_out(plan: Plan, tree: Tree, *, series: Sequence[Patch]) -> None:
    """Make the planned change in the tree: every file, or none.

    Args:
        plan: from plan_apply or plan_revert on this very tree.
        tree: a tree on disk.
        series: all patches of the set: changes that they explain do not count as someone's edits.

    Raises:
        Refused: a touched file is dirty, or another run is at work.
        InputError: the tree cannot be written; says by whom, and the way out.
        OSError: no space; nothing was changed.
    """
    root = tree.disk_root()
    with tree_lock(root), permission_explained(root):
        settle_tree(tree)
        if tree.kind == "git":
            _write_git(plan, tree, root, series)
        else:
            _write(root, [*_changes(plan, tree), *_bookkeeping(plan, tree)])
        drop_unchecked_bytecode(root, plan.contents)


def settle_tree(tree: Tree) -> str | None:
    """Finish or roll back what an interrupted run left in the tree; says what it did."""
    root = tree.disk_root()
    with tree_lock(root), uninterrupted():
        if tree.kind != "git":
            return settle(root)
        folder = check_worktree(root)
        clear_index_lock(folder)
        return settle(root, lambda paths: _stage_locked(root, folder, paths))


def _stage_locked(root: Path, folder: Path, paths: Sequence[str]) -> None:
    with index_lock(folder):
        stage(root, folder, paths)


def unified_diff(plan: Plan, tree: Tree) -> str:
    """The planned change as a unified diff, for --dry-run."""
    parts: list[str] = []
    for path, after in plan.contents.items():
        before = (tree.read(path) or b"").decode(errors="replace").splitlines(keepends=True)
        now = (after or b"").decode(errors="replace").splitlines(keepends=True)
        parts += difflib.unified_diff(before, now, f"a/{path}", f"b/{path}")
    return "".join(part if part.endswith("\n") else part + "\n" for part in parts)


def _step(verdict: Verdict, action: str, note: str) -> Step:
    return Step(patch=verdict.patch, action=action, note=note, verdict=verdict)


def _write_note(verdict: Verdict, *, merged: bool) -> str:
    how = "applied by a 3-way merge; look at the result" if merged else "applied"
    if verdict.verdict in ("needed", "conflict"):
        return how
    return f"{how} although {verdict.verdict}: {verdict.sentence}"


def _refusal(verdict: Verdict, patch: Patch, tree: Tree) -> Refused:
    hint = None
    if verdict.verdict == "unknown":
        hint = "give the library: --library deep_gemm=PATH (a clone, a package folder) or =vllm==0.28.0"
    elif text_state(tree, patch) == "applies":
        hint = "--force applies it all the same"
    return Refused(f"{patch.name} is {verdict.verdict} on {tree.name}: {verdict.sentence}", hint=hint)


def _text(
    verdict: Verdict, patch: Patch, tree: Tree, *, force: bool, three_way: bool
) -> tuple[dict[str, bytes | None], bool]:
    """The contents after the patch, and whether a merge was needed."""
    try:
        after = contents_after(tree, patch)
    except Conflict as error:
        if three_way and verdict.verdict == "conflict":
            return merge_three_way(patch, tree), True
        why = verdict.sentence if text_state(tree, patch) == "applied" else error.message
        raise Conflict(f"{patch.name} on {tree.name}: {why}", hint=error.hint) from error
    if verdict.verdict == "conflict" and not force:
        raise Conflict(
            f"{patch.name} on {tree.name}: {verdict.sentence}", hint="--force applies it all the same"
        )
    return after, False


def _changes(plan: Plan, tree: Tree) -> list[Change]:
    modes = {diff.path: diff.mode for patch in plan.patches for diff in patch.diffs}
    return [
        Change(path, tree.read(path), after, int(modes[path] or "100644", 8) & 0o777)
        for path, after in plan.contents.items()
    ]


def _bookkeeping(plan: Plan, tree: Tree) -> list[Change]:
    """The installer's record and our note, changed together with the files."""
    if tree.kind != "installed":
        return []
    names = [patch.name for patch in plan.patches]
    after = bookkeeping(
        tree, plan.contents, added=[] if plan.revert else names, removed=names if plan.revert else []
    )
    return [Change(path, tree.read(path), content, 0o644) for path, content in after.items()]


def _write_git(plan: Plan, tree: Tree, root: Path, series: Sequence[Patch]) -> None:
    """The worktree by the journal, which `git apply` has not, then the index by git: both or neither."""
    folder = check_worktree(root)
    with index_lock(folder):
        paths = list(plan.contents)
        refuse_dirty(tree, root, paths, [*series, *(patch for patch in plan.patches if patch not in series)])
        store_blobs(root, plan.contents.items())
        _write(root, _changes(plan, tree), lambda names: stage(root, folder, names))


def _write(root: Path, changes: Sequence[Change], stage: Stage | None = None) -> None:
    with uninterrupted():
        write_all(root, changes, stage)
        if is_waiting():
            note(f"interrupted while {root} was being changed: the change is finished, nothing is half done")
