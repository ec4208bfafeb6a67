"""Signatures of compiled modules, from C++ sources and from an extension's strings."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pinproof.contract.declared.library import Library
from pinproof.contract.declared.native import cplusplus, schemas
from pinproof.contract.declared.native import extensions as native
from pinproof.contract.declared.summary import Function, Module
from pinproof.contract.model import Report
from pinproof.contract.sources.fetching import from_folder

from tests.contract.small import KERNELS, check, drifts, write

SHIM = "from kernels._C import gemm\n"
MODULE = """
    #include <pybind11/pybind11.h>
    PYBIND11_MODULE(_C, m) {
        %s
    }
"""
OPS = """
    import torch
    ops = torch.ops.kernels
    gemm = ops.gemm
"""


def call(tmp_path: Path, defs: str, arguments: str, *, module: str = MODULE, more: str = "") -> Report:
    """The report on `kernels.gemm(arguments)` where a C++ file registers `defs` for `kernels._C`."""
    library = {"kernels/__init__.py": SHIM, "csrc/api.cpp": module % defs}
    if more:
        library["csrc/more.hpp"] = more
    return check(tmp_path, f"import kernels\nkernels.gemm({arguments})\n", library)


ALL_NAMED = (
    'm.def("gemm", &gemm, "doc, with (", py::arg("a"), py::arg("b") = f(1, 2), py::arg("out").none());'
)


@pytest.mark.parametrize("arguments", ["1, 2, 3", "1, out=2", "a=1, b=2, out=3", "*x", "**x"])
def test_a_call_that_fits_a_pybind11_def_binds(arguments: str, tmp_path: Path) -> None:
    report = call(tmp_path, ALL_NAMED, arguments)
    assert drifts(report) == []
    assert len(report.bound) == 1


@pytest.mark.parametrize(
    ("arguments", "kind", "names"),
    [
        ("1, 2, 3, bias=4", "unexpected-keyword", ("bias",)),
        ("1", "missing-required", ("out",)),
        ("1, 2, 3, 4", "too-many-positional", ("4 given, 3 taken",)),
    ],
)
def test_a_call_that_does_not_fit_a_pybind11_def_fails(
    arguments: str, kind: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    report = call(tmp_path, ALL_NAMED, arguments)
    assert drifts(report) == [(2, kind, names)]
    signature = report.failing[0].signature
    assert signature is not None
    assert (signature.place.file, signature.place.line) == ("csrc/api.cpp", 4)


@pytest.mark.parametrize(
    "defs",
    [
        'm.def("gemm", &gemm);',
        'm.def("gemm", [](int a) { return a; });',
        'm.def("gemm", &gemm, py::arg("a"), REST);',
        'm.def("gemm", &gemm, py::arg("a"), py::arg(NAME));',
        'm.def("gemm", &gemm, py::arg("a"), py::arg());',
        'm.def("gemm", &gemm<1, 2>, py::arg("a"));',
        'm.def("gemm", &gemm, py::arg("a")); m.def("gemm", &other);',
        'm.def("gemm", &gemm, py::arg("a")); m.def(NAME, &other, py::arg("b"));',
        'm.def("gemm", [](int a, py::kwargs k) {}, py::arg("a"));',
        'auto s = m.def_submodule("s"); m.def("gemm", &gemm, py::arg("a"));',
        'py::class_<T>(m, "T").def("gemm", &T::gemm, py::arg("a"));',
        '// m.def("gemm", &gemm, py::arg("a"));',
        '/* m.def("gemm", &gemm, py::arg("a")); */',
        'auto s = R"(m.def("gemm", &gemm, py::arg("a"));)";',
        'm.attr("gemm") = py::none();',
        'm.def("gemm", &gemm, py::arg("a")); m.attr("gemm") = wrapped;',
        'm.def("gemm", &gemm, py::arg("a"',
    ],
)
def test_what_is_not_certain_stays_open(defs: str, tmp_path: Path) -> None:
    report = call(tmp_path, defs, "nothing=1")
    assert drifts(report) == []
    assert [c.callee for c in report.open] == ["kernels.gemm"]


def test_a_second_extension_in_the_sources_leaves_both_open(tmp_path: Path) -> None:
    report = call(tmp_path, ALL_NAMED, "nothing=1", more="PYBIND11_MODULE(other, m) {}")
    assert (drifts(report), len(report.open)) == ([], 1)


def test_a_call_that_fits_any_overload_binds_and_one_that_fits_none_fails(tmp_path: Path) -> None:
    both = 'm.def("gemm", &a, py::arg("a")); m.def("gemm", &b, py::arg("a"), py::arg("b"));'
    assert drifts(call(tmp_path / "fits", both, "1, b=2")) == []
    assert [d[1] for d in drifts(call(tmp_path / "fails", both, "1, c=2"))] == ["unexpected-keyword"]


def test_positional_only_and_keyword_only_parameters_are_known(tmp_path: Path) -> None:
    defs = 'm.def("gemm", &g, py::arg("a"), py::pos_only(), py::arg("b"), py::kw_only(), "c"_a = 1);'
    assert drifts(call(tmp_path / "fits", defs, "1, b=2, c=3")) == []
    assert drifts(call(tmp_path / "by_name", defs, "a=1, b=2")) != []
    assert [d[1] for d in drifts(call(tmp_path / "by_place", defs, "1, 2, 3"))] == ["too-many-positional"]


def test_functions_registered_by_another_file_and_under_another_name_are_found(tmp_path: Path) -> None:
    more = """
        static void register_apis(pybind11::module_& m) {
        #if SM90
            m.def("gemm_nt", &gemm_nt, py::arg("a"));
        #endif
            m.attr("gemm") = m.attr("gemm_nt");
        }
    """
    report = call(tmp_path, "register_apis(m);", "1, b=2", more=more)
    assert drifts(report) == [(2, "unexpected-keyword", ("b",))]


def test_the_extension_is_named_by_setup_py_where_the_sources_leave_it_to_the_build(tmp_path: Path) -> None:
    library = {
        "kernels/__init__.py": SHIM + "from kernels.envs import settings\n",
        "csrc/api.cpp": MODULE.replace("_C", "TORCH_EXTENSION_NAME") % ALL_NAMED,
        "setup.py": "ext_modules = [CUDAExtension(name='kernels._C', sources=[])]\n",
    }
    report = check(tmp_path, "import kernels\nkernels.gemm(1, 2, 3, 4)\n", library)
    assert [d[1] for d in drifts(report)] == ["too-many-positional"]


def test_a_module_that_the_build_makes_is_not_missing_from_a_clone(tmp_path: Path) -> None:
    engine = "import kernels\nfrom kernels import gemm\ngemm(1)\n"
    report = check(tmp_path, engine, {"kernels/__init__.py": SHIM})
    assert (drifts(report), len(report.open)) == ([], 1)


def test_a_source_too_large_to_read_leaves_all_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_LARGEST_SOURCE", 1000)
    assert len(call(tmp_path / "small", ALL_NAMED, "1, out=2").open) == 0
    assert len(call(tmp_path / "large", ALL_NAMED, "1, out=2", more="/" * 1001).open) == 1


def test_the_package_folder_of_a_clone_stands_for_the_clone(tmp_path: Path) -> None:
    write(tmp_path, {"kernels/__init__.py": SHIM, "csrc/api.cpp": MODULE % ALL_NAMED})
    taken = from_folder(KERNELS, tmp_path / "kernels")
    (member,) = Library(taken, "kernels").members("kernels", "gemm")
    assert isinstance(member.entry, Function)
    assert [p.name for p in member.entry.parameters] == ["a", "b", "out"]


SCHEMA = 'm.def("gemm(Tensor a, Tensor? b=None, "\n"*, bool c=False) -> Tensor", &gemm);'


@pytest.mark.parametrize(
    ("arguments", "kinds"),
    [
        ("1, c=True", []),
        ("a=1, b=2", []),
        ("1, 2, True", ["too-many-positional"]),
        ("1, d=2", ["unexpected-keyword"]),
    ],
)
def test_an_operator_is_reached_through_torch_ops(arguments: str, kinds: list[str], tmp_path: Path) -> None:
    source = f"TORCH_LIBRARY_FRAGMENT(kernels, m) {{ {SCHEMA} }}"
    library = {"kernels/__init__.py": OPS, "csrc/ops.cpp": source}
    report = check(tmp_path, f"import kernels\nkernels.gemm({arguments})\n", library)
    assert [d[1] for d in drifts(report)] == kinds
    assert report.open == []


@pytest.mark.parametrize(
    "source",
    [
        'TORCH_LIBRARY(kernels, m) { m.def("gemm", &gemm); }',
        'TORCH_LIBRARY(kernels, m) { m.def("gemm(Tensor a, Thing b) -> ()"); }',
        'TORCH_LIBRARY(kernels, m) { m.def("gemm(Tensor a) -> ()"); m.def("gemm.out(...) -> ()"); }',
        'TORCH_LIBRARY(kernels, m) { m.def("gemm(Tensor a) -> ()"); m.def(kSchema); }',
        'TORCH_LIBRARY(other, m) { m.def("gemm(Tensor a) -> ()"); }',
        'TORCH_LIBRARY_EXPAND(NAME, m) { m.def("gemm(Tensor a) -> ()"); }',
    ],
)
def test_an_operator_whose_schema_is_not_certain_stays_open(source: str, tmp_path: Path) -> None:
    library = {"kernels/__init__.py": OPS, "csrc/ops.cpp": source}
    report = check(tmp_path, "import kernels\nkernels.gemm(nothing=1)\n", library)
    assert (drifts(report), len(report.open)) == ([], 1)


class Memory:
    """Files in memory."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def paths(self, under: str = "", suffix: str = "") -> list[str]:
        return [p for p in self.files if p.startswith(under) and p.endswith(suffix)]


def from_binary(binary: bytes) -> Module | None:
    """What a wheel with one compiled extension says about `torch.ops.kernels`."""
    from pinproof.contract.declared import snapshot

    files = Memory({"kernels/__init__.py": OPS.replace("    ", "").encode(), "kernels/_ext.abi3.so": binary})
    taken = snapshot.take(files, {"kernels": "kernels"}, library="kernels", version="1", source="here")  # type: ignore[arg-type]
    raw = taken.modules.get("torch.ops.kernels")
    return None if raw is None else snapshot.decode_module(raw)


def test_schemas_are_read_out_of_the_strings_of_an_extension() -> None:
    module = from_binary(
        b"\x7fELF\0kernels\0gemm(Tensor a, int[3]? r=None) -> ()\0x->y\0gemm.out(Tensor a) -> ()\0"
    )
    assert module is not None
    found = [entry for entry in module.names["gemm"] if isinstance(entry, Function)]
    assert [[p.name for p in f.parameters] for f in found] == [["a", "r"], ["a"]]


@pytest.mark.parametrize(
    "binary",
    [
        b"\0gemm(Tensor a) -> ()\0",  # the namespace is not in it
        b"\0kernels\0gemm(Tensor a) -> ()",  # cut off
        b"\0kernels\0other::gemm(Tensor a) -> ()\0",
        b"\0kernels\0gemm(Tensor a) -> ()\0gemm.out(Unknown b) -> ()\0",
        b"\0kernels\0gemm(Tensor a, Tensor a) -> ()\0",
    ],
)
def test_strings_that_are_not_certain_say_nothing(binary: bytes) -> None:
    module = from_binary(binary)
    assert module is None or "gemm" not in module.names


def test_an_extension_too_large_to_read_is_left_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pinproof.tree import DiskFiles

    (tmp_path / "a.so").write_bytes(b"\0kernels\0gemm(Tensor a) -> ()\0")
    assert native._operators(DiskFiles(tmp_path), "a.so", "kernels")
    monkeypatch.setattr(native, "_LARGEST_BINARY", 8)
    assert native._operators(DiskFiles(tmp_path), "a.so", "kernels") == {}


def test_a_wrapper_that_takes_a_keyword_out_is_not_blamed_for_it(tmp_path: Path) -> None:
    engine = """
        import kernels
        def wrapped(*args, **kwargs):
            %s
            return kernels.gemm(*args, **kwargs)
        wrapped(1, flag=True)
    """
    library = "def gemm(a): ..."
    changes = ["del kwargs['flag']", "kwargs.pop('flag', None)", "kwargs = clean(kwargs)", "strip(kwargs)"]
    for number, change in enumerate(changes):
        assert drifts(check(tmp_path / str(number), _dedented(engine % change), library)) == []
    kept = "seen = kwargs.get('flag')"
    assert [d[2] for d in drifts(check(tmp_path / "kept", _dedented(engine % kept), library))] == [("flag",)]


def test_functions_handed_out_through_globals_are_known(tmp_path: Path) -> None:
    library = """
        def _register():
            def gemm_nt(a): ...
            globals().update({"gemm": gemm_nt, "other": [gemm_nt][0]})
        _register()
    """
    report = check(tmp_path, "import kernels\nkernels.gemm(1, b=2)\nkernels.other(1, b=2)\n", library)
    assert drifts(report) == [(2, "unexpected-keyword", ("b",))]


def _dedented(text: str) -> str:
    from textwrap import dedent

    return dedent(text)


NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True)
TYPES = st.sampled_from(
    ["Tensor", "Tensor(a!)", "Tensor?", "int[3]?", "int", "str", "Tensor(a!)[]", "Scalar"]
)
DEFAULTS = st.sampled_from(["", "=None", "=1", "='a,)b'", "=[1, 2]", "=-1.5"])


@given(st.lists(st.tuples(TYPES, NAMES, DEFAULTS), max_size=6, unique_by=lambda a: a[1]), st.integers(0, 6))
def test_a_written_schema_is_read_back(arguments: list[tuple[str, str, str]], star: int) -> None:
    pieces = [f"{kind} {name}{default}" for kind, name, default in arguments]
    if star < len(pieces):
        pieces.insert(star, "*")
    schema = schemas.parse(f"ns::op.out({', '.join(pieces)}) -> (Tensor, int[])")
    assert schema is not None
    assert (schema.namespace, schema.name) == ("ns", "op")
    assert schema.parameters is not None
    assert [(p.name, p.default) for p in schema.parameters] == [(n, bool(d)) for _, n, d in arguments]
    assert [p.kind == "keyword-only" for p in schema.parameters] == [n >= star for n in range(len(arguments))]


PIECES = ['m.def("', '"', "(", ")", ",", "py::arg", "{", "}", "/*", "*/", 'R"(', ')"', "\\", "'", "=", "\n#"]
WORDS = ["m", ".", "def", "py::module_&m", "TORCH_LIBRARY(a,m)", "a", " "]


@settings(max_examples=200)
@given(st.lists(st.sampled_from([*PIECES, *WORDS])))
def test_no_text_breaks_the_reader(pieces: list[str]) -> None:
    found = cplusplus.read("".join(pieces))
    assert all(isinstance(entries, tuple) for names in found.names.values() for entries in names.values())


@pytest.mark.parametrize(
    "piece", ["/*", 'R"(', '"', "'", "m.def(", "(", "\\", "py::module_& m; m.def(", "::a", "#\\\n"]
)
def test_time_is_linear_in_a_hostile_source(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        start = time.process_time()
        cplusplus.read(text)
        return time.process_time() - start

    # Ten times the text: linear takes 10 times as long, quadratic 100 times.
    assert seconds(300_000) < 40 * max(seconds(30_000), 0.01)


@pytest.mark.parametrize("piece", [b"\0a(", b"->", b"\0a(->", b"a", b"\0" + b"a(" * 9000 + b"->"])
def test_time_is_bounded_in_a_hostile_binary(piece: bytes) -> None:
    start = time.process_time()
    schemas.strings(piece * (2_000_000 // len(piece)))
    assert time.process_time() - start < 5
