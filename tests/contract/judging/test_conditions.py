"""Conditions are values on the pinned versions: what they say decides, not how they are spelled."""

# ruff: noqa: E501 - each snippet is one file

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.small import check, drifts

LIBRARY = """\
__version__ = "2.1.0"
def f(a): ...
class Mixer:
    def plan(self, n): ...
class Wide(Mixer):
    def plan(self, n, *, bad=0): ...
"""
CALL = "    kernels.f(1, bad=2)"
VERSION = "import kernels\nfrom packaging.version import Version\n"

# Reported: the condition holds, or says nothing about this call.
LIVE = {
    "a name that holds the word version": f"import kernels\nif inversion > 1:\n{CALL}",
    "the version of something else": f"import kernels\ndef g(cfg):\n  if cfg.fa_version == 3:\n{CALL}",
    "a version that is pinned": f"{VERSION}if Version(kernels.__version__) >= Version('2.0'):\n{CALL}",
    "a part of a version": f"import kernels\nif int(kernels.__version__.split('.')[0]) == 2:\n{CALL}",
    "a constant made of a version": f"{VERSION}NEW = Version(kernels.__version__).major > 1\nif NEW:\n{CALL}",
    "a helper that warns about a version": (
        "import kernels\nfrom importlib.metadata import version\ndef ok():\n    found = True\n"
        "    if version('kernels') != '1.0':\n        print('untested')\n    return found\n"
        f"if ok():\n{CALL}"
    ),
    "a field that begins as None and is set in another file": (
        "import kernels\nfrom vllm.base import Base\nclass A(Base):\n  def __init__(self):\n    self.w = None\n"
        "  def run(self):\n    self.finish()\n    assert self.w is not None\n    kernels.f(1, bad=2)"
    ),
    "a setting that a person may change": f"import kernels\nDEBUG = False\nif DEBUG:\n{CALL}",
    "the word of a platform": f"import kernels\nif is_cpu_offload_enabled():\n{CALL}",
    "signature in a comment": f"import kernels\n# signature(kernels.f)\ndef g(params):\n  if 'bad' in params:\n{CALL}",
    "a handler that ends the program": f"import sys, kernels\ntry:\n{CALL}\nexcept TypeError:\n    sys.exit(1)",
    "a handler whose every way raises": (
        f"import kernels\ntry:\n{CALL}\nexcept TypeError as e:\n    try:\n        undo()\n    except OSError:\n        raise\n    raise"
    ),
    "an attribute of an unrelated object": f"import kernels\ndef g(layer):\n    layer.f = None\ndef h():\n{CALL}",
    "the import of another package": f"try:\n    import kernels, torch\nexcept ImportError:\n    raise\nif True:\n{CALL}",
    "an assert of just that class": "import kernels\ndef g(w):\n    assert isinstance(w, kernels.Mixer)\n    w.plan(1, bad=2)",
    "the other class left out": (
        "import kernels\ndef g(w: kernels.Mixer | kernels.Wide):\n    if isinstance(w, kernels.Wide):\n        return\n"
        "    w.plan(1, bad=2)"
    ),
}

# Guarded: it is not so on the pinned version.
NEVER = {
    "a version that is not pinned": f"{VERSION}if Version(kernels.__version__) >= Version('5.0'):\n{CALL}",
    "an early return": f"{VERSION}def g():\n    if Version(kernels.__version__) < Version('5'):\n        return\n{CALL}",
    "a helper that compares": (
        f"{VERSION}def at_least(v):\n    return Version(kernels.__version__) >= Version(v)\nif at_least('3'):\n{CALL}"
    ),
    "a generation told by what is there": (
        "import kernels\ndef generation():\n    try:\n        from kernels import gone\n    except ImportError:\n"
        f"        return '1'\n    return '2'\nif generation() == '2':\n{CALL}"
    ),
    "the names of a tuple": f"import kernels\nif tuple(int(p) for p in kernels.__version__.split('.')[:2]) >= (3, 0):\n{CALL}",
}

# Neither: an object of another class, or of one that is not known.
SILENT = {
    "narrowed to the class that takes it": (
        "import kernels\ndef g(w: kernels.Mixer):\n    if isinstance(w, kernels.Wide):\n        w.plan(1, bad=2)"
    ),
    "narrowed to a class that is not known": (
        "import kernels\ndef g(w: kernels.Mixer):\n    if isinstance(w, Other):\n        w.plan(1, bad=2)"
    ),
    "bound anew after the test": (
        "import kernels\ndef g(w):\n    assert isinstance(w, kernels.Mixer)\n    w = other()\n    w.plan(1, bad=2)"
    ),
    "named for another platform": f"import kernels\ndef build_xpu_ids():\n{CALL}",
}


@pytest.mark.parametrize("name", LIVE)
def test_a_call_is_reported_behind(name: str, tmp_path: Path) -> None:
    assert [kind for _, kind, _ in drifts(check(tmp_path, LIVE[name], LIBRARY))] == ["unexpected-keyword"]


@pytest.mark.parametrize("name", NEVER)
def test_a_call_never_runs_behind(name: str, tmp_path: Path) -> None:
    report = check(tmp_path, NEVER[name], LIBRARY)
    assert drifts(report) == []
    assert any((call.guard or "").endswith("(never so here)") for call in report.guarded)


@pytest.mark.parametrize("name", SILENT)
def test_a_call_is_not_reported_when(name: str, tmp_path: Path) -> None:
    report = check(tmp_path, SILENT[name], LIBRARY)
    assert drifts(report) == []
    assert report.guarded == []


def test_a_probe_of_the_very_callee_in_a_file_that_no_import_joins_leaves_the_call_open(
    tmp_path: Path,
) -> None:
    files = {
        "vllm/probe.py": "import inspect, kernels\ndef ok():\n    return 'bad' in inspect.signature(kernels.f).parameters",
        "vllm/call.py": "import kernels\ndef g(x, extra=None):\n    kw = {}\n    if extra:\n        kw['bad'] = x\n    kernels.f(1, **kw)",
    }
    report = check(tmp_path, files, LIBRARY)
    assert drifts(report) == []
    assert "vllm/probe.py:3: a signature of kernels.f is asked for bad" in str(report.open[0].open)
