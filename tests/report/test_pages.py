"""The site's files: whole, linked, small, escaped, and naming nothing outside themselves."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import jsonschema
import msgspec
import pytest
from pinproof.report.badges import badge
from pinproof.report.model import Report
from pinproof.report.pages import render

from tests.report.sample import CALLEE, report, without

URL = "https://example.org/pinproof/"
ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return render(report(), URL)


class Page(HTMLParser):
    """Every address and every id of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attributes:
            if name in ("href", "src") and value is not None:
                self.links.append((tag, value))
            if name == "id" and value is not None:
                self.ids.append(value)


def pages(files: dict[str, bytes]) -> dict[str, Page]:
    return {name: Page(raw.decode()) for name, raw in files.items() if name.endswith(".html")}


def test_every_link_leads_to_a_file_and_an_id_of_the_site(files: dict[str, bytes]) -> None:
    found = pages(files)
    for name, page in found.items():
        assert len(page.ids) == len(set(page.ids)), name
        for _, link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = parts.path or name
            assert target in files, f"{name} links to {link}"
            if parts.fragment:
                assert parts.fragment in found[target].ids, f"{name} links to {link}"


def test_nothing_is_loaded_from_elsewhere(files: dict[str, bytes]) -> None:
    for page in pages(files).values():
        assert all(not urlsplit(link).scheme for tag, link in page.links if tag != "a")
    for name in ("style.css", "script.js"):
        assert not re.search(rb"https?:|url\(|@import|fetch\(|XMLHttp", files[name])


def test_markup_in_a_message_is_text(files: dict[str, bytes]) -> None:
    text = files["findings.html"].decode()
    assert "alert(1)" in text
    assert text.count("<script") == 1
    assert "&lt;script&gt;alert(1)" in text


def test_the_same_facts_give_the_same_bytes(files: dict[str, bytes]) -> None:
    assert render(report(), URL) == files


def test_json_is_what_its_schema_says_and_reads_back(files: dict[str, bytes]) -> None:
    schema = msgspec.json.decode(files["data/report.schema.json"])
    jsonschema.validate(msgspec.json.decode(files["data/report.json"]), schema)
    assert msgspec.json.decode(files["data/report.json"], type=Report) == report()


def test_a_verdict_is_shown_by_colour_letter_word_and_sentence_with_its_command(
    files: dict[str, bytes],
) -> None:
    text = files["index.html"].decode()
    assert '<a class="v warn" href="#v-0001-0.2.0-without-0001"><b aria-hidden="true">N</b>needed</a>' in text
    assert "because of needed" in text
    assert "Signature: deep_gemm 2.0, deep_gemm/run.py:3" in text
    assert "pinproof verdict 0001 --release vllm==0.2.0" in text


def test_a_break_jumps_to_the_eye_in_the_chart_and_in_the_table(files: dict[str, bytes]) -> None:
    text = files[f"contract-{CALLEE}.html"].decode()
    assert 'class="tint"' in text
    assert "not declared, passed by 1 of 1 calls: breaks" in text


def test_the_feed_holds_new_breaks_only_newest_first(files: dict[str, bytes]) -> None:
    feed = ET.fromstring(files["feed.xml"])
    titles = [entry.findtext(f"{ATOM}title") for entry in feed.findall(f"{ATOM}entry")]
    assert titles == [
        "flashinfer-python 1.1 would break 1 call of vllm==0.2.0",
        "vllm==0.2.0: deep_gemm.run (unexpected-keyword)",
    ]
    for entry in feed.findall(f"{ATOM}entry"):
        link = entry.find(f"{ATOM}link")
        assert link is not None
        assert str(link.get("href")).startswith(URL)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", entry.findtext(f"{ATOM}updated") or "")


def test_an_entry_keeps_its_id_from_run_to_run(files: dict[str, bytes]) -> None:
    later = render(without(made="2027-01-01T00:00:00Z"), URL)

    def ids(raw: bytes) -> list[str | None]:
        return [entry.findtext(f"{ATOM}id") for entry in ET.fromstring(raw).findall(f"{ATOM}entry")]

    assert ids(files["feed.xml"]) == ids(later["feed.xml"])


def test_a_needed_patch_is_news() -> None:
    (patch,) = report().patches
    needed = tuple(msgspec.structs.replace(item, verdict="needed") for item in patch.verdicts[-1:])
    found = render(without(patches=(msgspec.structs.replace(patch, verdicts=needed),)), URL)
    assert b"vllm==0.2.0: patch 0001 is needed" in found["feed.xml"]


def test_badges_say_what_the_newest_release_says(files: dict[str, bytes]) -> None:
    assert b"vllm 0.2.0 contract: 1 failing" in files["badges/contract.svg"]
    assert b"0001 on 0.2.0: applied" in files["badges/patch-0001.svg"]


def test_a_library_that_was_not_checked_keeps_the_badge_from_green() -> None:
    releases = report().releases
    newest = msgspec.structs.replace(releases[-1], failing=0, unchecked={"aiter": "offline"})
    text = render(without(releases=(*releases[:-1], newest)), URL)["badges/contract.svg"]
    assert b"1 libraries not checked" in text
    assert b"#1a7f45" not in text


def test_a_badge_escapes_its_text() -> None:
    assert ET.fromstring(badge("a<b", "c&d", "ok")).get("aria-label") == "a<b: c&d"


def test_a_report_without_patches_findings_or_moves_still_has_every_page() -> None:
    bare = without(patches=(), findings=(), bumps=(), moves=(), histories=())
    assert {"index.html", "findings.html", "contracts.html", "pace.html"} <= render(bare, URL).keys()
