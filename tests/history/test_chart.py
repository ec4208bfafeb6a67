"""The chart is well-formed, says in words what it shows, and holds nothing hostile."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from pinproof.contract.model import Parameter
from pinproof.history.chart import svg
from pinproof.history.model import Caller, Column, History
from pinproof.history.story import rows

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*columns: Column) -> ET.Element:
    history = History(callee="k.f", library="k", project="vllm", rows=rows(columns), columns=columns)
    return ET.fromstring(svg(history))


def column(release: str, names: tuple[str, ...], *callers: Caller) -> Column:
    parameters = tuple(Parameter(name, "positional-or-keyword", True) for name in names)
    return Column(release=f"vllm=={release}", library="1", parameters=parameters, callers=callers)


def caller(*keywords: str, unexpected: tuple[str, ...] = ()) -> Caller:
    return Caller(file="m.py", line=1, keywords=keywords, unexpected=unexpected)


def bars(root: ET.Element) -> list[ET.Element]:
    return [r for r in root.findall(f"{SVG}rect") if r.get("class") in ("b", "r")]


def test_a_parameter_that_comes_back_has_two_bars() -> None:
    assert len(bars(drawn(column("1", ("a",)), column("2", ("b",)), column("3", ("a",))))) == 3


def test_a_break_is_tinted_and_crossed() -> None:
    root = drawn(column("1", ("a",), caller("a")), column("2", ("b",), caller("a", unexpected=("a",))))
    assert len([r for r in root.iter(f"{SVG}rect") if r.get("class") == "tint"]) == 1
    crosses = [p for p in root.findall(f"{SVG}path") if p.get("class") == "x"]
    assert len(crosses) == 1


def test_it_is_read_aloud_as_what_changed() -> None:
    label = drawn(column("1", ("a",)), column("2", ("b",))).get("aria-label")
    assert label is not None
    assert "drops a; adds b" in label


def test_names_from_a_library_are_escaped() -> None:
    hostile = "a</text><script>alert(1)</script>"
    root = drawn(column("1", (hostile,)), column("2", (hostile,), caller(hostile)))
    assert not list(root.iter(f"{SVG}script"))
    assert any(text.text == hostile for text in root.iter(f"{SVG}text"))
