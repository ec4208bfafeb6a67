"""The site in a real browser, from files: silent, self-contained, usable by keyboard, clean for axe-core."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from pinproof.report.pages import render
from pinproof.report.site import write_site

from tests.report.sample import CALLEE, report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

sync_api = pytest.importorskip("playwright.sync_api")
axe_api = pytest.importorskip("axe_playwright_python.sync_playwright")

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip
PAGES = (
    "index.html",
    "findings.html",
    "contracts.html",
    "plugins.html",
    "pace.html",
    f"contract-{CALLEE}.html",
)
SIZES = ((360, 740), (1280, 900), (2560, 1440))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "site"
    write_site(folder, render(report(), "https://example.org/"))
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"needs a browser: none of {', '.join(NAMES)} is installed")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=FLAGS, headless=True)
        yield running
        running.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


def address(site: Path, name: str) -> str:
    return (site / name).as_uri()


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_is_silent_loads_nothing_from_elsewhere_and_is_accessible(
    page: Page, site: Path, name: str, scheme: Literal["light", "dark"]
) -> None:
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.emulate_media(color_scheme=scheme)
    page.goto(address(site, name))
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert said == []
    assert [url for url in asked if not url.startswith(site.as_uri())] == []
    found = axe_api.Axe().run(page)
    assert found.response["passes"]
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("name", PAGES)
def test_no_page_scrolls_sideways_from_phone_to_wall(page: Page, site: Path, name: str) -> None:
    page.goto(address(site, name))
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_matrix_has_the_right_word_in_each_cell(page: Page, site: Path) -> None:
    page.goto(address(site, "index.html"))
    heads = page.locator(".matrix thead th").all_inner_texts()[1:]
    cells = page.locator(".matrix tbody td").all_inner_texts()
    assert [(head.split("\n")[0], cell.split("\n")) for head, cell in zip(heads, cells, strict=True)] == [
        ("0.1.0", ["W", "not-needed"]), ("0.2.0", ["N", "needed"]), ("0.2.0", ["A", "applied"]),
    ]  # fmt: skip


def test_the_keyboard_alone_leads_from_the_top_to_the_reason_of_a_verdict(page: Page, site: Path) -> None:
    page.goto(address(site, "index.html"))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    for _ in range(4):  # the table's region, then its cells
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('a.v')"):
            break
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#v-0001-0.1.0"
    assert page.locator("li:target").inner_text().startswith("vllm==0.1.0")


def test_the_theme_is_switched_and_remembered(page: Page, site: Path) -> None:
    page.goto(address(site, "index.html"))
    button = page.get_by_role("button", name="Theme: auto")
    button.click()
    page.get_by_role("button", name="Theme: light").click()
    page.goto(address(site, "pace.html"))
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_findings_are_filtered_by_word_kind_and_guard(page: Page, site: Path) -> None:
    page.goto(address(site, "findings.html"))
    count = page.locator("#count")
    assert count.inner_text() == "3 of 3 findings"
    page.get_by_label("without a guard").check()
    assert count.inner_text() == "2 of 3 findings"
    page.get_by_role("searchbox").fill("fresh")
    assert count.inner_text() == "1 of 3 findings"
    assert page.locator("tbody tr:visible").count() == 1


def test_without_scripts_everything_is_there(browser: Browser, site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address(site, "findings.html"))
    assert page.locator("tbody tr").count() == 3
    assert page.locator(".filters").is_hidden()
    context.close()


def test_a_print_shows_the_table_and_no_buttons(page: Page, site: Path) -> None:
    page.goto(address(site, f"contract-{CALLEE}.html"))
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.get_by_role("table").is_visible()
    assert page.locator(".theme").is_hidden()
    assert len(page.pdf()) > 1000


def test_the_chart_has_a_name_that_says_what_changed(page: Page, site: Path) -> None:
    page.goto(address(site, f"contract-{CALLEE}.html"))
    assert "breaks" in (page.get_by_role("img").get_attribute("aria-label") or "")
