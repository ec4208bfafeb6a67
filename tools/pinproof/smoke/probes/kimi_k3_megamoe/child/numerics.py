"""The reference forward against vLLM's own parts and against the float64 loop, on CPU or GPU."""

from __future__ import annotations

import types
from typing import Any

import torch

from . import loop64, reference

ACTIVATION_TOLERANCE = 2.0**-8
"""SituAndMul on bf16: one rounding to 8 significant bits, at most half a unit of 2 ** -7."""

LOOP_TOLERANCE = 2.0**-12
"""fp32 against float64: sums of some hundred terms stay within 2 ** -16 or so; an intermediate on a
rounding boundary may fall the other way, which moves one of some hundred elements by 2 ** -3 / 3."""

KERNEL_TOLERANCE = 2.0**-5
"""The fused kernel against the reference, relative Frobenius error; derived in docs/gpu-runners.md.

The kernel rounds gate and up to bf16 (2 ** -9) before SiTU. That carries a share of about
2 ** -9 / 2 ** -3 of the intermediates over a boundary of E4M3, each then off by up to 2 ** -3: rms
2 ** -3 * sqrt(2 ** -6) = 2 ** -6. Two roundings of the output to bf16 are far below. Doubled for fast_math.
"""


def activation_error(beta: float, linear_beta: float, device: str) -> float:
    """Relative error of vLLM's SituAndMul (on a GPU its CUDA kernel) against `reference.situ` in float64."""
    from vllm.model_executor.layers.activation import SituAndMul

    # The constructor asks for a whole engine configuration; its two forwards read only these.
    layer = types.SimpleNamespace(beta=beta, linear_beta=linear_beta)
    if device == "cuda":
        layer.op = torch.ops._C.situ_and_mul
    forward = SituAndMul.forward_cuda if device == "cuda" else SituAndMul.forward_native
    x = 4 * torch.randn(64, 512, generator=torch.Generator().manual_seed(2)).to(device).bfloat16()
    gate, up = x.float().chunk(2, dim=-1)
    expected = reference.situ(gate.double(), up.double(), beta, linear_beta)
    return reference.relative_error(forward(layer, x), expected)


def loop_error(
    weights: dict[str, Any], tokens: tuple[Any, Any, Any], betas: tuple[float, float], device: str
) -> float:
    """Relative error of the reference on `device` against the float64 loop, on two tokens."""
    x, shares, ids = (part[:2] for part in tokens)
    lists = {name: part.tolist() for name, part in weights.items()}
    slow = torch.tensor(loop64.experts_forward(x.tolist(), shares.tolist(), ids.tolist(), lists, *betas))
    there = {name: part.to(device) for name, part in weights.items()}
    fast = reference.experts_forward(x.to(device), shares.to(device), ids.to(device), there, *betas)
    return reference.relative_error(fast.cpu(), slow)


def wrong_scales(forward: Any, betas: tuple[float, float]) -> dict[str, float]:
    """How far the output moves when the tanh scales are swapped or one is lost: each must be caught."""
    beta, linear_beta = betas
    right = forward(beta, linear_beta)
    return {
        "swapped": reference.relative_error(forward(linear_beta, beta), right),
        "beta lost": reference.relative_error(forward(1.0, linear_beta), right),
        "linear beta lost": reference.relative_error(forward(beta, None), right),
    }


def staging_differences(staged: dict[str, Any], tokens: tuple[Any, Any, Any]) -> dict[str, int]:
    """How many values of vLLM's prepared inputs differ from the reference's; zero for each is right.

    Args:
        staged: x float8 [T, H], x_sf int32 [T, H/128], topk_idx int64 [T, K], topk_weights fp32 [T, K].
        tokens: the inputs they were prepared from.
    """
    x, shares, ids = tokens
    values, codes = reference.quantize_mxfp8(x)
    packed = codes.contiguous().view(torch.int32)
    return {
        "x": int((staged["x"].cpu().view(torch.uint8) != values.cpu().view(torch.uint8)).sum()),
        "x_sf": int((staged["x_sf"].cpu() != packed.cpu()).sum()),
        "topk_idx": int((staged["topk_idx"].cpu() != ids.cpu().long()).sum()),
        "topk_weights": int((staged["topk_weights"].cpu() != shares.cpu()).sum()),
    }
