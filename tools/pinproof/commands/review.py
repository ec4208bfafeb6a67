"""Read the patch hunk by hunk, with what each gate proved about it, and put your name to it.

vLLM takes no pull request of an agent alone: a person must understand every changed line and answer for
it. So this command asks, at a terminal, and nothing but your typed answers counts: yes or no to each
hunk, whether AI assisted (and by which names), and what upstream's template asks of the author. There
is no flag that answers for you. The review is recorded beside the patch under the name and e-mail that
git knows you by; it is the e-mail that will sign the commit off.

  pinproof review 0001 ../vllm
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pinproof.commands.common import add_patch_and_tree
from pinproof.commands.submission import add_policy, one_patch
from pinproof.console import say
from pinproof.errors import Exit

if TYPE_CHECKING:
    from pinproof.gate import GateName
    from pinproof.patchset.patchfile import Patch
    from pinproof.submit.hunks import NumberedHunk
    from pinproof.submit.policy import Policy
    from pinproof.submit.records import EvidenceRecord
    from pinproof.submit.review import Answers
    from pinproof.tree import Tree


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_patch_and_tree(parser)
    add_policy(parser)


def run(args: argparse.Namespace) -> int:
    from datetime import datetime, timezone

    from pinproof.submit.ask import require_terminal
    from pinproof.submit.message import person_from_git
    from pinproof.submit.policy import load_policy
    from pinproof.submit.prepare import unchanged
    from pinproof.submit.requirements import fresh_evidence
    from pinproof.submit.review import make_review
    from pinproof.submit.store import save

    source, patch, tree, store = one_patch(args)
    policy = load_policy(args.policy)
    require_terminal("a review")
    person = person_from_git(tree.root)
    now = datetime.now(timezone.utc)
    evidence = fresh_evidence(patch, tree, policy, store, now)
    say(f"{patch.name} on {tree.name}, read by {person.name} <{person.email}>")
    say(f"  {patch.subject}")
    if not _read(patch, evidence):
        say("not recorded: a hunk was answered with no")
        return Exit.REFUSED
    answers = _answers(patch, tree, policy)
    unchanged(source, patch)
    path = save(store, patch, make_review(patch, tree, person, answers, datetime.now(timezone.utc)))
    say(f"recorded in {path}")
    return Exit.OK


def _read(patch: Patch, evidence: dict[GateName, EvidenceRecord]) -> bool:
    """Show every hunk and ask; False at the first no."""
    from pinproof.submit.ask import ask_yes_or_no
    from pinproof.submit.hunks import numbered_hunks

    hunks = list(numbered_hunks(patch))
    for index, hunk in enumerate(hunks, 1):
        _show(hunk, evidence, f"hunk {index} of {len(hunks)}")
        if not ask_yes_or_no("Do you understand these lines, and do you answer for them?"):
            return False
    return True


def _show(hunk: NumberedHunk, evidence: dict[GateName, EvidenceRecord], title: str) -> None:
    from rich.text import Text

    from pinproof.console import clean, stdout
    from pinproof.submit.review import proofs_for

    console = stdout()
    say()
    console.print(Text(clean(f"--- {hunk.path}, {title}"), style="bold"))
    console.print(Text(clean(hunk.header), style="cyan"))
    for line in hunk.text():
        console.print(Text(clean(line), style={"+": "green", "-": "red"}.get(line[:1], "")))
    for proof in proofs_for(hunk, evidence):
        say(f"  {proof}")


def _answers(patch: Patch, tree: Tree, policy: Policy) -> Answers:
    from pinproof.submit.ask import ask, ask_yes_or_no
    from pinproof.submit.policy import counted_lines
    from pinproof.submit.review import Answers
    from pinproof.submit.template import questions_for, read_template

    say()
    assistants: list[str] = []
    if policy.human.assistance and ask_yes_or_no("Did AI assist in writing this patch?"):
        while not assistants:
            names = ask("Which assistants? (as the commit shall credit them, separated by commas)")
            assistants = [name.strip() for name in names.split(",") if name.strip()]
    questions = questions_for(read_template(tree, policy), policy)
    given = {name: ask_yes_or_no(question) for name, question in questions.items()}
    lines, rfc = counted_lines(patch, policy), None
    if lines > policy.size.rfc_over_lines:
        rfc = ask(f"{lines} changed lines: which RFC issue was this discussed in? (URL)") or None
    return Answers(assistants=assistants, rfc=rfc, questions=given)
