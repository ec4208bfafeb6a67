"""Look for new releases of vLLM and of the libraries its newest release pins, and what they break.

Compares the package index with the state of the last look. Each new vLLM release is judged: the series'
verdicts, the pins that moved, and every call against the libraries it pins. Each new release of a pinned
library is tried on vLLM's newest release: which calls would break if the pin moved there.

Exit code 0 when nothing is new or nothing breaks, 1 when a person should look.

  pinproof drift                            against .github/drift-state.json
  pinproof drift --save                     and remember what was seen, in that file
  pinproof drift --repo OWNER/NAME --json   against the state on that repository's branch drift-state
  pinproof drift --repo OWNER/NAME --publish drift.json
                                            open or update its one issue, then save the state there

--publish takes what --json printed; the token comes from $GITHUB_TOKEN.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pinproof.commands.common import add_json, add_patches
from pinproof.console import json_text, note, say, table
from pinproof.errors import Exit, InputError

if TYPE_CHECKING:
    from pinproof.drift.findings import Findings
    from pinproof.drift.github import Repository
    from pinproof.drift.state import State

_LARGEST = 8 * 1024 * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--state", type=Path, metavar="FILE", default=Path(".github/drift-state.json"),
        help="the state of the last look (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--save", action="store_true", help="write what was seen to the state file")
    parser.add_argument("--repo", metavar="OWNER/NAME", help="the repository with the state and the issue")
    parser.add_argument("--publish", type=Path, metavar="FILE", help="report what --json printed to --repo")
    add_patches(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.publish is not None:
        return _publish(args)
    from pinproof.drift.findings import examine
    from pinproof.drift.news import look
    from pinproof.drift.state import encode_state
    from pinproof.patchset.series import load_series
    from pinproof.paths import atomic_write

    before = _state(args)
    findings = examine(look(before), before, load_series(args.patches))
    if args.json:
        import sys

        sys.stdout.write(json_text(findings))
    else:
        _show(findings, before)
    if args.save:
        atomic_write(args.state, encode_state(findings.state))
    return Exit.FAILED if findings.alarming else Exit.OK


def _state(args: argparse.Namespace) -> State:
    from pinproof.drift.publish import read_state
    from pinproof.drift.state import load_state

    if args.repo:
        with _repository(args.repo) as repository:
            found = read_state(repository)
        if found is not None:
            return found
        note(f"{args.repo} has no saved state yet; starting from {args.state}")
    return load_state(args.state)


def _repository(name: str) -> Repository:
    from pinproof.drift.github import Repository

    token = os.environ.get("GITHUB_TOKEN", "").strip()
    if not token:
        raise InputError("--repo needs a token", hint="set GITHUB_TOKEN")
    return Repository(name, token)


def _publish(args: argparse.Namespace) -> int:
    import msgspec

    from pinproof.drift.findings import Findings
    from pinproof.drift.publish import publish
    from pinproof.paths import read_regular

    if not args.repo:
        raise InputError("--publish needs --repo OWNER/NAME")
    raw = read_regular(args.publish, _LARGEST)
    try:
        findings = msgspec.json.decode(raw, type=Findings)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{args.publish} is not what --json printed: {error}") from error
    if not findings.changed:
        say("nothing new")
        return Exit.OK
    with _repository(args.repo) as repository:
        say(publish(repository, findings))
    return Exit.OK


def _show(findings: Findings, before: State) -> None:
    if not findings.changed:
        say(f"nothing new since {before.engine} {before.version}")
    for release in findings.releases:
        say(release.release)
        table(("patch", "verdict", "why"), [(v.patch, v.verdict, v.sentence) for v in release.verdicts])
        for moved in release.moved:
            say(f"  pin moved: {moved.library} {moved.before or '-'} -> {moved.after or '-'}")
    for item in findings.checked:
        say(f"{item.command}: {len(item.broken)} calls break")
        for call in item.broken:
            say(f"  {call.place}  {call.callee}  {call.drift}")
        for library, why in item.unchecked.items():
            say(f"  not checked: {library}: {why}")
    for version in findings.unread:
        say(f"not looked at: {before.engine} {version} (too many at once)")
    for project, why in findings.unseen.items():
        say(f"could not look up {project}: {why}")
