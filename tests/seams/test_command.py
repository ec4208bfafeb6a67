"""`pinproof seams` and `pinproof contract` in a plugin's folder, against an index."""

# ruff: noqa: E501 - a small module reads best on one line

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pinproof.cli import main

from tests.index_server import Index, index, wheel

__all__ = ["index"]

ENGINE = {
    "vllm/__init__.py": b"__version__ = '0.8.0'\n",
    "vllm/a.py": b"import enum\n\n\nclass Status(enum.Enum):\n    ONE = 1\n\n\ndef f(x):\n    return x\n\n\nclass Client:\n    def generate(self, n):\n        return n\n",
}


@pytest.fixture
def project(index: Index, tmp_path: Path) -> Path:
    """A plugin of vllm 0.8.0 without code."""
    index.add("vllm", "vllm-0.8.0-py3-none-any.whl", wheel(ENGINE))
    (tmp_path / "plug").mkdir()
    (tmp_path / "plug/__init__.py").write_text("")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "plug"\ndependencies = ["vllm==0.8.0"]\n')
    return tmp_path


def write(project: Path, text: str, name: str = "a.py") -> None:
    (project / "plug" / name).write_text(text)


def findings(project: Path, capsys: pytest.CaptureFixture[str]) -> list[int]:
    code = main(["contract", str(project), "--json", "--no-cache", "--include-guarded"])
    found = json.loads(capsys.readouterr().out)["findings"]
    lines = [f["line"] for f in found if not f["guard"]]
    assert code in ((1,) if lines else (0, 5))  # 5: what was settled leaves no call that was bound
    return lines


VERSION_IS = (
    "import vllm\nfrom packaging.version import Version\n\n\n"
    "def version_is(text):\n    return Version(vllm.__version__) == Version(text)\n"
)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("from vllm.a import f\nf(1, 2)\n", [2]),
        ("from vllm.a import Status\nStatus.TWO\n", [2]),
        ("from vllm.a import Status\nextend_enum(Status, 'TWO', 2)\nStatus.TWO\n", []),
        ("import vllm.a\nvllm.a.f = print\nvllm.a.f(1, 2)\n", []),
        ("from plug.v import version_is\nfrom vllm.a import f\nif not version_is('0.8.0'):\n    f(1, 2)\n", []),
        ("from plug.v import version_is\nfrom vllm.a import f\nif version_is('0.8.0'):\n    f(1, 2)\n", [4]),
        ("from plug.v import version_is\nfrom vllm.a import f\nx = f(1) if version_is('0.8.0') else f(1, 2)\n", []),
        ("from plug.v import version_is\nfrom vllm.a import f\n\n\ndef g():\n    if version_is('0.8.0') or f:\n        return 1\n    return f(1, 2)\n", []),
        ("from plug.v import version_is\nfrom vllm.a import f\n\n\ndef g():\n    return f(1, 2)\n\n\nif not version_is('0.8.0'):\n    g()\n", []),
        ("from plug.v import version_is\nfrom vllm.a import f\nkw = {} if version_is('0.8.0') else {'y': 1}\nf(1, **kw)\n", []),
        ("from vllm.a import Client\n\n\nclass Mine(Client):\n    def generate(self, n, more):\n        return n\n\n\ndef go(c: Client):\n    c.generate(1, more=2)\n", []),
        ("from vllm.a import Client\n\n\ndef go(c: Client):\n    c.generate(1, more=2)\n", [5]),
        ("from vllm.gone import x\n", [1]),
        ("from vllm.a import f\nfound = []\nfor x in range(3):\n    found.append(x)\nif found:\n    f(1, 2)\n", [6]),
        ("from vllm.a import f\nDEBUG = False\nif DEBUG:\n    f(1, 2)\n", [4]),
        ("from vllm.a import f\n\n\ndef empty(x):\n    return not []\n\n\nif not empty(1):\n    f(1, 2)\n", []),
    ],
    ids=[
        "a-wrong-call", "a-missing-member", "a-member-the-plugin-adds", "a-function-the-plugin-replaces",
        "not-on-this-version", "on-this-version", "conditional-expression", "early-return",
        "a-function-used-on-another-version-only", "a-dict-by-version", "a-subclass-takes-it", "no-subclass", "a-missing-module", "a-list-that-fills", "a-setting", "a-helper-that-always-says-yes",
    ],
)  # fmt: skip
def test_what_the_plugin_does_to_its_engine_is_known_to_the_gate(
    project: Path, capsys: pytest.CaptureFixture[str], text: str, lines: list[int]
) -> None:
    write(project, VERSION_IS, "v.py")
    write(project, text)
    assert findings(project, capsys) == lines


def test_a_module_that_only_another_version_imports_is_guarded(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(project, VERSION_IS, "v.py")
    write(project, "from vllm.gone import x\n", "later.py")
    write(
        project, "from plug.v import version_is\nif not version_is('0.8.0'):\n    from plug.later import x\n"
    )
    assert findings(project, capsys) == []


def test_seams_passes_and_says_what_it_looked_at(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, "import vllm.a\nvllm.a.f = print\n")
    assert main(["seams", str(project)]) == 0
    assert "1 patches of 1 targets" in capsys.readouterr().out


def test_a_project_that_says_no_version_is_told_what_to_give(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "pyproject.toml").write_text('[project]\nname = "plug"\n')
    assert main(["seams", str(project)]) == 5
    assert "--library vllm=VERSION" in capsys.readouterr().err


def test_the_engine_itself_is_no_plugin(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "vllm").mkdir()
    (project / "vllm/__init__.py").write_text("")
    assert main(["seams", str(project)]) == 2
    assert "is vllm itself" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["vllm", "vllm=", "=1"])
def test_a_library_that_is_no_pair_is_refused(project: Path, wrong: str) -> None:
    assert main(["seams", str(project), "--library", wrong]) == 2
