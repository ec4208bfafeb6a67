"""A drift behind a guard is told apart from one that runs, and the guard is named with its line."""

# ruff: noqa: E501 - each snippet is one file

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.small import check, drifts

LIBRARY = "__version__ = '1'\ndef f(a): ...\n"

GUARDED = {
    "try TypeError": "import kernels\ntry:\n    kernels.f(1, bad=2)\nexcept TypeError:\n    kernels.f(1)",
    "try ImportError": "try:\n    from kernels import gone\nexcept ImportError:\n    gone = None",
    "try AttributeError": "import kernels\ntry:\n    kernels.gone\nexcept (ImportError, AttributeError):\n    pass",
    "handler of a failed import": (
        "try:\n    from kernels import f\nexcept ImportError:\n    from kernels.old import f"
    ),
    "suppress": "import contextlib\nwith contextlib.suppress(ImportError):\n    from kernels import gone",
    "hasattr": "import kernels\nif hasattr(kernels, 'gone'):\n    kernels.gone(1)",
    "not hasattr, then return": (
        "import kernels\ndef g():\n    if not hasattr(kernels, 'gone'):\n        return\n    kernels.gone(1)"
    ),
    "hasattr and": "import kernels\nx = hasattr(kernels, 'gone') and kernels.gone(1)",
    "signature probe": (
        "import inspect, kernels\nif 'bad' in inspect.signature(kernels.f).parameters:\n    kernels.f(1, bad=2)"
    ),
    "signature probe kept in a name": (
        "import inspect, kernels\nHAS = 'bad' in inspect.signature(kernels.f).parameters\n"
        "if HAS:\n    kernels.f(1, bad=2)"
    ),
    "signature probe kept in self": (
        "import inspect, kernels\nclass A:\n    def __init__(self):\n"
        "        self.has = 'bad' in inspect.signature(kernels.f).parameters\n"
        "    def g(self):\n        if self.has:\n            kernels.f(1, bad=2)"
    ),
    "signature probe in a helper": (
        "import inspect, kernels\ndef has():\n    return 'bad' in inspect.signature(kernels.f).parameters\n"
        "if has():\n    kernels.f(1, bad=2)"
    ),
    "version test": "import kernels\nif kernels.__version__ >= '2':\n    kernels.f(1, bad=2)",
    "presence probe in a helper": (
        "import kernels\ndef has():\n    try:\n        from kernels import gone\n    except ImportError:\n"
        "        return False\n    return True\ndef g():\n    if has():\n        from kernels import gone"
    ),
    "other platform": "import kernels\nfrom vllm.platforms import current_platform\nif current_platform.is_rocm():\n    kernels.f(1, bad=2)",
    "else of this platform": "import kernels\nfrom vllm.platforms import is_cuda, is_hip\nif is_cuda() or is_hip():\n    pass\nelse:\n    kernels.f(1, bad=2)",
    "flag of another platform": "import kernels\nfrom sglang.srt.utils import is_xpu\n_use_sgl_xpu = flag() and is_xpu()\nif _use_sgl_xpu:\n    kernels.f(1, bad=2)",
    "flag set where an import failed": (
        "legacy = False\ntry:\n    from kernels import new_api\nexcept ImportError:\n    legacy = True\n"
        "import kernels\ndef g():\n    return kernels.f(1, bad=2) if not legacy else kernels.f(1)"
    ),
    "private function used only under a guard": (
        "legacy = False\ntry:\n    from kernels import new_api\nexcept ImportError:\n    legacy = True\n"
        "def _patch():\n    from kernels import new_api\nif not legacy:\n    _patch()"
    ),
    "helper that is asked about the function": (
        "import kernels\nfrom vllm.elsewhere import takes\nclass A:\n    def __init__(self):\n"
        "        self.has = False\n        try:\n            self.has = takes(kernels.f, 'bad')\n"
        "        except ValueError:\n            self.has = False\n"
        "    def g(self):\n        if self.has:\n            kernels.f(1, bad=2)"
    ),
    "the same name asked of another package": (
        "import other\nif hasattr(other.arch, 'gone'):\n    gone = other.arch.gone\nelse:\n    from kernels import gone"
    ),
    "type checkers only": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from kernels import gone"
    ),
}


@pytest.mark.parametrize("how", GUARDED)
def test_a_drift_is_guarded_by(how: str, tmp_path: Path) -> None:
    report = check(tmp_path, GUARDED[how], LIBRARY)
    assert drifts(report) == []
    assert report.guarded
    assert all(call.guard is not None and call.guard.startswith("line ") for call in report.guarded)


LIVE = {
    "handler that raises again": (
        "import kernels\ntry:\n    kernels.f(1, bad=2)\nexcept TypeError as e:\n    raise RuntimeError from e"
    ),
    "handler of another error": "import kernels\ntry:\n    kernels.f(1, bad=2)\nexcept ValueError:\n    pass",
    "presence of the function itself": "import kernels\nif hasattr(kernels, 'f'):\n    kernels.f(1, bad=2)",
    "this platform": "import kernels\nfrom vllm.platforms import is_cuda\nif is_cuda():\n    kernels.f(1, bad=2)",
    "else of another platform": "import kernels\nfrom vllm.platforms import is_hip\nif is_hip():\n    pass\nelse:\n    kernels.f(1, bad=2)",
    "flag that says the package is there": (
        "try:\n    import kernels\n    HAS = True\nexcept ImportError:\n    HAS = False\n"
        "if HAS:\n    kernels.f(1, bad=2)"
    ),
    "private function that is also used freely": (
        "import kernels\nfrom vllm.platforms import is_hip\ndef _g():\n    kernels.f(1, bad=2)\nif is_hip():\n    _g()\n_g()"
    ),
    "not another platform": "import kernels\nfrom sglang.srt.utils import is_not_npu\nif is_not_npu:\n    kernels.f(1, bad=2)",
    "a setting": "import kernels\nif envs.USE_KERNELS:\n    kernels.f(1, bad=2)",
    "presence of the package": (
        "import importlib.util, kernels\ndef has():\n    return importlib.util.find_spec('kernels') is not None\n"
        "if has():\n    kernels.f(1, bad=2)"
    ),
    "the other answer of a signature probe": (
        "import inspect, kernels\nif 'bad' in inspect.signature(kernels.f).parameters:\n    pass\nelse:\n"
        "    kernels.f(1, bad=2)"
    ),
}


@pytest.mark.parametrize("what", LIVE)
def test_a_drift_is_not_guarded_by(what: str, tmp_path: Path) -> None:
    assert [kind for _, kind, _ in drifts(check(tmp_path, LIVE[what], LIBRARY))] == ["unexpected-keyword"]
