"""The scan's result for people: a table for the terminal, a paragraph for the pull request's body."""

from __future__ import annotations

import re
from typing import Any

from pinproof.console import clean, say, table, typed
from pinproof.gate import GateResult

_LONGEST_TITLE = 90
_IN_PARAGRAPH = 6


def show(result: GateResult) -> None:
    """Print a result as people read it."""
    details = result.details
    say(f"{details['patch']} in {details['repo']}: {result.outcome}")
    say(f"  {result.summary}")
    for gap in details["gaps"]:
        say(f"  not seen: {gap}")
    say(f"  {_inspected(details)}")
    say()
    table(["searched for", "found", "command"], [_search_row(search) for search in details["queries"]])
    say()
    if details["hits"]:
        table(["PR", "state", "score", "verdict", "title", "why"], [_hit_row(hit) for hit in details["hits"]])
    else:
        say("nothing in the index comes near the patch")
    if result.clear:
        say(f"  -> {typed(result.clear)}")


def _search_row(search: dict[str, Any]) -> list[str]:
    count = "not run" if search["count"] is None else str(search["count"])
    return [search["purpose"], count, search["command"] + (f"  ({search['note']})" if search["note"] else "")]


def _hit_row(hit: dict[str, Any]) -> list[str]:
    verdict = hit["verdict"] + (" (the patch's origin)" if hit["declared"] else "")
    why = f"{hit['reason']}; decided: {hit['because']}" if hit["because"] else hit["reason"]
    return [_label(hit), hit["state"], f"{hit['score']:.0f}", verdict, hit["title"][:_LONGEST_TITLE], why]


def _label(hit: dict[str, Any]) -> str:
    return f"#{hit['number']}" if hit["kind"] == "pr" else f"issue #{hit['number']}"


def _inspected(details: dict[str, Any]) -> str:
    seen = details["inspected"]
    total = f" of {seen['open_total']}" if seen["open_total"] is not None else ""
    text = (
        f"inspected: {seen['open']}{total} open, {seen['merged']} merged and {seen['closed_unmerged']} "
        f"closed unmerged since {seen['since'][:10]}; {details['compared']} diffs compared"
    )
    if seen["cut_file_lists"]:
        text += f"; of {seen['cut_file_lists']} with more than 100 files the first 100"
    return text


def markdown_paragraph(details: dict[str, Any]) -> str:
    """The "Duplicate-work check" for a pull request's body, from a gate result's details.

    Outside text (titles, searches) stands in code spans only, so that nothing in it is read as
    Markdown, HTML, a mention or a link.
    """
    lines = [f"**Duplicate-work check** ({details['date']}, `{details['repo']}`): {_inspected(details)}.", ""]
    lines += [f"- {_code(search['command'])}: {_found(search)}" for search in details["queries"]]
    lines += ["", "Nearest pull requests:" if details["hits"] else "No pull request comes near.", ""]
    told = [hit for hit in details["hits"] if hit["verdict"].startswith("same")]
    told += [hit for hit in details["hits"] if hit not in told][: max(_IN_PARAGRAPH - len(told), 2)]
    lines += [_bullet(hit) for hit in told]
    if details["gaps"]:
        lines += [
            "",
            "Not everything could be seen: " + "; ".join(_plain(gap) for gap in details["gaps"]) + ".",
        ]
    return "\n".join(lines).rstrip() + "\n"


def _found(search: dict[str, Any]) -> str:
    if search["count"] is None:
        return f"not run ({_plain(search['note'] or '')})"
    return f"{search['count']}" + (f" ({_plain(search['note'])})" if search["note"] else "")


def _bullet(hit: dict[str, Any]) -> str:
    origin = ", the origin of this patch" if hit["declared"] else ""
    title = _code(hit["title"][:_LONGEST_TITLE])
    text = f"- #{hit['number']} ({hit['state']}) {title}: **{hit['verdict']}**{origin}."
    text += f" {_plain(hit['reason'])}."
    if hit["because"]:
        text += f" Not a duplicate: {_plain(hit['because'])}"
    return text


def _code(text: str) -> str:
    """A code span that holds any text: GitHub reads nothing inside one."""
    flat = " ".join(clean(text).split()) or " "
    longest = max((len(run) for run in re.findall(r"`+", flat)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def _plain(text: str) -> str:
    """Text as text: Markdown's and HTML's signs escaped, mentions and closing keywords broken."""
    flat = " ".join(clean(text).split())
    flat = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    flat = re.sub(r"([\\`*_\[\]|~!])", r"\\\1", flat)
    flat = re.sub(r"(?i)\b((?:fix|clos|resolv)\w*:?\s+(?:[\w./-]+)?)#(?=\d)", r"\1no. ", flat)
    return flat.replace("@", "`@`").replace("://", "`://`")
