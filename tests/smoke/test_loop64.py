from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pinproof.smoke.probes.kimi_k3_megamoe.child import loop64

BETAS = (1.75, 6.5)


def e4m3_values() -> list[float]:
    """Every finite E4M3 value, from its bits: bias 7, subnormals below 2 ** -6, 0x7f is NaN."""
    found = []
    for bits in range(0x7F):
        exponent, mantissa = bits >> 3, bits & 7
        if exponent == 0:
            found.append(math.ldexp(mantissa / 8, -6))
        else:
            found.append(math.ldexp(1 + mantissa / 8, exponent - 7))
    return [-value for value in reversed(found)] + found


@pytest.mark.parametrize(("code", "value"), [(0, 0.0), (1, 0.5), (3, 1.5), (7, 6.0), (9, -0.5), (15, -6.0)])
def test_e2m1_codes_have_the_values_of_the_standard(code: int, value: float) -> None:
    assert loop64.e2m1(code) == value


def test_the_even_column_is_in_the_low_half_of_its_byte() -> None:
    row, scales = [0x21] + [0] * 15, [127]
    assert loop64.weight_at(row, scales, 0) == 0.5
    assert loop64.weight_at(row, scales, 1) == 1.0
    assert loop64.weight_at(row, [129], 1) == 4.0


@given(st.floats(-448, 448))
def test_rounding_to_e4m3_takes_the_nearest_value(value: float) -> None:
    rounded = loop64.round_e4m3(value)
    distance = min(abs(value - other) for other in e4m3_values())
    assert abs(rounded - value) == distance


def test_a_tie_goes_to_the_even_mantissa() -> None:
    assert loop64.round_e4m3(17.0) == 16.0
    assert loop64.round_e4m3(19.0) == 20.0


@given(st.lists(st.floats(-1e6, 1e6), min_size=32, max_size=32))
def test_mxfp8_keeps_every_value_within_half_a_step_of_its_block(block: list[float]) -> None:
    largest = max(1e-4, *map(abs, block))
    scale = 2.0 ** math.ceil(math.log2(largest / 448))
    for before, after in zip(block, loop64.through_mxfp8(block), strict=True):
        assert abs(after) <= 448 * scale * (1 + 1e-12)
        assert abs(after - before) <= max(abs(before) / 16, scale * 2.0**-10) * (1 + 1e-9)


@given(st.floats(-50, 50), st.floats(-50, 50))
def test_situ_is_bounded_by_its_two_scales(gate: float, up: float) -> None:
    assert abs(loop64.situ(gate, up, *BETAS)) <= BETAS[0] * BETAS[1]


def test_situ_without_a_linear_scale_passes_the_linear_branch() -> None:
    assert loop64.situ(2.0, 30.0, 1.75, None) == 10 * loop64.situ(2.0, 3.0, 1.75, None)


def _case() -> tuple[list[list[float]], list[list[float]], list[list[int]], dict[str, list[list[list[int]]]]]:
    random.seed(3)
    hidden, inner, count = 64, 32, 3

    def bytes_of(rows: int, columns: int) -> list[list[list[int]]]:
        return [[[random.randrange(256) for _ in range(columns)] for _ in range(rows)] for _ in range(count)]

    def scales_of(rows: int, columns: int) -> list[list[list[int]]]:
        return [
            [[random.randrange(122, 126) for _ in range(columns)] for _ in range(rows)] for _ in range(count)
        ]

    weights = {
        "w13": bytes_of(2 * inner, hidden // 2), "w13_scale": scales_of(2 * inner, hidden // 32),
        "w2": bytes_of(hidden, inner // 2), "w2_scale": scales_of(hidden, inner // 32),
    }  # fmt: skip
    x = [[random.gauss(0, 1) for _ in range(hidden)] for _ in range(2)]
    return x, [[0.75, 0.25], [0.5, 0.5]], [[0, 2], [1, 0]], weights


def _error(ours: list[list[float]], other: list[list[float]]) -> float:
    pairs = [(a, b) for x, y in zip(ours, other, strict=True) for a, b in zip(x, y, strict=True)]
    return math.sqrt(sum((a - b) ** 2 for a, b in pairs) / sum(b * b for _, b in pairs))


@pytest.mark.parametrize(
    "wrong", [(6.5, 1.75), (1.0, 6.5), (1.75, None)], ids=["swapped", "beta lost", "linear beta lost"]
)
def test_a_wrong_scale_moves_the_output_far_beyond_the_kernels_tolerance(
    wrong: tuple[float, float | None],
) -> None:
    case = _case()
    right = loop64.experts_forward(*case, *BETAS)
    assert _error(loop64.experts_forward(*case, *wrong), right) > 3 * 2.0**-5


def test_a_padded_token_contributes_nothing() -> None:
    x, shares, _, weights = _case()
    out = loop64.experts_forward(x, shares, [[-1, -1], [1, 0]], weights, *BETAS)
    assert out[0] == [0.0] * 64
    assert any(out[1])
