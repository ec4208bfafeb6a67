"""Run by test_reference under an interpreter with torch: what the reference forward must hold, as JSON."""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
from pathlib import Path

import torch
from pinproof_smoke.probes.kimi_k3_megamoe.child import experts, numerics, reference, tiny

BETAS = (experts.BETA, experts.LINEAR_BETA)


def kernel_like_error() -> float:
    """The reference with gate and up rounded to bf16 and a bf16 output, as the kernel's epilogue has it."""
    exact = reference.situ
    weights, tokens = experts.random_weights(), experts.random_tokens(1)
    right = reference.experts_forward(*tokens, weights, *BETAS)
    reference.situ = lambda gate, up, *betas: exact(gate.bfloat16().float(), up.bfloat16().float(), *betas)
    try:
        rounded = reference.experts_forward(*tokens, weights, *BETAS).bfloat16()
    finally:
        reference.situ = exact
    return float(reference.relative_error(rounded, right))


def codes_of_powers() -> list[float]:
    return list(reference.ue8m0(torch.tensor([126, 127, 128], dtype=torch.uint8)).tolist())


def packed_layout() -> bool:
    """Byte b of int32 [g, r, c] is the code of block 4 c + b of row r; rows are innermost in memory."""
    codes = torch.randint(100, 140, (2, 128, 8), dtype=torch.uint8)
    packed = experts.pack_scales(reference.ue8m0(codes), 128, 256, (1, 32), 2)
    same = all(bool((((packed >> (8 * b)) & 0xFF) == codes[..., b::4]).all()) for b in range(4))
    return same and packed.stride(1) == 1 and tuple(packed.shape) == (2, 128, 2)


def nan_is_seen() -> bool:
    x, shares, ids = experts.random_tokens(1)
    x[0, 0] = float("nan")
    out = reference.experts_forward(x, shares, ids, experts.random_weights(), *BETAS)
    return math.isnan(reference.relative_error(out, torch.ones_like(out)))


def tiny_model(mxfp4: bool) -> dict[str, object]:
    """Two writes of the tiny model: their hashes, and what the file holds."""
    from safetensors import safe_open

    with tempfile.TemporaryDirectory() as folder:
        hashes = []
        for name in ("a", "b"):
            tiny.write(Path(folder) / name, mxfp4=mxfp4)
            hashes.append(
                hashlib.sha256((Path(folder) / name / "model.safetensors").read_bytes()).hexdigest()
            )
        with safe_open(Path(folder) / "a" / "model.safetensors", "pt") as stored:
            names = list(stored.keys())
    return {
        "same": hashes[0] == hashes[1],
        "experts": sum(".experts." in name for name in names),
        "packed": sum(name.endswith("_packed") for name in names),
        "scales": sum(name.endswith("_scale") for name in names),
    }


def main() -> None:
    weights, tokens = experts.random_weights(), experts.random_tokens(1)
    x, codes = reference.quantize_mxfp8(tokens[0])
    print(json.dumps({
        "loop64": numerics.loop_error(weights, tokens, BETAS, "cpu"),
        "wrong": numerics.wrong_scales(
            lambda *betas: reference.experts_forward(*tokens, weights, *betas), BETAS
        ),
        "kernel_like": kernel_like_error(),
        "ue8m0": codes_of_powers(),
        "largest": float(x.float().abs().max()),
        "mxfp8": reference.relative_error(reference.dequantize_mxfp8(x, codes), tokens[0]),
        "packed": packed_layout(),
        "nan": nan_is_seen(),
        "tiny": [tiny_model(mxfp4=False), tiny_model(mxfp4=True)],
        "tolerances": [numerics.LOOP_TOLERANCE, numerics.KERNEL_TOLERANCE],
    }))  # fmt: skip


main()
