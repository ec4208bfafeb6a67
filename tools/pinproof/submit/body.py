"""The pull request's body: upstream's own template, its sections filled from evidence, nothing else."""

from __future__ import annotations

from pinproof.errors import Refused
from pinproof.submit.blocks import BLOCK_WRITERS
from pinproof.submit.draft import Draft
from pinproof.submit.scrub import without_tokens
from pinproof.submit.template import read_template, ticked

# GitHub's limit for a body, in characters.
_LONGEST = 65536


def render_body(draft: Draft) -> str:
    """The Markdown of a pull request's body.

    Raises:
        InputError: upstream's template has a section that the policy cannot fill.
        Refused: the body would be longer than GitHub takes.
    """
    template = read_template(draft.base, draft.policy)
    parts = [f"## {heading}\n\n{_filled(draft, heading)}" for heading in template.sections]
    tail = ticked(template, draft.policy, _holding(draft))
    body = without_tokens("\n\n".join([*parts, "\n".join(tail)]).rstrip() + "\n")
    if len(body) > _LONGEST:
        raise Refused(f"the body has {len(body)} characters; GitHub takes {_LONGEST}")
    return body


def _filled(draft: Draft, heading: str) -> str:
    blocks = (BLOCK_WRITERS[name](draft) for name in draft.policy.body.sections[heading])
    return "\n\n".join(block for block in blocks if block)


def _holding(draft: Draft) -> set[str]:
    """What the template's checklist may rest on: gates that passed, the review, answers of yes.

    A record that says fail or skip is evidence too, but no box rests on it.
    """
    passed = {gate for gate, made in draft.evidence.items() if made.outcome == "pass"}
    answers = {name for name, yes in draft.review.answers.items() if yes}
    assisted = {"assisted"} if draft.review.assistance.used else set()
    return {*passed, "review", *answers, *assisted}
