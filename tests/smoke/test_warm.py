from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from pinproof.smoke.child import warm

from tests.smoke.conftest import RunBody


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that imports in every way; what a type checker or a function imports is not followed."""
    root = tmp_path / "src"
    files = {
        "pk/__init__.py": "from . import a\n",
        "pk/a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pk.typed\n"
                   "try:\n    from pk.sub.b import value\nexcept ImportError:\n    pass\n",
        "pk/sub/__init__.py": "",
        "pk/sub/b.py": "from ..c import *\nvalue = 1\ndef later():\n    import pk.lazy\n",
        "pk/c.py": "", "pk/typed.py": "", "pk/lazy.py": "", "pk/broken.py": "def (",
    }  # fmt: skip
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.syspath_prepend(str(root))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    warm.source_of.cache_clear()
    return root / "pk"


def compiled(package: Path) -> set[str]:
    return {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if Path(importlib.util.cache_from_source(str(path))).is_file()
    }


def test_what_an_import_needs_is_compiled_and_nothing_is_executed(package: Path) -> None:
    (package / "c.py").write_text("raise SystemExit('executed')\n")
    assert warm.warm(["pk.a"], 2) >= 5
    assert compiled(package) == {"__init__.py", "a.py", "sub/__init__.py", "sub/b.py", "c.py"}


def test_the_import_takes_the_bytecode_that_was_made_ahead(package: Path) -> None:
    warm.warm(["pk.a"], 1)
    script = "import sys; sys.path.insert(0, sys.argv[1]); import pk.a"
    done = subprocess.run(
        [sys.executable, "-v", "-B", "-c", script, str(package.parent)], capture_output=True, text=True
    )
    assert "b.cpython" in done.stderr
    assert f"code object from '{package / 'sub/b.py'}'" not in done.stderr
    assert "matches" in done.stderr


def test_a_file_that_does_not_parse_costs_nothing_but_itself(package: Path) -> None:
    assert warm.compile_module("pk.broken", str(package / "broken.py")) == []


def test_what_is_compiled_already_is_not_looked_into_again(package: Path) -> None:
    warm.warm(["pk.a"], 1)
    assert warm.compile_module("pk.a", str(package / "a.py")) == [
        pair for pair in warm.compile_module("pk.a", str(package / "a.py")) if not pair[0].startswith("pk")
    ]


def test_relative_imports_are_counted_from_the_package() -> None:
    found = set(warm.imports(ast.parse("from . import x\nfrom ..y import z\nimport q.r"), "a.b"))
    assert {"a.b", "a.b.x", "a.y", "a.y.z", "q", "q.r"} <= found


def test_with_few_cores_the_child_does_nothing_and_says_so(run_body: RunBody) -> None:
    source = Path(warm.__file__).read_text().split("if __name__")[0]
    body = "exec(job['source'].replace('from .report', 'from pinproof_smoke.child.report'), globals())\n"
    child = run_body(body + "globals()['main'](job)", source=source, imports=["json"], fewest_cores=10_000)
    assert child.first("warm") is not None
    assert (child.first("warm") or {})["modules"] == 0
