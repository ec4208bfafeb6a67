"""Files that no one wrote by hand: each is reported once, and the run goes on."""

from __future__ import annotations

import ast
import io
import os
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pinproof.contract.check import check_tree
from pinproof.contract.sources.archive import SourceArchive
from pinproof.contract.syntax.scan import imports
from pinproof.contract.syntax.scopes import Scope
from pinproof.contract.watch.watchlist import parse
from pinproof.errors import InputError
from pinproof.tree import open_tree

from tests.contract.small import KERNELS, check, drifts, write

BAD = "import kernels\nkernels.f(1, bad=2)\n"
LIBRARY = "def f(a): ...\n"

FILES = {
    "syntax error": b"import kernels\ndef (",
    "null bytes": b"import kernels\nx = '\0'",
    "unknown encoding": b"# coding: nonsense\nimport kernels\n",
    "not UTF-8": b"import kernels\nx = '\xff\xfe'\n",
    "deep nesting": b"import kernels\nx = " + b"(" * 3000 + b")" * 3000,
}


@pytest.mark.parametrize("what", FILES)
def test_a_file_that_does_not_parse_is_reported_once_and_the_others_are_checked(
    what: str, tmp_path: Path
) -> None:
    root = write(tmp_path / "tree", {"vllm/__init__.py": "", "vllm/good.py": BAD})
    (root / "vllm/bad.py").write_bytes(FILES[what])
    library = write(tmp_path / "library", {"kernels/__init__.py": LIBRARY})
    report = check_tree(open_tree(root), libraries={"kernels": str(library)}, watched=[KERNELS])
    assert [unread.file for unread in report.unread] == ["vllm/bad.py"]
    assert [call.file for call in report.failing] == ["vllm/good.py"]


def test_a_huge_line_is_read_in_reasonable_time(tmp_path: Path) -> None:
    line = "x = [" + "1, " * 340_000 + "]"
    assert drifts(check(tmp_path, BAD + line, LIBRARY)) == [(2, "unexpected-keyword", ("bad",))]


@pytest.mark.parametrize("shape", ["x = 1" + " + 1" * 900, "x = a" + ".b" * 900, "x = f" + "()" * 300])
def test_long_expressions_are_walked(shape: str, tmp_path: Path) -> None:
    report = check(tmp_path, BAD + shape.replace("a.", "kernels.").replace("f(", "kernels.f("), LIBRARY)
    assert (2, "unexpected-keyword", ("bad",)) in drifts(report)


def test_modules_that_import_each_other_end(tmp_path: Path) -> None:
    engine = {
        "vllm/a.py": "import kernels\nfrom vllm.b import g\nfrom vllm.b import *\nf = g\nf(1, bad=2)\n",
        "vllm/b.py": "import kernels\nfrom vllm.a import f\nfrom vllm.a import *\ng = f\n",
    }
    assert drifts(check(tmp_path, engine, LIBRARY)) == []


def test_functions_that_return_each_other_end(tmp_path: Path) -> None:
    code = "import kernels\ndef a(): return b()\ndef b(): return a() or kernels\nx = a()\nx.f(1, bad=2)\n"
    assert drifts(check(tmp_path, code, LIBRARY)) in ([], [(5, "unexpected-keyword", ("bad",))])


def test_a_chain_of_rebindings_costs_no_more_than_its_length(tmp_path: Path) -> None:
    steps = "\n".join(f"    x = g(x, x, y=x) + h(x, {n})" for n in range(120))
    helpers = "def g(a, b, y): return kernels or a or b or y\ndef h(*a): return a\n"
    code = f"import kernels\n{helpers}def run(x):\n{steps}\n"
    check(tmp_path, code + "    kernels.f(1, bad=2)\n", LIBRARY)


def test_links_are_not_followed_out_of_the_tree_nor_in_circles(tmp_path: Path) -> None:
    root = write(tmp_path / "tree", {"vllm/__init__.py": "", "vllm/good.py": BAD})
    (root / "vllm" / "loop").symlink_to(root / "vllm")
    outside = tmp_path / "outside.py"
    outside.write_text(BAD)
    (root / "vllm" / "link.py").symlink_to(outside)
    library = write(tmp_path / "library", {"kernels/__init__.py": LIBRARY})
    report = check_tree(open_tree(root), libraries={"kernels": str(library)}, watched=[KERNELS])
    assert [call.file for call in report.failing] == ["vllm/good.py"]


def test_a_wheel_with_hostile_names_gives_no_modules(tmp_path: Path) -> None:
    from pinproof.contract.declared.snapshot import module_name

    assert module_name("lib/../../etc/passwd.py", "lib", "lib") is None
    assert module_name("lib/a b.py", "lib", "lib") is None
    assert module_name("lib/x;y.py", "lib", "lib") is None


@pytest.mark.parametrize("spec", ["/nowhere/at/all/kernels.json", "..", "not a version"])
def test_a_spec_that_names_nothing_is_said_to_be_unchecked_with_what_to_do(spec: str, tmp_path: Path) -> None:
    root = write(tmp_path / "tree", {"vllm/__init__.py": "", "vllm/good.py": BAD})
    report = check_tree(open_tree(root), libraries={"kernels": spec}, watched=[KERNELS])
    assert [(u.library, u.pinned) for u in report.unchecked] == [("kernels", True)]
    assert report.failing == []


def test_a_watch_list_with_an_unknown_field_is_refused(tmp_path: Path) -> None:
    from pinproof.contract.watch.watchlist import load

    path = tmp_path / "watch.toml"
    path.write_text('[[library]]\nname = "x"\nimports = ["x"]\ntypo = 1\n')
    with pytest.raises(InputError, match="typo"):
        load(path)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"import a, b.c as d # x", [("a", 0, ()), ("b.c", 0, ())]),
        (b"    from ..x import (a as b, # one\n  c,\n)", [("x", 2, ("a", "c"))]),
        (b"from . import y", [("", 1, ("y",))]),
        (b"x = 'import z'\nreimport q", []),
        (b"from x import(", [("x", 0, ())]),
        (b"from x import a, \\\n    b", [("x", 0, ("a", "b"))]),
        (b"from x \\\n  import a", [("x", 0, ("a",))]),
        (b"import \\\r\n  x", [("x", 0, ())]),
        (b"try: import a; import b; from .c import d\n", [("a", 0, ()), ("b", 0, ()), ("c", 1, ("d",))]),
        (b"class A: from a import b", [("a", 0, ("b",))]),
        (b"\xef\xbb\xbfimport a", [("a", 0, ())]),
        (b"x = 1\rimport a\rimport b", [("a", 0, ()), ("b", 0, ())]),
        (b"from.a import*", [("a", 1, ("*",))]),
    ],
)
def test_imports_are_found_in_bytes(text: bytes, found: list[tuple[str, int, tuple[str, ...]]]) -> None:
    assert [tuple(item) for item in imports(text)] == found


def zipped(path: Path, *, flag: int = 0, method: int | None = None, spoil: bool = False) -> Path:
    """A wheel whose headers or packed bytes say something that zipfile cannot read."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("kernels/__init__.py", LIBRARY)
    raw = bytearray(path.read_bytes())
    central, name = raw.index(b"PK\x01\x02"), raw.index(b"kernels/__init__.py")
    for at, flags, methods in ((0, 6, 8), (central, 8, 10)):
        raw[at + flags] |= flag
        raw[at + methods] = raw[at + methods] if method is None else method
    if spoil:
        raw[name + 19 : name + 25] = b"\xff" * 6
    path.write_bytes(raw)
    return path


@pytest.mark.parametrize(
    "damage", [{"flag": 1}, {"method": 97}, {"spoil": True}], ids=["encrypted", "method", "bytes"]
)
def test_a_wheel_that_cannot_be_unpacked_is_a_library_that_cannot_be_had(
    damage: dict[str, Any], tmp_path: Path
) -> None:
    root = write(tmp_path / "tree", {"vllm/__init__.py": "", "vllm/a.py": BAD})
    wheel = zipped(tmp_path / "kernels-1-py3-none-any.whl", **damage)
    report = check_tree(open_tree(root), libraries={"kernels": str(wheel)}, watched=[KERNELS])
    assert [item.library for item in report.unchecked] == ["kernels"]
    assert "damaged" in report.unchecked[0].reason


MODULES = ['"x"', "[1]", "null", '{"names":{"f":["x"]}}', '{"a":' * 5000]


@pytest.mark.parametrize("modules", MODULES, ids=range(5))
def test_a_snapshot_with_a_damaged_module_is_a_library_that_cannot_be_had(
    modules: str, tmp_path: Path
) -> None:
    root = write(tmp_path / "tree", {"vllm/__init__.py": "", "vllm/a.py": BAD})
    file = tmp_path / "kernels.json"
    file.write_text(
        '{"schema":"pinproof.signatures/1","library":"kernels","version":"1","source":"s","modules":{"kernels":'
        + modules
        + "}}"
    )
    report = check_tree(open_tree(root), libraries={"kernels": str(file)}, watched=[KERNELS])
    assert "is not a snapshot" in report.unchecked[0].reason


def test_a_link_that_leads_nowhere_in_a_library_is_passed_over(tmp_path: Path) -> None:
    root = write(tmp_path / "tree", {"vllm/__init__.py": "", "vllm/a.py": BAD})
    library = write(tmp_path / "library", {"kernels/__init__.py": LIBRARY})
    (library / "kernels/gone.py").symlink_to("nowhere")
    report = check_tree(open_tree(root), libraries={"kernels": str(library)}, watched=[KERNELS])
    assert [call.file for call in report.failing] == ["vllm/a.py"]


def test_a_watch_list_that_nests_too_deep_is_refused() -> None:
    with pytest.raises(InputError, match="is not a watch list"):
        parse("x = " + "[" * 100_000, "w.toml")


def test_a_source_archive_that_is_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinproof.contract.sources.archive._WHOLE", 1000)
    path = tmp_path / "lib-1.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for number in range(3):
            member = tarfile.TarInfo(f"lib-1/lib/m{number}.py")
            member.size = 400
            archive.addfile(member, io.BytesIO(b"#" * 400))
    with pytest.raises(InputError, match="larger than any source"):
        SourceArchive(path)


def test_a_file_whose_name_is_no_utf8_is_checked_and_the_run_not_remembered(tmp_path: Path) -> None:
    root = write(tmp_path / "tree", {"vllm/__init__.py": ""})
    (root / "vllm" / os.fsdecode(b"\xff.py")).write_text(BAD)
    library = write(tmp_path / "library", {"kernels/__init__.py": LIBRARY})
    for _ in range(2):
        report = check_tree(
            open_tree(root), libraries={"kernels": str(library)}, watched=[KERNELS], cached=True
        )
        assert len(report.failing) == 1


def test_what_may_end_a_function_early_is_looked_for_once_not_by_every_call() -> None:
    tree = ast.parse("def f(a):\n" + " g()\n" * 50 + " if a: return\n assert a\n if a: pass\n else: pass\n")
    scope = Scope(Any, tree.body[0], None, "f")  # type: ignore[arg-type]
    assert [type(step.node) for step in scope.leaving] == [ast.If, ast.Assert]
    assert scope.leaving is scope.leaving
