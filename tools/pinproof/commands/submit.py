"""Turn a ready patch into a branch and a pull request that a maintainer can merge on sight.

Refuses while anything that upstream's policy asks for is missing, stale or failed, and says what. The
branch is made in a git worktree from upstream's current base, one signed-off commit; your checkout is
not touched. The body is written from evidence alone, in the sections of upstream's own template.

Nothing is sent without --push: the default shows the branch, the commit, the body and the commands.
With --push you are asked to type the branch's name; then the branch is pushed to your fork (never to
upstream) and a draft pull request is opened with gh, which uses its own login.

  pinproof submit 0001 ../vllm               make the branch, show everything, send nothing
  pinproof submit 0001 ../vllm --stdout      the body only
  pinproof submit 0001 ../vllm --push        send it, after a typed confirmation
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pinproof.commands.common import add_json, add_patch_and_tree
from pinproof.commands.submission import add_policy, one_patch
from pinproof.console import emit_json, note, say
from pinproof.errors import Exit

if TYPE_CHECKING:
    from pinproof.submit.prepare import Prepared
    from pinproof.submit.send import Plan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_patch_and_tree(parser)
    add_policy(parser)
    parser.add_argument("--base", metavar="REF", help="go from this commit instead of fetching upstream's")
    parser.add_argument("--fork", metavar="REMOTE", help="which remote is your fork, when there are several")
    parser.add_argument("--body-file", type=Path, metavar="FILE", help="write the body there")
    parser.add_argument("--stdout", action="store_true", help="print the body and nothing else")
    parser.add_argument("--push", action="store_true", help="send it, after a typed confirmation")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from datetime import datetime, timezone

    from pinproof.submit.policy import load_policy
    from pinproof.submit.prepare import prepare

    source, patch, tree, store = one_patch(args)
    if args.push:
        from pinproof.submit.ask import require_terminal

        require_terminal("--push")
    note(f"making the branch from {args.base or 'upstream'}")
    prepared = prepare(
        source, patch, tree, load_policy(args.policy), store, datetime.now(timezone.utc), base=args.base
    )
    if args.stdout:
        return _body_only(prepared, args.body_file)
    from pinproof.submit.send import plan

    planned = plan(prepared, fork=args.fork, body_file=args.body_file)
    if args.json:
        _json(prepared, planned)
    else:
        _show(prepared, planned)
    return _send(prepared, planned) if args.push else Exit.OK


def _body_only(prepared: Prepared, body_file: Path | None) -> int:
    import sys

    if body_file is not None:
        from pinproof.paths import atomic_write

        atomic_write(body_file, prepared.body.encode())
    sys.stdout.write(prepared.body)
    return Exit.OK


def _json(prepared: Prepared, planned: Plan) -> None:
    emit_json("pinproof.submit/1", {
        "patch": prepared.draft.patch.name, "branch": prepared.branch.name,
        "commit": prepared.branch.commit, "base": prepared.branch.base, "title": prepared.title,
        "message": prepared.branch.message, "body": prepared.body, "fork": planned.fork.slug,
        "commands": [list(planned.push), list(planned.create)], "sent": False,
    })  # fmt: skip


def _show(prepared: Prepared, planned: Plan) -> None:
    branch = prepared.branch
    say(f"branch  {branch.name}: {branch.commit[:12]} on {prepared.upstream.slug} {branch.base[:12]}")
    say("commit")
    for line in branch.message.rstrip("\n").split("\n"):
        say(f"    {line}".rstrip())
    say(f"body    {planned.body_file}")
    say()
    say(prepared.body)
    state = {None: "is not there yet", branch.commit: "is there already"}
    say(
        f"fork    {planned.fork.slug}: the branch {state.get(planned.seen, 'is there and would be replaced')}"
    )
    say("to send it, --push runs:")
    for command in planned.commands():
        say(f"    {command}")


def _send(prepared: Prepared, planned: Plan) -> int:
    from datetime import date

    from pinproof.submit.ask import typed
    from pinproof.submit.header import record_submission
    from pinproof.submit.send import send

    name = f"{planned.fork.owner}:{prepared.branch.name}"
    if not typed(name, f"To push this and open a draft at {prepared.upstream.slug}, type {name}:"):
        say("not sent")
        return Exit.REFUSED
    url = send(prepared, planned)
    say(url)
    record_submission(prepared.source, prepared.draft.patch, url, date.today())
    say(f"{prepared.source.name}: Upstream-Status: Submitted [{url}]")
    return Exit.OK
