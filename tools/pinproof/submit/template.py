"""Upstream's pull-request template: its sections in order, and the checklist below them."""

from __future__ import annotations

import re

import msgspec

from pinproof.errors import InputError
from pinproof.submit.policy import Policy
from pinproof.tree import Tree

_PATH = ".github/PULL_REQUEST_TEMPLATE.md"
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ITEM = re.compile(r"- \[ \] (\S.*)")
# What may stand around the checklist's items; other lines (greetings, boilerplate below the marker
# that upstream's bot cuts off) are left out.
_AROUND = re.compile(r"---|</?details>|<summary>[^<>]{1,120}</summary>|")


class Template(msgspec.Struct, frozen=True):
    """A template's section headings, and the lines of its checklist with what stands around them."""

    sections: tuple[str, ...]
    tail: tuple[str, ...]

    def items(self) -> list[str]:
        """The checklist's items, without their boxes."""
        return [match[1] for line in self.tail if (match := _ITEM.fullmatch(line))]


def read_template(tree: Tree, policy: Policy) -> Template:
    """The template of the tree, or the policy's where the tree has none.

    Raises:
        InputError: it has a section that the policy does not know how to fill.
    """
    template = parse_template(tree.read_text(_PATH) or policy.body.template)
    for heading in template.sections:
        if heading not in policy.body.sections:
            raise InputError(
                f"{_PATH} of {tree.name} has a section {heading!r} that the policy does not know",
                hint="add it to [body.sections] of the policy (docs/submit.md)",
            )
    return template


def parse_template(text: str) -> Template:
    """Split a template into sections and checklist; comments and boilerplate are left out."""
    lines = [line.rstrip() for line in _COMMENT.sub("", text).splitlines()]
    sections = tuple(line[3:].strip() for line in lines if line.startswith("## "))
    rule = next((index for index, line in enumerate(lines) if line == "---"), len(lines))
    tail = [line for line in lines[rule:] if _AROUND.fullmatch(line) or _ITEM.fullmatch(line)]
    return Template(sections, tuple(_without_doubled_blanks(tail)))


def ticked(template: Template, policy: Policy, holds: set[str]) -> list[str]:
    """The checklist's lines, each box ticked whose policy line asks only for what holds.

    Args:
        template: the template.
        policy: says what each line rests on.
        holds: gates that passed, `review`, `assisted`, and the questions answered with yes.
    """
    return [_tick(line, policy, holds) for line in template.tail]


def questions_for(template: Template, policy: Policy) -> dict[str, str]:
    """The policy's questions whose answer a line of this template needs, by id."""
    wanted = {
        name
        for tick in policy.body.ticks
        for item in template.items()
        if item.startswith(tick.line)
        for name in tick.by
    }
    return {name: question for name, question in policy.human.questions.items() if name in wanted}


def _tick(line: str, policy: Policy, holds: set[str]) -> str:
    match = _ITEM.fullmatch(line)
    if match is None:
        return line
    rests_on = next((tick.by for tick in policy.body.ticks if match[1].startswith(tick.line)), None)
    return f"- [x] {match[1]}" if rests_on and set(rests_on) <= holds else line


def _without_doubled_blanks(lines: list[str]) -> list[str]:
    kept: list[str] = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(line)
    while kept and not kept[-1]:
        kept.pop()
    return kept
