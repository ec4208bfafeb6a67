"""Constructors and methods take what Python's own classes take: bases, dataclasses, decorators."""

from __future__ import annotations

# ruff: noqa: E501 - each snippet is one file
from pathlib import Path

import pytest

from tests.contract.small import check, drifts

CLASSES = {
    "own __init__": "class C:\n    def __init__(self, x): ...",
    "inherited __init__": "class B:\n    def __init__(self, x): ...\nclass C(B):\n    pass",
    "dataclass": "from dataclasses import dataclass\n@dataclass\nclass C:\n    x: int",
    "frozen dataclass with defaults": (
        "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass C:\n    x: int\n"
        "    z: list = dataclasses.field(default_factory=list)"
    ),
    "dataclass that inherits fields": (
        "from dataclasses import dataclass\n@dataclass\nclass B:\n    x: int\n@dataclass\nclass C(B):\n    z: int = 1"
    ),
    "NamedTuple": "from typing import NamedTuple\nclass C(NamedTuple):\n    x: int",
    "generic and abstract": (
        "import abc\nfrom typing import Generic, TypeVar\nT = TypeVar('T')\n"
        "class C(abc.ABC, Generic[T]):\n    def __init__(self, x): ..."
    ),
}


@pytest.mark.parametrize("kind", CLASSES)
def test_a_constructor_binds_what_it_takes_and_refuses_what_it_does_not(kind: str, tmp_path: Path) -> None:
    engine = "from kernels import C\nC(1)\nC(x=1)\nC(1, bad=2)\nC()\n"
    report = check(tmp_path, engine, CLASSES[kind])
    assert drifts(report) == [(4, "unexpected-keyword", ("bad",)), (5, "missing-required", ("x",))]


def test_a_field_declared_again_with_a_default_is_no_longer_required(tmp_path: Path) -> None:
    library = """
        from dataclasses import dataclass, field
        @dataclass
        class Base:
            method: str
            hidden: int = field(init=False, default=0)
        @dataclass
        class C(Base):
            method: str = "humming"
    """
    report = check(tmp_path, "from kernels import C\nC()\nC(hidden=1)\n", library)
    assert drifts(report) == [(3, "unexpected-keyword", ("hidden",))]


UNKNOWN = {
    "base of another package": "import torch\nclass C(torch.nn.Module):\n    pass",
    "metaclass": "class C(metaclass=Registry):\n    pass",
    "own __new__": "class C:\n    def __new__(cls, *a): ...",
    "decorator of another package": "import other\n@other.wrap\nclass C:\n    pass",
    "pydantic": "from pydantic import BaseModel\nclass C(BaseModel):\n    x: int",
}


@pytest.mark.parametrize("why", UNKNOWN)
def test_a_constructor_that_cannot_be_known_is_open_never_reported(why: str, tmp_path: Path) -> None:
    report = check(tmp_path, "from kernels import C\nC(1, 2, bad=3)\n", UNKNOWN[why])
    assert (drifts(report), [call.open is not None for call in report.calls]) == ([], [True])


METHODS = "class C:\n    @staticmethod\n    def s(x): ...\n    @classmethod\n    def c(cls, x): ...\n    def m(self, x): ...\n"


@pytest.mark.parametrize("call", ["C.s(1)", "C.c(1)", "C().s(1)", "C().c(1)", "C().m(1)", "C.m(None, 1)"])
def test_self_and_cls_are_filled_in_where_python_fills_them(call: str, tmp_path: Path) -> None:
    report = check(tmp_path, f"from kernels import C\n{call}\n", METHODS)
    assert (drifts(report), len(report.open)) == ([], 0)


@pytest.mark.parametrize("call", ["C.s(1, 2)", "C.c(1, 2)", "C().m(1, 2)"])
def test_one_argument_too_many_is_counted_after_self(call: str, tmp_path: Path) -> None:
    report = check(tmp_path, f"from kernels import C\n{call}\n", METHODS)
    assert [kind for _, kind, _ in drifts(report)] == ["too-many-positional"]


DECORATORS = {
    "wraps": "def d(g):\n    @functools.wraps(g)\n    def w(*args, **kwargs):\n        return g(*args, **kwargs)\n    return w",
    "factory": (
        "def d(*_, **__):\n    def dec(g):\n        @functools.wraps(g)\n        def w(*args, **kwargs):\n"
        "            return g(*args, **kwargs)\n        return w\n    return dec"
    ),
    "returns the function": "def d(g):\n    g.mark = 1\n    return g",
    "identity lambda": "def d(name):\n    return lambda g: g",
}


@pytest.mark.parametrize("kind", DECORATORS)
def test_a_decorator_that_hands_everything_on_keeps_the_signature(kind: str, tmp_path: Path) -> None:
    use = "@d('x')" if kind in ("factory", "identity lambda") else "@d"
    library = f"import functools\n{DECORATORS[kind]}\n{use}\ndef f(a): ...\n"
    report = check(tmp_path, "import kernels\nkernels.f(1)\nkernels.f(1, bad=2)\n", library)
    assert drifts(report) == [(3, "unexpected-keyword", ("bad",))]


def test_a_decorator_that_takes_a_keyword_for_itself_adds_it(tmp_path: Path) -> None:
    library = """
        import functools
        def requirement(checks):
            def decorator(func):
                @functools.wraps(func)
                def wrapper(*args, **kwargs):
                    skip = kwargs.pop("skip_check", False)
                    return func(*args, **kwargs)
                return wrapper
            return decorator
        @requirement({})
        def f(a): ...
    """
    report = check(
        tmp_path, "import kernels\nkernels.f(1, skip_check=True)\nkernels.f(1, skip=True)\n", library
    )
    assert drifts(report) == [(3, "unexpected-keyword", ("skip",))]


def test_a_decorator_that_changes_arguments_leaves_the_function_open(tmp_path: Path) -> None:
    library = "def d(g):\n    def w(*args, **kwargs):\n        return g(1, *args)\n    return w\n@d\ndef f(a, b): ...\n"
    report = check(tmp_path, "import kernels\nkernels.f(bad=1)\n", library)
    assert (drifts(report), len(report.open)) == ([], 1)


def test_a_triton_kernel_is_launched_with_options_beside_its_parameters(tmp_path: Path) -> None:
    library = "import triton\n@triton.jit\ndef k(x, BLOCK): ...\n"
    report = check(tmp_path, "from kernels import k\nk[(1,)](1, BLOCK=2, num_warps=4)\nk[(1,)](1)\n", library)
    assert drifts(report) in ([(3, "missing-required", ("BLOCK",))], [])
    assert 2 not in [line for line, _, _ in drifts(report)]
