"""The fp32 reference forward, under a cached interpreter with a CPU build of torch."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pinproof.smoke.process import environment

from tests.smoke.environment import smoke_python

pytestmark = pytest.mark.registry


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    script = Path(__file__).with_name("reference_checks.py")
    env = environment(tmp_path_factory.mktemp("reference"), None, 1)
    done = subprocess.run([smoke_python(), str(script)], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_it_agrees_with_the_independent_float64_loop(found: dict[str, Any]) -> None:
    assert found["loop64"] <= found["tolerances"][0]


def test_swapping_or_dropping_a_scale_is_far_beyond_the_kernels_tolerance(found: dict[str, Any]) -> None:
    assert set(found["wrong"]) == {"swapped", "beta lost", "linear beta lost"}
    for error in found["wrong"].values():
        assert error > 3 * found["tolerances"][1]


def test_the_kernels_own_roundings_stay_within_its_tolerance(found: dict[str, Any]) -> None:
    assert 0 < found["kernel_like"] <= found["tolerances"][1]


def test_formats_are_those_of_the_standard(found: dict[str, Any]) -> None:
    assert found["ue8m0"] == [0.5, 1.0, 2.0]
    assert found["largest"] <= 448
    assert found["mxfp8"] <= 2**-4


def test_packed_scales_have_the_layout_of_sm100(found: dict[str, Any]) -> None:
    assert found["packed"]


def test_nan_in_the_input_is_seen_in_the_output(found: dict[str, Any]) -> None:
    assert found["nan"]


def test_the_tiny_model_is_the_same_on_every_write_and_packs_its_experts_for_the_mega_backend(
    found: dict[str, Any],
) -> None:
    plain, packed = found["tiny"]
    matrices = 3 * 8 * 3  # layers with experts, experts, matrices
    assert plain == {"same": True, "experts": matrices, "packed": 0, "scales": 0}
    assert packed == {"same": True, "experts": 2 * matrices, "packed": matrices, "scales": matrices}
