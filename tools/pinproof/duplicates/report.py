"""The scan's result for people: a table for the terminal, a paragraph for the pull request's body."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from pinproof.console import clean, say, typed
from pinproof.duplicates.auth import server_url
from pinproof.gate import GateResult

_LONGEST_TITLE = 90
_IN_PARAGRAPH = 6
_COLUMNS = 80


def show(result: GateResult, *, verbose: bool = False) -> None:
    """Print a result as people read it: what must be answered, and with `verbose` all the rest."""
    details = result.details
    say(f"{details['patch']} in {details['repo']}: {result.outcome}")
    _wrapped(f"{result.summary}")
    for gap in details["gaps"]:
        _wrapped(f"not seen: {gap}")
    _wrapped(_inspected(details))
    told = [hit for hit in details["hits"] if verbose or _matters(hit)]
    for hit in told:
        say()
        _show_hit(hit, details)
    if not details["hits"]:
        say("  nothing in the index comes near the patch")
    _show_rest(details, len(details["hits"]) - len(told), verbose=verbose)
    if result.clear:
        say(f"  -> {typed(result.clear)}")


def _matters(hit: dict[str, Any]) -> bool:
    """Whether a person has to answer a hit, has answered it, or must know of it."""
    return hit["blocks"] or hit["because"] or hit["verdict"] not in ("related", "different")


def _show_hit(hit: dict[str, Any], details: dict[str, Any]) -> None:
    """One hit as a block: what it is, its title, where it is, and why it was found."""
    origin = " (the patch's origin)" if hit["declared"] else ""
    say(f"{_label(hit)}  {hit['state']}{', draft' if hit['draft'] else ''}  {hit['verdict']}{origin}")
    _wrapped(hit["title"][:_LONGEST_TITLE])
    say(f"  {link(details['repo'], hit)}")
    _wrapped(hit["reason"])
    if hit["because"]:
        _wrapped(f"answered: {hit['because']}")
    if hit["blocks"]:
        command = f"pinproof duplicates {details['patch'][:4]} --diff {hit['number']}"
        say(f"  see both: {typed(command)}")


def _show_rest(details: dict[str, Any], hidden: int, *, verbose: bool) -> None:
    """The searches: each with its command, or how many there were."""
    say()
    queries = details["queries"]
    if verbose:
        for search in queries:
            count = "not run" if search["count"] is None else f"{search['count']} found"
            say(f"{search['purpose']}: {count}" + (f" ({search['note']})" if search["note"] else ""))
            say(f"  {search['command']}")
        return
    run = [search for search in queries if search["count"] is not None]
    hits = sum(bool(search["count"]) for search in run)
    more = f"; {hidden} more come near and need no answer" if hidden else ""
    _wrapped(f"{len(run)} of {len(queries)} searches run, {hits} found something{more} (-v shows all)")


def link(repo: str, hit: dict[str, Any]) -> str:
    """The address of a hit."""
    kind = "pull" if hit["kind"] == "pr" else "issues"
    return f"{server_url()}/{repo}/{kind}/{hit['number']}"


def _wrapped(text: str) -> None:
    for line in textwrap.wrap(clean(text), _COLUMNS - 2, break_on_hyphens=False):
        say(f"  {line}")


def _label(hit: dict[str, Any]) -> str:
    return f"#{hit['number']}" if hit["kind"] == "pr" else f"issue #{hit['number']}"


def _inspected(details: dict[str, Any]) -> str:
    seen = details["inspected"]
    total = f" of {seen['open_total']}" if seen["open_total"] is not None else ""
    text = (
        f"inspected: {seen['open']}{total} open, {seen['merged']} merged and {seen['closed_unmerged']} "
        f"closed unmerged since {seen['since'][:10]}; {details['compared']} diffs compared"
    )
    if git := seen.get("git"):
        text += " (by git)" if git == "used" else f"; git {git}"
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
