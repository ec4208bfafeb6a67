"""What is compared and followed: signatures between versions, findings between releases, ages."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.contract.declared import snapshot as snapshots
from pinproof.report.signatures import Signatures, compare, public
from pinproof.report.tracks import track
from pinproof.report.words import VERDICTS, age, letter, meaning, tone, works
from pinproof.tree import DiskFiles, open_tree

from tests.contract.small import write
from tests.report.sample import finding, plugin, release, report


def signatures(tmp_path: Path, text: str, name: str = "deep_gemm/__init__.py") -> Signatures:
    files = DiskFiles(write(tmp_path, {"deep_gemm/__init__.py": "", name: text}))
    taken = snapshots.take(files, {"deep_gemm": "deep_gemm"}, library="deep_gemm", version="1", source="here")
    return public(taken.modules)


def test_functions_classes_and_methods_are_public_signatures(tmp_path: Path) -> None:
    text = (
        "def f(a): pass\ndef _g(a): pass\nclass C:\n    def __init__(self, x): pass\n    def go(self): pass\n"
    )
    assert set(signatures(tmp_path, text)) == {"deep_gemm.f", "deep_gemm.C", "deep_gemm.C.go"}


def test_a_private_module_is_not_public(tmp_path: Path) -> None:
    assert signatures(tmp_path, "def f(a): pass\n", "deep_gemm/_impl.py") == {}


def test_a_difference_counts_what_changed_came_and_went(tmp_path: Path) -> None:
    old = signatures(tmp_path / "a", "def kept(a): pass\ndef moved(a): pass\ndef gone(): pass\n")
    new = signatures(tmp_path / "b", "def kept(a): pass\ndef moved(b): pass\ndef fresh(): pass\n")
    found = compare(old, new)
    assert (found.changed, found.added, found.removed, found.kept) == (1, 1, 1, 1)
    assert found.examples == ("deep_gemm.moved",)


def test_a_default_that_went_away_is_a_change(tmp_path: Path) -> None:
    old, new = signatures(tmp_path / "a", "def f(a=1): ...\n"), signatures(tmp_path / "b", "def f(a): ...\n")
    assert compare(old, new).changed == 1


def test_a_finding_is_followed_though_its_line_moves() -> None:
    (found,) = track((release("0.1.0", finding("x", line=3)), release("0.2.0", finding("x", line=9))), ())
    assert (found.releases, found.lines) == (("vllm==0.1.0", "vllm==0.2.0"), (3, 9))
    assert found.fixed_in is None


def test_a_finding_that_is_gone_names_the_release_without_it() -> None:
    (found,) = track((release("0.1.0", finding("x")), release("0.2.0")), ())
    assert found.fixed_in == "vllm==0.2.0"


def test_a_finding_that_came_back_is_not_fixed() -> None:
    releases = (release("0.1.0", finding("x")), release("0.2.0"), release("0.3.0", finding("x")))
    (found,) = track(releases, ())
    assert found.releases == ("vllm==0.1.0", "vllm==0.3.0")
    assert found.fixed_in is None


def test_failing_findings_come_before_guarded_ones_and_link_upstream() -> None:
    found = report().findings
    assert [item.finding.guard is None for item in found] == [True, True, False]
    assert {item.upstream for item in found} == {"https://example.org/pull/1"}


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("2026-12-01T03:30:00Z", "under 1 h"),
        ("2026-11-30T22:00:00+00:00", "6 h"),
        ("2026-11-01T04:00:00Z", "30 days"),
    ],
)
def test_an_age_is_said_in_hours_or_days(when: str, expected: str) -> None:
    assert age(when, "2026-12-01T04:00:00Z") == expected


@pytest.mark.parametrize(
    ("broken", "pin", "expected"),
    [
        ((0, 2), "0.1.0", "works with 0.1.0"),
        ((0, 0, 1), "0.1.0", "works with 0.1.0 to 0.2.0"),
        ((3, 0, 0, 1, 0), "0.2.0", "works with 0.2.0 to 0.3.0"),
        ((1, 0), "0.1.0", "seams are broken at its own pin"),
        ((0, 0), "0.9.0", "its pin is not among these releases"),
    ],
)
def test_a_plugin_works_with_the_unbroken_stretch_around_its_pin(
    broken: tuple[int, ...], pin: str, expected: str
) -> None:
    assert works(plugin(*broken, pin=pin)) == expected


def test_every_verdict_has_its_own_letter_and_a_sentence() -> None:
    from typing import get_args

    from pinproof.patchset.verdict import VerdictName

    assert set(VERDICTS) == set(get_args(VerdictName))
    assert len({letter(name) for name in VERDICTS}) == len(VERDICTS)
    assert all(meaning(name) for name in VERDICTS)


def test_only_applied_is_green() -> None:
    assert [name for name in VERDICTS if tone(name) == "ok"] == ["applied"]


def test_probes_are_counted_where_they_ask_a_watched_library(tmp_path: Path) -> None:
    from pinproof.report.probes import count_probes

    engine = """
        import inspect, os
        import deep_gemm

        def f(x):
            if hasattr(deep_gemm, "run"):
                run = getattr(deep_gemm, "run", None)
            names = inspect.signature(deep_gemm.run).parameters
            return hasattr(x, "run") or hasattr(os, "run") or getattr(deep_gemm, "run")
    """
    library = {"vllm/third_party/deep_gemm/__init__.py": "def run(a): pass\n"}
    root = write(tmp_path, {"vllm/__init__.py": "", "vllm/m.py": engine, **library})
    assert count_probes(open_tree(root)) == 3
