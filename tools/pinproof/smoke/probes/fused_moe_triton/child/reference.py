"""The experts in float64: what the kernel, SiLU and the sum over a token's experts compute together."""

from __future__ import annotations

from typing import Any

import torch

Tensor = Any


def experts_forward(x: Tensor, w1: Tensor, w2: Tensor, weights: Tensor, ids: Tensor) -> Tensor:
    """Routed experts and their combination, token by token.

    Args:
        x: [T, H].
        w1: [E, 2I, H], gate rows first.
        w2: [E, H, I].
        weights: [T, K], routing weights.
        ids: int [T, K], the experts of each token.

    Returns:
        float64 [T, H]: sum over k of weights[t, k] * w2[e] (silu(gate) * up).
    """
    out = torch.zeros(x.shape, dtype=torch.float64, device=x.device)
    for token in range(x.shape[0]):
        for share, index in zip(weights[token], ids[token], strict=True):
            gate, up = (w1[index].double() @ x[token].double()).chunk(2)
            out[token] += share.double() * (w2[index].double() @ (torch.nn.functional.silu(gate) * up))
    return out


def relative_error(ours: Tensor, reference: Tensor) -> float:
    """||ours - reference|| / ||reference|| in the Frobenius norm, in float64; NaN when ours holds one."""
    ours, reference = ours.double(), reference.double()
    return float(torch.linalg.vector_norm(ours - reference) / torch.linalg.vector_norm(reference))
