"""From a ready patch to a branch and a body: upstream's base fetched, proofs repeated on it, commit made."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import msgspec

from pinproof.errors import GateFailed, Refused
from pinproof.git import git
from pinproof.mainjob import run_main_job
from pinproof.patchset.patchfile import Patch
from pinproof.submit.body import render_body
from pinproof.submit.branch import Branch, commit_patch, publish_locally
from pinproof.submit.draft import Draft, load_draft
from pinproof.submit.evidence import record
from pinproof.submit.message import person_from_git
from pinproof.submit.policy import Policy
from pinproof.submit.remotes import Remote, fetch_base, remotes, upstream_remote
from pinproof.submit.store import Store, save
from pinproof.submit.worktree import locked_clone, require_toplevel, worktree_at
from pinproof.tree import Tree, open_tree


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request that only has to be sent: the branch in the clone, title, body."""

    root: Path
    branch: Branch
    title: str
    body: str
    draft: Draft
    upstream: Remote
    source: Path


def prepare(
    source: Path, patch: Patch, tree: Tree, policy: Policy, store: Store, now: datetime, *,
    base: str | None = None,
) -> Prepared:  # fmt: skip
    """Make the branch and the body of a patch that is ready; the person's checkout stays as it is.

    Args:
        source: the patch's file.
        patch: what was read from it.
        tree: a clone of upstream.
        policy: the upstream's policy.
        store: where the records are.
        now: the time, timezone-aware.
        base: a commit or ref of the clone to go from; by default upstream's branch, fetched.

    Raises:
        Refused: something the policy asks for is unmet, the patch is not needed on the base, the patch
            file changed meanwhile, or another submit is at work.
        Conflict: the patch does not apply to the base.
        GateFailed: a gate that was repeated on the base fails there.
    """
    root = tree.disk_root()
    require_toplevel(root)
    with locked_clone(root):
        upstream = upstream_remote(remotes(root), policy.upstream)
        commit = _commit(root, base) if base else fetch_base(root, upstream, policy.base)
        with worktree_at(root, commit) as path:
            at_base = replace(open_tree(path), name=tree.name)
            draft = load_draft(patch, at_base, policy, store, now)
            _same_person(draft, root)
            draft = _proved_again(draft, store, now)
            body = render_body(draft)  # before the commit: the root cause is read in the tree without it
            branch = commit_patch(path, patch, draft.review, policy)
        unchanged(source, patch)
        publish_locally(root, branch)
    return Prepared(root=root, branch=branch, title=patch.subject, body=body, draft=draft,
                    upstream=upstream, source=source)  # fmt: skip


def unchanged(source: Path, patch: Patch) -> None:
    """Make sure that the patch file still holds what was proved and reviewed.

    Raises:
        Refused: it was edited or removed since it was read.
    """
    try:
        same = source.read_bytes() == patch.raw
    except OSError:
        same = False
    if not same:
        raise Refused(f"{source.name} changed while this ran; nothing was made", hint="run it again")


def _same_person(draft: Draft, root: Path) -> None:
    """The one who signs off must be the one who reviewed: nobody can sign for another."""
    person, here = draft.review.person, person_from_git(root)
    if person.email != here.email:
        raise Refused(
            f"{person.name} <{person.email}> reviewed the patch, but git says you are <{here.email}>",
            hint=f"pinproof review {draft.patch.number} {draft.base.name}",
        )


def _commit(root: Path, base: str) -> str:
    done = git(
        ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}"], cwd=root, check=False
    )
    if done.returncode:
        raise Refused(f"{base!r} is not a commit of {root}", hint="e.g. --base upstream/main")
    return done.stdout.decode().strip()


def _proved_again(draft: Draft, store: Store, now: datetime) -> Draft:
    """The draft with contract and compile run anew on the base: a record is never taken on trust alone.

    Raises:
        Refused: the verdict on the base is against the patch.
        Conflict: the contract is broken there and the patch does not apply.
        GateFailed: one of the two gates fails there.
    """
    job = run_main_job(draft.patch, draft.base, series=[draft.patch], dry_run=True)
    if job.before.verdict != "needed":
        raise Refused(f"{draft.patch.name} on upstream's base: {job.before.verdict}: {job.before.sentence}")
    evidence = dict(draft.evidence)
    for result in (job.contract, job.compile):
        if result.outcome != "pass":
            raise GateFailed(f"{result.gate} on upstream's base: {result.outcome}: {result.summary}")
        evidence[result.gate] = record(draft.patch, draft.base, result, now)
        save(store, draft.patch, evidence[result.gate])
    return msgspec.structs.replace(draft, evidence=evidence)
