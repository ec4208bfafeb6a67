"""A tiny random Kimi model on disk: KDA and MLA layers, latent MoE, SiTU; nothing is downloaded."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

BETA, LINEAR_BETA = 1.75, 6.5
VOCABULARY, HIDDEN, LATENT, INTERMEDIATE, EXPERTS, TOP_K = 512, 512, 256, 512, 8, 2
HEADS, HEAD, Q_RANK, KV_RANK, ROPE = 16, 128, 256, 512, 64
"""Attention kernels are built for heads of 128 and a latent of 512 + 64; the rest is small."""

KDA_LAYERS, MLA_LAYERS = (1, 2, 3), (4,)
"""One-based, as the configuration counts them: three KDA to one MLA layer, as in the real model."""

CONFIG: dict[str, Any] = {
    "architectures": ["KimiLinearForCausalLM"], "model_type": "kimi_linear", "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN, "head_dim": HEAD, "intermediate_size": 2 * HIDDEN, "num_hidden_layers": 4,
    "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "hidden_act": "situ", "rms_norm_eps": 1e-5,
    "activation_situ_beta": BETA, "activation_situ_linear_beta": LINEAR_BETA,
    "moe_intermediate_size": INTERMEDIATE, "moe_renormalize": True,
    "moe_router_activation_func": "sigmoid", "num_experts": EXPERTS, "num_experts_per_token": TOP_K,
    "num_shared_experts": 1, "routed_scaling_factor": 2.5,
    "routed_expert_hidden_size": LATENT, "latent_moe_use_norm": True, "first_k_dense_replace": 1,
    "moe_layer_freq": 1, "use_grouped_topk": True, "num_expert_group": 1, "topk_group": 1,
    "q_lora_rank": Q_RANK, "kv_lora_rank": KV_RANK, "qk_nope_head_dim": HEAD, "qk_rope_head_dim": ROPE,
    "v_head_dim": HEAD, "mla_use_nope": True, "mla_use_output_gate": True, "attn_res_block_size": 2,
    "max_position_embeddings": 256, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
    "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
    "linear_attn_config": {
        "kda_layers": list(KDA_LAYERS), "full_attn_layers": list(MLA_LAYERS), "num_heads": HEADS,
        "head_dim": HEAD,
        "short_conv_kernel_size": 4, "use_full_rank_gate": True, "gate_lower_bound": -5.0,
    },
}  # fmt: skip

Shapes = Iterator[tuple[str, tuple[int, ...]]]


def _kda(prefix: str) -> Shapes:
    width = HEADS * HEAD
    for name in ("q", "k", "v", "g"):
        yield f"{prefix}.{name}_proj.weight", (width, HIDDEN)
    for name in ("q", "k", "v"):
        yield f"{prefix}.{name}_conv1d.weight", (width, 4)
    yield f"{prefix}.b_proj.weight", (HEADS, HIDDEN)
    yield f"{prefix}.f_a_proj.weight", (HEAD, HIDDEN)
    yield f"{prefix}.f_b_proj.weight", (width, HEAD)
    yield f"{prefix}.dt_bias", (width,)
    yield f"{prefix}.A_log", (HEADS,)
    yield f"{prefix}.o_norm.weight", (HEAD,)
    yield f"{prefix}.o_proj.weight", (HIDDEN, width)


def _mla(prefix: str) -> Shapes:
    yield f"{prefix}.q_a_proj.weight", (Q_RANK, HIDDEN)
    yield f"{prefix}.q_a_layernorm.weight", (Q_RANK,)
    yield f"{prefix}.q_b_proj.weight", (HEADS * (HEAD + ROPE), Q_RANK)
    yield f"{prefix}.kv_a_proj_with_mqa.weight", (KV_RANK + ROPE, HIDDEN)
    yield f"{prefix}.kv_a_layernorm.weight", (KV_RANK,)
    yield f"{prefix}.kv_b_proj.weight", (HEADS * 2 * HEAD, KV_RANK)
    yield f"{prefix}.g_proj.weight", (HEADS * HEAD, HIDDEN)
    yield f"{prefix}.o_proj.weight", (HIDDEN, HEADS * HEAD)


def _mlp(prefix: str, width: int) -> Shapes:
    yield f"{prefix}.gate_proj.weight", (width, HIDDEN)
    yield f"{prefix}.up_proj.weight", (width, HIDDEN)
    yield f"{prefix}.down_proj.weight", (HIDDEN, width)


def _moe(prefix: str) -> Shapes:
    yield f"{prefix}.gate.weight", (EXPERTS, HIDDEN)
    yield f"{prefix}.gate.e_score_correction_bias", (EXPERTS,)
    yield from _mlp(f"{prefix}.shared_experts", INTERMEDIATE)
    yield f"{prefix}.routed_expert_down_proj.weight", (LATENT, HIDDEN)
    yield f"{prefix}.routed_expert_norm.weight", (LATENT,)
    yield f"{prefix}.routed_expert_up_proj.weight", (HIDDEN, LATENT)
    for index in range(EXPERTS):
        for name, shape in (
            ("w1", (INTERMEDIATE, LATENT)),
            ("w3", (INTERMEDIATE, LATENT)),
            ("w2", (LATENT, INTERMEDIATE)),
        ):
            yield f"{prefix}.experts.{index}.{name}.weight", shape


def _layer(index: int) -> Shapes:
    prefix = f"model.layers.{index}"
    yield f"{prefix}.input_layernorm.weight", (HIDDEN,)
    yield f"{prefix}.post_attention_layernorm.weight", (HIDDEN,)
    for name in ("self_attention_res", "mlp_res"):
        yield f"{prefix}.{name}_norm.weight", (HIDDEN,)
        yield f"{prefix}.{name}_proj.weight", (1, HIDDEN)
    yield from (_kda if index + 1 in KDA_LAYERS else _mla)(f"{prefix}.self_attn")
    if index < CONFIG["first_k_dense_replace"]:
        yield from _mlp(f"{prefix}.mlp", CONFIG["intermediate_size"])
    else:
        yield from _moe(f"{prefix}.block_sparse_moe")


def shapes() -> Shapes:
    """Every tensor of the checkpoint with its shape, in the names that Kimi checkpoints use."""
    yield "model.embed_tokens.weight", (VOCABULARY, HIDDEN)
    for index in range(CONFIG["num_hidden_layers"]):
        yield from _layer(index)
    yield "model.norm.weight", (HIDDEN,)
    yield "model.output_attn_res_norm.weight", (HIDDEN,)
    yield "model.output_attn_res_proj.weight", (1, HIDDEN)
    yield "lm_head.weight", (VOCABULARY, HIDDEN)


def tensor(name: str, shape: tuple[int, ...], generator: torch.Generator) -> Any:
    """One random tensor: unit norms, small biases, projections that keep unit inputs at unit size."""
    noise = torch.randn(shape, generator=generator)
    if "norm" in name:
        return (1 + 0.1 * noise).bfloat16()
    if name.endswith(("A_log", "dt_bias", "correction_bias")):
        return 0.1 * noise
    return (noise / math.sqrt(shape[-1])).bfloat16()


def packed(name: str, shape: tuple[int, ...], generator: torch.Generator) -> dict[str, Any]:
    """One expert's matrix in MXFP4, which the MegaMoE backend asks for: two codes a byte and UE8M0 scales."""
    rows, columns = shape
    codes = torch.randint(0, 256, (rows, columns // 2), dtype=torch.uint8, generator=generator)
    # E2M1 codes have rms 2.9; the scale brings a row's product of unit inputs near one.
    scale = torch.full(
        (rows, columns // 32), 127 - round(math.log2(2.9 * math.sqrt(columns))), dtype=torch.uint8
    )
    return {f"{name}_packed": codes, f"{name}_scale": scale}


def write(folder: Path, *, mxfp4: bool) -> None:
    """Write config.json and model.safetensors; the same bytes on every machine.

    Args:
        folder: an empty folder.
        mxfp4: pack the routed experts for the MegaMoE backend.
    """
    from safetensors.torch import save_file

    generator = torch.Generator().manual_seed(0)
    tensors: dict[str, Any] = {}
    for name, shape in shapes():
        if mxfp4 and ".experts." in name:
            tensors.update(packed(name, shape, generator))
        else:
            tensors[name] = tensor(name, shape, generator)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=1), encoding="utf-8")
