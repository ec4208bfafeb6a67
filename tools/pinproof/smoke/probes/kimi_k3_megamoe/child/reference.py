"""The forward of MXFP4 experts with SiTU, in fp32, from the definition of its formats.

T tokens, E experts of which K a token, H the (latent) hidden size, I the intermediate size. Formats:
OCP Microscaling Formats (MX) v1.0: E2M1 in table 5, E8M0 (here UE8M0) in 5.4.1, blocks of 32 in 5.1.
"""

from __future__ import annotations

from typing import Any

import torch

Tensor = Any

BLOCK = 32
"""Elements of the inner dimension that share one scale (MX v1.0, 5.1)."""

E4M3_MAX = 448.0
"""Largest finite E4M3 value (MX v1.0, table 2)."""

SMALLEST_AMAX = 1e-4
"""vLLM's prepare_megamoe_inputs takes at least this as a block's largest magnitude."""

E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""Value of each 4-bit code: one sign, two exponent and one mantissa bit (MX v1.0, table 5)."""


def ue8m0(codes: Tensor) -> Tensor:
    """Scales from their codes, uint8 [...] -> fp32 [...]: 2 ** (code - 127) (MX v1.0, 5.4.1).

    Built from the exponent bits as vLLM does (`_ue8m0_uint8_to_float`), so code 0 gives 0 rather
    than the subnormal 2 ** -127.
    """
    return (codes.to(torch.int32) << 23).view(torch.float32)


def dequantize_mxfp4(packed: Tensor, scales: Tensor) -> Tensor:
    """Weights in fp32.

    Args:
        packed: uint8 [..., N/2], two codes a byte, the even element in the low four bits.
        scales: uint8 [..., N/32], UE8M0.

    Returns:
        fp32 [..., N].
    """
    table = torch.tensor(E2M1, dtype=torch.float32, device=packed.device)
    codes = torch.stack((packed & 0xF, packed >> 4), dim=-1).flatten(-2)
    return table[codes.long()] * ue8m0(scales).repeat_interleave(BLOCK, dim=-1)


def quantize_mxfp8(values: Tensor) -> tuple[Tensor, Tensor]:
    """Activations as E4M3 with UE8M0 scales, the way both the input staging and the kernel do it.

    A block's scale is the smallest power of two that brings its largest magnitude within 448
    (`_prepare_megamoe_inputs_kernel` in vLLM, `get_e4m3_sf_and_sf_inv` in DeepGEMM).

    Args:
        values: [..., N], N a multiple of 32.

    Returns:
        float8_e4m3fn [..., N] and uint8 [..., N/32].
    """
    blocks = values.float().unflatten(-1, (-1, BLOCK))
    amax = blocks.abs().amax(dim=-1).clamp_min(SMALLEST_AMAX)
    bits = (amax / E4M3_MAX).view(torch.int32)
    codes = ((bits >> 23) & 0xFF) + ((bits & 0x7FFFFF) != 0).int()
    codes = codes.clamp(1, 254).to(torch.uint8)
    scaled = blocks / ue8m0(codes).unsqueeze(-1)
    return scaled.to(torch.float8_e4m3fn).flatten(-2), codes


def dequantize_mxfp8(values: Tensor, codes: Tensor) -> Tensor:
    """float8_e4m3fn [..., N] with uint8 [..., N/32] -> fp32 [..., N]."""
    return values.float() * ue8m0(codes).repeat_interleave(BLOCK, dim=-1)


def situ(gate: Tensor, up: Tensor, beta: float, linear_beta: float | None) -> Tensor:
    """SiTU (vLLM's SituAndMul): beta tanh(gate/beta) sigmoid(gate) x linear_beta tanh(up/linear_beta).

    Without `linear_beta` the linear branch passes unchanged. Shapes: [..., I] each -> [..., I].
    """
    soft = beta * torch.tanh(gate / beta) * torch.sigmoid(gate)
    return soft * (up if linear_beta is None else linear_beta * torch.tanh(up / linear_beta))


def expert(
    x: Tensor, w13: Tensor, w2: Tensor, weight: Tensor, beta: float, linear_beta: float | None
) -> Tensor:
    """One expert on its tokens.

    The routing weight is applied before the second quantisation, as the kernel's epilogue does.

    Args:
        x: fp32 [T', H], dequantised input.
        w13: fp32 [2I, H], gate rows first.
        w2: fp32 [H, I].
        weight: fp32 [T'], routing weights.
        beta: tanh scale of the gate branch.
        linear_beta: tanh scale of the linear branch, None for none.

    Returns:
        fp32 [T', H].
    """
    gate, up = (x @ w13.T).chunk(2, dim=-1)
    hidden = situ(gate, up, beta, linear_beta) * weight.unsqueeze(-1)
    return dequantize_mxfp8(*quantize_mxfp8(hidden)) @ w2.T


def experts_forward(
    x: Tensor,
    topk_weights: Tensor,
    topk_ids: Tensor,
    weights: dict[str, Tensor],
    beta: float,
    linear_beta: float | None,
) -> Tensor:
    """All routed experts and their combination.

    Args:
        x: bf16 or fp32 [T, H].
        topk_weights: fp32 [T, K].
        topk_ids: int [T, K]; -1 is a padded token, which contributes nothing.
        weights: w13 uint8 [E, 2I, H/2], w13_scale uint8 [E, 2I, H/32], w2 uint8 [E, H, I/2],
            w2_scale uint8 [E, H, I/32].
        beta: tanh scale of the gate branch.
        linear_beta: tanh scale of the linear branch, None for none.

    Returns:
        fp32 [T, H]: the sum over each token's K experts.
    """
    staged = dequantize_mxfp8(*quantize_mxfp8(x))
    out = torch.zeros_like(staged)
    for index in range(weights["w13"].shape[0]):
        token, slot = torch.nonzero(topk_ids == index, as_tuple=True)
        if token.numel() == 0:
            continue
        w13 = dequantize_mxfp4(weights["w13"][index], weights["w13_scale"][index])
        w2 = dequantize_mxfp4(weights["w2"][index], weights["w2_scale"][index])
        part = expert(staged[token], w13, w2, topk_weights[token, slot].float(), beta, linear_beta)
        out.index_add_(0, token, part)
    return out


def relative_error(ours: Tensor, reference: Tensor) -> float:
    """||ours - reference|| / ||reference|| in the Frobenius norm, in float64; NaN when ours holds one."""
    ours, reference = ours.double(), reference.double()
    return float(torch.linalg.vector_norm(ours - reference) / torch.linalg.vector_norm(reference))
