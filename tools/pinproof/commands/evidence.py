"""The records beside a patch: what each gate proved, on what, and whether it still holds.

Each record hangs on the patch's bytes, the files it touches, the gate's configuration, the tree's pins
and the gate's own version; when one of them changes, it is stale. A record that was edited, cut, dated
ahead, or whose outcome does not follow from its own details is refused.

  pinproof evidence list 0001 ../vllm
  pinproof evidence show smoke 0001                       the record itself
  pinproof evidence add smoke.json 0001 ../vllm           take in a record made elsewhere
  pinproof evidence skip smoke 0001 ../vllm --because "no SM100 GPU is available here"
  pinproof evidence schema                                the JSON Schema of all records

A skip is recorded under your name, holds only where the policy lets you, and shows as skipped everywhere.
"""

from __future__ import annotations

import argparse
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from pinproof.commands.common import add_json, add_patches
from pinproof.commands.submission import add_policy, located, one_patch
from pinproof.console import clean, emit_json, one_line, say, table
from pinproof.errors import Exit, InputError, Refused

if TYPE_CHECKING:
    from pinproof.gate import GateName
    from pinproof.patchset.patchfile import Patch
    from pinproof.submit.records import EvidenceRecord
    from pinproof.submit.store import Store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["list", "show", "add", "skip", "schema"])
    parser.add_argument("targets", nargs="*", metavar="ARGUMENT", help="see above")
    parser.add_argument("--because", metavar="REASON", help="why a gate is skipped")
    add_patches(parser)
    add_policy(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    actions = {"list": _list, "show": _show, "add": _add, "skip": _skip, "schema": _schema}
    return actions[args.action](args)


def _list(args: argparse.Namespace) -> int:
    from pinproof.submit.policy import load_policy
    from pinproof.submit.requirements import requirements

    _, patch, tree, store = one_patch(args)
    now = datetime.now(timezone.utc)
    found = requirements(patch, tree, load_policy(args.policy), store, now)
    rows = [(item, _recorded(store, patch, item.item, now)) for item in found]
    if args.json:
        import msgspec

        items = [{**msgspec.to_builtins(item), "date": made and made.date} for item, made in rows]
        emit_json("pinproof.evidence-list/1", {"patch": patch.name, "tree": tree.name, "items": items})
    else:
        shown = [(item.item, item.state, made.date if made else "-", item.why) for item, made in rows]
        table(("item", "state", "recorded", "why"), shown)
    return Exit.FAILED if any(item.open for item in found) else Exit.OK


def _recorded(store: Store, patch: Patch, item: str, now: datetime) -> EvidenceRecord | None:
    """The record behind an item, None when there is none or it is refused."""
    from pinproof.submit.store import load_evidence

    try:
        return load_evidence(store, patch, _gate(item), now)
    except InputError:  # also: title, review and the like are no gates
        return None


def _show(args: argparse.Namespace) -> int:
    import sys

    from pinproof.patchset.series import find_patch
    from pinproof.submit.records import encode
    from pinproof.submit.store import load_evidence

    gate, spec = _two(args, "show GATE PATCH")
    patch = find_patch(spec, args.patches)
    _, store = located(spec, patch, args.patches)
    made = load_evidence(store, patch, _gate(gate), datetime.now(timezone.utc))
    if made is None:
        raise InputError(f"{patch.name} has no {gate} record")
    sys.stdout.write(clean(encode(made).decode()))
    return Exit.OK


def _add(args: argparse.Namespace) -> int:
    from pinproof.paths import read_regular
    from pinproof.submit.importing import import_record
    from pinproof.submit.policy import load_policy
    from pinproof.submit.records import LARGEST
    from pinproof.submit.store import save

    file = Path(_first(args, "add FILE [PATCH] TREE"))
    _, patch, tree, store = one_patch(args)
    raw = read_regular(file, LARGEST)
    policy, now = load_policy(args.policy), datetime.now(timezone.utc)
    made = import_record(raw, file.name, patch, tree, policy, now)
    say(f"{made.gate}: {made.outcome}: {one_line(made.summary)}")
    say(f"recorded in {save(store, patch, made)}")
    return Exit.OK


def _skip(args: argparse.Namespace) -> int:
    from pinproof.submit.message import person_from_git
    from pinproof.submit.policy import load_policy
    from pinproof.submit.skipping import make_skip
    from pinproof.submit.store import save

    gate = _gate(_first(args, "skip GATE [PATCH] TREE --because REASON"))
    if not args.because:
        raise InputError("a skip needs its reason", hint='--because "..."')
    _, patch, tree, store = one_patch(args)
    person = person_from_git(tree.root)
    made = make_skip(
        gate, patch, tree, person, args.because, load_policy(args.policy), datetime.now(timezone.utc)
    )
    say(f"{gate}: skipped by {person.name} <{person.email}>: {made.reason}")
    say(f"recorded in {save(store, patch, made)}")
    return Exit.OK


def _schema(args: argparse.Namespace) -> int:
    import sys

    from pinproof.submit.evidence import schema_text

    if args.targets:
        raise Refused("schema takes no argument")
    sys.stdout.write(schema_text())
    return Exit.OK


def _first(args: argparse.Namespace, usage: str) -> str:
    """The first argument, taken off: the rest is [PATCH] TREE."""
    if not args.targets:
        raise InputError(f"usage: pinproof evidence {usage}")
    return str(args.targets.pop(0))


def _two(args: argparse.Namespace, usage: str) -> tuple[str, str]:
    if len(args.targets) != 2:
        raise InputError(f"usage: pinproof evidence {usage}")
    return args.targets[0], args.targets[1]


def _gate(name: str) -> GateName:
    from pinproof.gate import GATES

    for gate in GATES:
        if gate == name:
            return gate
    raise InputError(f"{name!r} is not a gate", hint=f"gates: {', '.join(GATES)}")
