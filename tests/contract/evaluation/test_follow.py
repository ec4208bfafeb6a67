"""Each way in which vLLM and SGLang reach a kernel is followed to its signature."""

# ruff: noqa: E501 - each snippet is one file

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.small import check, drifts

LIBRARY = (
    "def f(a, b=1): ...\nclass W:\n    def __init__(self, size): ...\n    def plan(self, x, *, y=0): ...\n"
)

# Every snippet calls kernels.f with the unknown keyword `bad` on its last line.
REACHES = {
    "module attribute": "import kernels\nkernels.f(1, bad=2)",
    "alias of the module": "import kernels as k\nk.f(1, bad=2)",
    "from-import": "from kernels import f\nf(1, bad=2)",
    "from-import under another name": "from kernels import f as g\ng(1, bad=2)",
    "import inside the function": "def run():\n    from kernels import f\n    return f(1, bad=2)",
    "name bound to the function": "import kernels\ng = kernels.f\ng(1, bad=2)",
    "attribute of self": (
        "import kernels\nclass A:\n    def __init__(self):\n        self.g = kernels.f\n"
        "    def run(self):\n        self.g(1, bad=2)"
    ),
    "module held in self": (
        "import kernels\nclass A:\n    def __init__(self):\n        self.lib = kernels\n"
        "    def run(self):\n        self.lib.f(1, bad=2)"
    ),
    "import_module with a constant": "import importlib\nk = importlib.import_module('kernels')\nk.f(1, bad=2)",
    "getter with a cache": (
        "import functools, importlib\n@functools.cache\ndef get():\n    try:\n"
        "        return importlib.import_module('kernels')\n    except ImportError:\n        return None\n"
        "lib = get()\nlib.f(1, bad=2)"
    ),
    "getattr with a constant": "import kernels\ngetattr(kernels, 'f')(1, bad=2)",
    "getattr with a default": "import kernels\ng = getattr(kernels, 'f', None)\ng(1, bad=2)",
    "functools.partial": "import functools, kernels\ng = functools.partial(kernels.f, bad=2)\ng(1)",
    "lambda": "import kernels\ng = lambda x: kernels.f(x, bad=2)",
    "comprehension": "import kernels\ny = [kernels.f(x, bad=2) for x in ()]",
    "conditional expression": "import kernels\ny = kernels.f(1, bad=2) if y else None",
    "dict display": "import kernels\nkw = {'bad': 2}\nkernels.f(1, **kw)",
    "dict with a key put in": "import kernels\ndef g():\n    kw = dict()\n    kw['bad'] = 2\n    kernels.f(1, **kw)",
    "dict comprehension over a literal": (
        "import kernels\nkw = {k: v for k, v in (('b', 1), ('bad', 2))}\nkernels.f(1, **kw)"
    ),
    "dict comprehension over a literal with a test": (
        "import kernels\ndef g(x):\n    kw = {n: v for n, v in [('bad', x)] if v is not None}\n    kernels.f(1, **kw)"
    ),
    "dict comprehension over a list of names": (
        "import kernels\nkw = {k: 1 for k in ['b', 'bad']}\nkernels.f(1, **kw)"
    ),
    "dict updated": "import kernels\ndef g():\n    kw = {}\n    kw.update(bad=2)\n    kernels.f(1, **kw)",
    "dict built by a method": (
        "import kernels\nclass A:\n    def kw(self):\n        d = {}\n        d['bad'] = 2\n        return d\n"
        "    def run(self):\n        kernels.f(1, **self.kw())"
    ),
    "global set by an initialiser": (
        "import kernels\n_impl = None\ndef init():\n    global _impl\n    _impl = getattr(kernels, 'f', None)\n"
        "def run(*args, **kwargs):\n    init()\n    return _impl(*args, **kwargs)\nrun(1, bad=2)"
    ),
    "lazy wrapper": (
        "import functools, importlib\ndef missing(*_, **__): raise RuntimeError\n"
        "def lazy(module, name, fallback=missing):\n    @functools.cache\n    def get():\n"
        "        mod = importlib.import_module(module)\n        return getattr(mod, name, None) if mod else None\n"
        "    def wrapper(*args, **kwargs):\n        impl = get()\n        if impl is None:\n"
        "            return fallback(*args, **kwargs)\n        return impl(*args, **kwargs)\n    return wrapper\n"
        "g = lazy('kernels', 'f')\ng(1, bad=2)"
    ),
    "field whose values are constants": (
        "import kernels\nfrom dataclasses import dataclass\n@dataclass\nclass Spec:\n    kernel: str\n"
        "ONE = Spec(kernel='f')\ndef run(spec: Spec):\n    getattr(kernels, spec.kernel)(1, bad=2)"
    ),
}


@pytest.mark.parametrize("how", REACHES)
def test_a_call_is_reached_through(how: str, tmp_path: Path) -> None:
    report = check(tmp_path, REACHES[how], LIBRARY)
    assert [(kind, names) for _, kind, names in drifts(report)] == [("unexpected-keyword", ("bad",))]
    assert drifts(report)[0][0] == REACHES[how].count("\n") + 1


@pytest.mark.parametrize("how", REACHES)
def test_the_same_call_with_a_known_keyword_binds(how: str, tmp_path: Path) -> None:
    report = check(tmp_path, REACHES[how].replace("bad", "b"), LIBRARY)
    assert (drifts(report), len(report.bound) > 0) == ([], True)


def test_a_keyword_of_one_of_two_dicts_carries_the_condition(tmp_path: Path) -> None:
    code = "import kernels\ndef g(x):\n    kernels.f(1, **({'bad': 2} if x.on else {'b': 3}))\n"
    ((drift,),) = [call.drifts for call in check(tmp_path, code, LIBRARY).failing]
    assert (drift.names, drift.when) == (("bad",), "x.on")


OBJECTS = {
    "constructor": "from kernels import W\nW(1).plan(2, bad=3)",
    "local": "from kernels import W\ndef g():\n    w = W(1)\n    w.plan(2, bad=3)",
    "self": (
        "from kernels import W\nclass A:\n    def __init__(self):\n        self.w = W(1)\n"
        "    def g(self):\n        self.w.plan(2, bad=3)"
    ),
    "annotated parameter": "from kernels import W\ndef g(w: W):\n    w.plan(2, bad=3)",
    "optional field": (
        "from dataclasses import dataclass\nfrom kernels import W\n@dataclass\nclass M:\n    w: W | None = None\n"
        "def g(m: M):\n    m.w.plan(2, bad=3)"
    ),
    "method that makes it on demand": (
        "from kernels import W\nclass A:\n    def get(self):\n        if self.w is None:\n            self.w = W(1)\n"
        "        return self.w\n    def g(self):\n        w = self.get()\n        w.plan(2, bad=3)"
    ),
}


@pytest.mark.parametrize("how", OBJECTS)
def test_a_method_is_reached_through_an_object(how: str, tmp_path: Path) -> None:
    report = check(tmp_path, OBJECTS[how], LIBRARY)
    assert [(kind, names) for _, kind, names in drifts(report)] == [("unexpected-keyword", ("bad",))]


def test_a_wrapper_in_another_module_is_followed_to_the_library(tmp_path: Path) -> None:
    engine = {
        "vllm/utils/k.py": "import kernels\ndef run(*args, **kwargs):\n    return kernels.f(*args, **kwargs)\n",
        "vllm/m.py": "from vllm.utils.k import run\nrun(1, bad=2)\n",
    }
    report = check(tmp_path, engine, LIBRARY)
    assert [(call.file, call.line) for call in report.failing] == [("vllm/m.py", 2)]
    assert "vllm/utils/k.py:3" in report.failing[0].how


def test_a_lazy_facade_is_followed_through_its_imports_for_type_checkers(tmp_path: Path) -> None:
    engine = {
        "vllm/facade.py": """
            import importlib
            from typing import TYPE_CHECKING
            if TYPE_CHECKING:
                from kernels import f as f
                from kernels import gone as gone
            def __getattr__(name):
                return getattr(importlib.import_module("kernels"), name)
        """,
        "vllm/m.py": "def run():\n    from vllm.facade import f, gone\n    f(1, bad=2)\n",
    }
    report = check(tmp_path, engine, LIBRARY)
    assert [(c.file, c.line, c.drifts[0].kind) for c in report.failing] == [
        ("vllm/m.py", 2, "missing-attribute"),
        ("vllm/m.py", 3, "unexpected-keyword"),
    ]


MISSING = {
    "from kernels import gone": "missing-attribute",
    "import kernels.gone": "missing-module",
    "from kernels.gone import x": "missing-module",
    "import kernels\nx = kernels.gone": "missing-attribute",
    "import kernels\nx = getattr(kernels, 'gone')": "missing-attribute",
    "from kernels import W\nW(1).gone()": "missing-attribute",
}


@pytest.mark.parametrize("code", MISSING)
def test_a_name_that_is_not_there_is_found(code: str, tmp_path: Path) -> None:
    assert [kind for _, kind, _ in drifts(check(tmp_path, code, LIBRARY))] == [MISSING[code]]


# What cannot be known, or is true, is never reported.
SILENT = {
    "dict comprehension whose keys are computed": (
        "import kernels\nkw = {k.lower(): v for k, v in (('B', 1), ('BAD', 2))}\nkernels.f(1, **kw)"
    ),
    "dict comprehension over what is not a literal": (
        "import kernels\ndef g(rows):\n    kw = {k: v for k, v in (*rows, ('b', 2))}\n    kernels.f(1, **kw)"
    ),
    "dunder of a module": "import kernels\nkernels.__file__",
    "two classes, one of them the engine's": (
        "from kernels import W\nclass Mine:\n    def plan(self, **kw): ...\n"
        "def g(flag):\n    w = W(1) if flag else Mine()\n    w.plan(1, bad=2)"
    ),
    "value that may be anything": "import kernels\ndef g(f=None):\n    f = f or kernels.f\n    f(1, bad=2)",
    "attribute replaced on the object": (
        "from kernels import W\nw = W(1)\nw.plan = lambda *a, **k: None\nw.plan(1, bad=2)"
    ),
    "name bound again before the call": "from kernels import f\ndef f(*a, **k): ...\nf(1, bad=2)",
    "parameter that hides the name": "from kernels import f\ndef g(f):\n    f(1, bad=2)",
    "comprehension that hides the name": "from kernels import f\nx = [f(1, bad=2) for f in ()]",
    "unknown spread": "import kernels\ndef g(*a, **k):\n    kernels.f(*a, **k)",
    "subclass known by annotation only": "from kernels import W\ndef g(w: W):\n    w.added_by_a_subclass()",
}


@pytest.mark.parametrize("why", SILENT)
def test_nothing_is_said_about(why: str, tmp_path: Path) -> None:
    assert drifts(check(tmp_path, SILENT[why], LIBRARY)) == []
