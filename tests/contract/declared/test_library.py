"""Names of a library are found through re-exports; what is absent is told from what may be there."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.contract.declared.library import Library
from pinproof.contract.declared.snapshot import decode, encode, take
from pinproof.tree import DiskFiles

from tests.contract.small import write

PACKAGE = {
    "lib/__init__.py": "from .a import f\nfrom . import b\nfrom .stars import *\nimport os\nVALUE = 1\n",
    "lib/a.py": "def f(x): ...\ndef g(y): ...\n",
    "lib/b.py": "from .a import g as h\nalias = h\n",
    "lib/stars.py": "__all__ = ['shown']\ndef shown(): ...\ndef hidden(): ...\n",
    "lib/lazy.py": "def __getattr__(name): ...\n",
    "lib/dynamic.py": "globals().update(f=1)\n",
    "lib/circle1.py": "from .circle2 import x\nfrom .circle2 import *\n",
    "lib/circle2.py": "from .circle1 import x\nfrom .circle1 import *\n",
    "lib/broken.py": "def (\n",
}


@pytest.fixture
def library(tmp_path: Path) -> Library:
    files = DiskFiles(write(tmp_path, PACKAGE))
    snapshot = take(files, {"lib": "lib"}, library="lib", version="1", source="test")
    return Library(decode(encode(snapshot, pretty=True)), "lib 1")


@pytest.mark.parametrize(
    ("module", "name", "kind"),
    [
        ("lib", "f", "function"),
        ("lib", "b", "module"),
        ("lib", "shown", "function"),
        ("lib", "hidden", "absent"),
        ("lib", "gone", "absent"),
        ("lib", "VALUE", "value"),
        ("lib", "os", "open"),
        ("lib", "__file__", "value"),
        ("lib", "a", "module"),
        ("lib.b", "h", "function"),
        ("lib.b", "alias", "function"),
        ("lib.lazy", "anything", "open"),
        ("lib.dynamic", "anything", "open"),
        ("lib.broken", "anything", "open"),
        ("lib.circle1", "x", "open"),
    ],
)
def test_a_name_is_looked_up(library: Library, module: str, name: str, kind: str) -> None:
    assert [member.kind for member in library.members(module, name)] == [kind]


def test_star_imports_in_a_circle_end(library: Library) -> None:
    assert [m.kind for m in library.members("lib.circle1", "nowhere")] in (["absent"], ["open"])


@pytest.mark.parametrize(
    ("module", "kind"), [("lib.gone", "absent"), ("lib.lazy.x", "open"), ("lib.a", "module")]
)
def test_a_module_is_looked_up(library: Library, module: str, kind: str) -> None:
    assert library.import_module(module).kind == kind


def test_a_folder_without_init_is_a_namespace_of_which_nothing_is_claimed(tmp_path: Path) -> None:
    write(tmp_path, {"lib/__init__.py": ""})
    (tmp_path / "lib/data").mkdir()
    (tmp_path / "lib/data/x.py").write_text("def f(): ...")
    library = Library(
        take(DiskFiles(tmp_path), {"lib": "lib"}, library="lib", version="1", source="t"), "lib"
    )
    assert library.import_module("lib.data.x").kind == "open"
    assert library.import_module("lib.data.gone").kind == "open"


def test_a_compiled_extension_is_open(tmp_path: Path) -> None:
    write(tmp_path, {"lib/__init__.py": "from ._C import f\n"})
    (tmp_path / "lib/_C.cpython-312-x86_64-linux-gnu.so").write_bytes(b"\x7fELF")
    library = Library(
        take(DiskFiles(tmp_path), {"lib": "lib"}, library="lib", version="1", source="t"), "lib"
    )
    assert [m.kind for m in library.members("lib", "f")] == ["open"]


def test_a_stub_beside_a_compiled_extension_is_read(tmp_path: Path) -> None:
    write(tmp_path, {"lib/__init__.py": "from ._C import f\n", "lib/_C.pyi": "def f(a: int) -> int: ...\n"})
    (tmp_path / "lib/_C.cpython-312-x86_64-linux-gnu.so").write_bytes(b"\x7fELF")
    library = Library(
        take(DiskFiles(tmp_path), {"lib": "lib"}, library="lib", version="1", source="t"), "lib"
    )
    assert [m.kind for m in library.members("lib", "f")] == ["function"]


def test_a_copy_that_names_itself_by_its_place_in_the_engine_is_one_library(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"vllm/copy/__init__.py": "from vllm.copy.a import f\n", "vllm/copy/a.py": "def f(x): ...\n"},
    )
    snapshot = take(DiskFiles(tmp_path), {"lib": "vllm/copy"}, library="lib", version="1", source="t")
    assert [m.kind for m in Library(snapshot, "lib").members("lib", "f")] == ["function"]
