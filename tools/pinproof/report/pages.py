"""Render a report: every file of the site, by its path. Pure: the same report gives the same bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pinproof.history.chart import svg
from pinproof.history.model import History
from pinproof.history.story import changes, outcome, said, state
from pinproof.report import words
from pinproof.report.badges import badges
from pinproof.report.feed import entries
from pinproof.report.model import BumpFact, PatchFact, PluginCell, PluginFact, Report, VerdictFact

_NAV = (
    ("index.html", "Overview"), ("contracts.html", "Contracts"), ("findings.html", "Findings"),
    ("plugins.html", "Plugins"), ("pace.html", "Pace"),
)  # fmt: skip


def render(report: Report, url: str) -> dict[str, bytes]:
    """Every file of the site.

    Args:
        report: the facts.
        url: where the site will stand, with a slash at its end; only the feed names it.
    """
    shared = _shared(report)
    found = {name: _page(name, shared, current=name) for name, _ in _NAV}
    for history in report.histories:
        name = shared["history_pages"][history.callee]
        chart = Markup(svg(history, standalone=False))  # noqa: S704 - from our own template, escaped there
        found[name] = _page(
            "history.html", shared, current="contracts.html", item=history, chart=chart,
            changes=list(changes(history)), outcome=outcome, state=state, said=said,
        )  # fmt: skip
    found["feed.xml"] = _page("feed.xml", shared, current="", url=url, entries=list(entries(report)))
    for name in ("style.css", "script.js", "icon.svg"):
        found[name] = resources.files("pinproof.report").joinpath("templates", name).read_text("utf-8")
    found.update(badges(report))
    files = {name: text.encode() for name, text in found.items()}
    files["data/report.json"] = msgspec.json.encode(report) + b"\n"
    files["data/report.schema.json"] = msgspec.json.encode(msgspec.json.schema(Report)) + b"\n"
    return files


def _shared(report: Report) -> dict[str, Any]:
    """What the pages need, worked out from the facts."""
    newest = report.releases[-1]
    verdicts = [item for patch in report.patches for item in patch.verdicts]
    on_newest = [item.verdict for item in verdicts if item.release == newest.release and not item.without]
    return {
        "report": report, "project": _title(report.project), "newest": newest, "nav": _NAV,
        "days": {release.release: release.uploaded for release in report.releases},
        "columns": _columns(report), "verdict_of": _verdict_of, "verdict_id": _verdict_id,
        "legend": [name for name in words.VERDICTS if any(item.verdict == name for item in verdicts)],
        "needed": on_newest.count("needed"), "ahead": sum(len(move.breaks) for move in report.moves),
        "history_pages": {item.callee: f"contract-{_slug(item.callee)}.html" for item in report.histories},
        "kinds": sorted({item.finding.kind for item in report.findings}), "changed": _signature_changes,
        "bumps_by_library": _by_library(report.bumps), "pins": list(_pins(report)),
        "most": max((bump.changed for bump in report.bumps), default=0) or 1,
        "most_probes": max(release.probes for release in report.releases) or 1,
        "letter": words.letter, "tone": words.tone, "meaning": words.meaning, "gate_tone": words.gate_tone,
        "works": words.works, "cell_of": _cell_of, "plugin_id": _plugin_id,
        "age": lambda when: words.age(when, report.made),
    }  # fmt: skip


def _page(name: str, shared: dict[str, Any], **more: Any) -> str:
    return _environment().get_template(f"{name}.jinja").render({**shared, **more})


@lru_cache(maxsize=1)
def _environment() -> Environment:
    loader = PackageLoader("pinproof.report", "templates")
    return Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def _title(project: str) -> str:
    return {"vllm": "vLLM", "sglang": "SGLang"}.get(project, project)


def _slug(callee: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]", "-", callee).lower()


def _columns(report: Report) -> list[VerdictFact]:
    """The states that any patch was judged on, in the order of the releases, each once."""
    order = {release.release: index for index, release in enumerate(report.releases)}
    states = {
        (item.release, item.without): item
        for patch in report.patches for item in patch.verdicts if item.release in order
    }  # fmt: skip
    return [states[key] for key in sorted(states, key=lambda k: (order[k[0]], k[1] is None))]


def _verdict_of(patch: PatchFact, column: VerdictFact) -> VerdictFact | None:
    wanted = (column.release, column.without)
    return next((item for item in patch.verdicts if (item.release, item.without) == wanted), None)


def _verdict_id(patch: PatchFact, item: VerdictFact) -> str:
    without = f"-without-{item.without}" if item.without else ""
    return f"v-{patch.number}-{item.release.partition('==')[2]}{without}"


def _cell_of(plugin: PluginFact, release: str) -> PluginCell | None:
    return next((cell for cell in plugin.cells if cell.release == release), None)


def _plugin_id(plugin: PluginFact, cell: PluginCell) -> str:
    return f"p-{_slug(plugin.plugin)}-{cell.release.partition('==')[2]}"


def _signature_changes(history: History) -> int:
    return sum(before.parameters != after.parameters for before, after in pairwise(history.columns))


def _by_library(bumps: tuple[BumpFact, ...]) -> list[tuple[str, list[BumpFact]]]:
    """The bumps of each library, the fastest mover first."""
    names = sorted({bump.library for bump in bumps})
    grouped = [(name, [bump for bump in bumps if bump.library == name]) for name in names]
    return sorted(grouped, key=lambda pair: -sum(bump.changed for bump in pair[1]))


def _pins(report: Report) -> Iterator[tuple[str, list[str | None]]]:
    """Each library's version in each release."""
    for name in sorted({library.name for release in report.releases for library in release.libraries}):
        by_release = ({lib.name: lib.version for lib in release.libraries} for release in report.releases)
        yield name, [(versions.get(name) or "")[:12] or None for versions in by_release]
