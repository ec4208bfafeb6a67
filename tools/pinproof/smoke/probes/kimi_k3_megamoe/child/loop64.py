"""The same experts as `reference`, one float64 at a time: plain Python, no shared code, no torch."""

from __future__ import annotations

import math
from collections.abc import Sequence

Vector = Sequence[float]

_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def e2m1(code: int) -> float:
    """One 4-bit code: the sign is bit 3 (OCP MX v1.0, table 5)."""
    return -_MAGNITUDES[code & 7] if code & 8 else _MAGNITUDES[code & 7]


def weight_at(row: Sequence[int], scales: Sequence[int], column: int) -> float:
    """One weight of a packed row: the even column sits in the low half of its byte."""
    byte = row[column // 2]
    code = byte & 15 if column % 2 == 0 else byte >> 4
    return math.ldexp(e2m1(code), scales[column // 32] - 127)


def round_e4m3(value: float) -> float:
    """Nearest E4M3 value, ties to even; the caller keeps |value| <= 448 (OCP MX v1.0, table 2)."""
    if value == 0.0:
        return 0.0
    exponent = max(math.frexp(abs(value))[1] - 1, -6)
    step = math.ldexp(1.0, exponent - 3)
    return math.copysign(round(abs(value) / step) * step, value)


def through_mxfp8(row: Vector) -> list[float]:
    """A row after quantisation to MXFP8 and back; one power-of-two scale per 32 elements."""
    out: list[float] = []
    for start in range(0, len(row), 32):
        block = row[start : start + 32]
        scaled = max(1e-4, *map(abs, block)) / 448.0
        mantissa, exponent = math.frexp(scaled)  # scaled = mantissa * 2 ** exponent, mantissa in [0.5, 1)
        scale = math.ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent)
        out.extend(round_e4m3(value / scale) * scale for value in block)
    return out


def situ(gate: float, up: float, beta: float, linear_beta: float | None) -> float:
    """beta tanh(gate/beta) / (1 + exp(-gate)) times the linear branch."""
    linear = up if linear_beta is None else linear_beta * math.tanh(up / linear_beta)
    return beta * math.tanh(gate / beta) / (1.0 + math.exp(-gate)) * linear


def dot(x: Vector, row: Sequence[int], scales: Sequence[int]) -> float:
    """The product of one activation row and one packed weight row."""
    return math.fsum(value * weight_at(row, scales, column) for column, value in enumerate(x))


def experts_forward(
    x: Sequence[Vector],
    topk_weights: Sequence[Vector],
    topk_ids: Sequence[Sequence[int]],
    weights: dict[str, list[list[list[int]]]],
    beta: float,
    linear_beta: float | None,
) -> list[list[float]]:
    """The routed experts' sum for each token; arguments as nested lists in `reference`'s shapes."""
    out = []
    for token, row in enumerate(x):
        staged = through_mxfp8(row)
        total = [0.0] * len(row)
        for share, chosen in zip(topk_weights[token], topk_ids[token], strict=True):
            if chosen < 0:
                continue
            w13, s13 = weights["w13"][chosen], weights["w13_scale"][chosen]
            both = [dot(staged, w13[i], s13[i]) for i in range(len(w13))]
            half = len(both) // 2
            hidden = [situ(both[i], both[half + i], beta, linear_beta) * share for i in range(half)]
            hidden = through_mxfp8(hidden)
            w2, s2 = weights["w2"][chosen], weights["w2_scale"][chosen]
            for i in range(len(total)):
                total[i] += dot(hidden, w2[i], s2[i])
        out.append(total)
    return out
