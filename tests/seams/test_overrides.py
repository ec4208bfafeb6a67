"""An override is held against what the engine's own code passes to it."""

# ruff: noqa: E501 - a small module reads best on one line

from __future__ import annotations

from pathlib import Path

import pytest

from tests.seams.plugin import seams, told

ENGINE = """\
class Base:
    def warm(self, n, *, active=0):
        return n

    def run(self):
        return self.warm(1, active=2)


class Other:
    def warm(self, n):
        return n
"""


def plugin(body: str) -> dict[str, str]:
    return {"a.py": f"from vllm.base import Base\n\n\nclass Mine(Base):\n{body}"}


@pytest.mark.parametrize(
    ("method", "codes"),
    [
        ("    def warm(self, n):\n        return n\n", [("KC301", 5)]),
        ("    def warm(self, n, active, deep):\n        return n\n", [("KC302", 5)]),
        ("    def warm(self, *, active=0):\n        return 1\n", [("KC303", 5)]),
        ("    def warm(self, n, *, active=0, more=1):\n        return n\n", []),
        ("    def warm(self, *args, **kwargs):\n        return 1\n", []),
        ("    @property\n    def warm(self):\n        return 1\n", []),
        ("    @unknown\n    def warm(self, n):\n        return n\n", []),
        ("    def warm(self, n):\n        return n\n\n    def run(self):\n        return 1\n", []),
    ],
    ids=[
        "keyword-not-taken", "requires-more", "fewer-positional", "takes-all", "takes-anything",
        "property", "decorated", "the-caller-is-overridden-too",
    ],
)  # fmt: skip
def test_the_callers_decide(tmp_path: Path, method: str, codes: list[tuple[str, int]]) -> None:
    assert told(seams(tmp_path, plugin(method), {"base.py": ENGINE})) == codes


def test_a_finding_shows_the_caller_s_line(tmp_path: Path) -> None:
    (seam,) = seams(tmp_path, plugin("    def warm(self, n):\n        return n\n"), {"base.py": ENGINE}).found
    assert seam.evidence == ("vllm/base.py:6: self.warm(1, active=2)",)
    assert "takes no keyword 'active'" in seam.message


def test_a_caller_that_is_overridden_but_hands_on_still_counts(tmp_path: Path) -> None:
    body = "    def warm(self, n):\n        return n\n\n    def run(self):\n        return super().run()\n"
    assert told(seams(tmp_path, plugin(body), {"base.py": ENGINE})) == [("KC301", 5)]


def test_a_call_on_an_object_of_another_class_is_no_evidence(tmp_path: Path) -> None:
    engine = ENGINE.replace("return self.warm(1, active=2)", "return 0") + (
        "\n\nclass User:\n    def __init__(self):\n        self.other = Other()\n\n"
        "    def go(self):\n        return self.other.warm(1, active=2)\n"
    )
    assert (
        told(seams(tmp_path, plugin("    def warm(self, n):\n        return n\n"), {"base.py": engine})) == []
    )


def test_a_call_through_an_annotated_field_is_evidence(tmp_path: Path) -> None:
    user = (
        "from vllm.base import Base\n\n\nclass User:\n    def __init__(self, base):\n"
        "        self.base: Base = base\n\n    def go(self):\n        self.base.warm(1, active=2)\n"
    )
    engine = {"base.py": ENGINE.replace("return self.warm(1, active=2)", "return 0"), "user.py": user}
    assert told(seams(tmp_path, plugin("    def warm(self, n):\n        return n\n"), engine)) == [
        ("KC301", 5)
    ]


def test_bases_are_found_through_re_exports_and_the_plugin_s_own_classes(tmp_path: Path) -> None:
    engine = {"base.py": ENGINE, "api.py": "from vllm.base import Base as Worker\n"}
    files = {
        "mid.py": "from vllm.api import Worker\nclass Mid(Worker):\n    pass\n",
        "a.py": "from plug.mid import Mid\nclass Mine(Mid):\n    def warm(self, n):\n        return n\n",
    }
    assert told(seams(tmp_path, files, engine)) == [("KC301", 3)]


def test_a_base_of_another_plugin_of_the_engine_may_override_the_caller(tmp_path: Path) -> None:
    text = "from vllm.base import Base\nfrom vllm_other.x import Fast\nclass Mine(Fast, Base):\n    def warm(self, n):\n        return n\n"
    assert told(seams(tmp_path, {"a.py": text}, {"base.py": ENGINE})) == []


def test_an_overridden_method_that_is_gone_is_found_by_the_step(tmp_path: Path) -> None:
    later = (
        ENGINE.replace("def warm(self, n, *, active=0)", "def warm_up(self, n, *, active=0)")
        .replace("self.warm(", "self.warm_up(")
        .replace("class Other:\n    def warm(", "class Other:\n    def cool(")
    )
    found = seams(
        tmp_path,
        plugin("    def warm(self, n, active=0):\n        return n\n"),
        {"base.py": ENGINE},
        {"base.py": later},
    )
    assert told(found) == [("KC304", 5)]
    assert "nearest: warm_up" in found.found[0].message


def test_what_fails_at_the_pin_already_is_not_news(tmp_path: Path) -> None:
    body = "    def warm(self, n):\n        return n\n"
    assert told(seams(tmp_path, plugin(body), {"base.py": ENGINE}, {"base.py": ENGINE})) == []


@pytest.mark.parametrize(
    ("call", "codes"),
    [
        ("super().warm(1, active=2)", []),
        ("super().warm(1, deep=2)", [("KC306", 6)]),
        ("super().warm()", [("KC306", 6)]),
        ("super().gone(1)", [("KC306", 6)]),
    ],
)
def test_super_calls_must_fit(tmp_path: Path, call: str, codes: list[tuple[str, int]]) -> None:
    body = f"    def other(self):\n        return {call}\n"
    assert told(seams(tmp_path, plugin(body), {"base.py": ENGINE})) == codes


ABSTRACT = """\
import abc


class Base(abc.ABC):
    @abc.abstractmethod
    def one(self): ...

    @abc.abstractmethod
    def two(self): ...
"""


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("class Mine(Base):\n    def one(self): ...\n\n\nmine = Mine()\n", [("KC305", 2)]),
        ("class Mine(Base):\n    def one(self): ...\n    def two(self): ...\n\n\nmine = Mine()\n", []),
        ("class Mine(Base):\n    def one(self): ...\n", []),
    ],
    ids=["one-left-out", "all-there", "no-object-is-made"],
)
def test_abstract_methods_are_needed_where_an_object_is_made(
    tmp_path: Path, text: str, codes: list[tuple[str, int]]
) -> None:
    files = {"a.py": f"from vllm.base import Base\n{text}"}
    assert told(seams(tmp_path, files, {"base.py": ABSTRACT})) == codes
