"""The real KimiK3MegaMoEExperts at a small size, and what stands in for the parts a machine lacks."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import types
from typing import Any

import torch

from .report import frames

MODEL_MODULE = "vllm.models.kimi_k3.nvidia.model"
EXPERTS_CLASS = "KimiK3MegaMoEExperts"
WRAPPER = "fp8_fp4_mega_moe"

SCALE_NAMES = (
    ("situ_beta", "situ_linear_beta"),
    ("activation_beta", "activation_linear_beta"),
    ("activation_alpha", "activation_beta"),
)
"""How the library has called the tanh scales of the gate and the linear branch, over its commits.

The last two share a name that changed its meaning (fork e21c821f, then DeepGEMM as of vLLM 0.30).
"""

BETA, LINEAR_BETA = 1.75, 6.5
"""Unlike each other and unlike any default, and exact in every float format."""

HIDDEN, INTERMEDIATE, EXPERTS, TOP_K, TOKENS = 512, 1024, 8, 2, 16
"""The smallest shapes that the formats allow are multiples of 128; unequal, so that a swap shows."""


def vllm_config(max_tokens: int = TOKENS) -> Any:
    """What the experts' constructor reads of a VllmConfig."""
    return types.SimpleNamespace(
        scheduler_config=types.SimpleNamespace(max_num_batched_tokens=max_tokens),
        compilation_config=types.SimpleNamespace(static_forward_context={}),
    )


def experts_class() -> tuple[types.ModuleType, Any]:
    """The model's module and its MegaMoE experts class; the class is None where the tree has none."""
    module = importlib.import_module(MODEL_MODULE)
    return module, getattr(module, EXPERTS_CLASS, None)


def build(cls: Any, weights: dict[str, Any], first: int, device: str) -> Any:
    """An instance that holds the experts from `first` on.

    Args:
        cls: the experts class.
        weights: uint8 tensors of all experts in `reference`'s shapes.
        first: this rank's first expert.
        device: where its parameters live.
    """
    local = weights["w13"].shape[0]
    with torch.device(device):
        experts = cls(
            vllm_config(), num_experts=EXPERTS, num_local_experts=local, experts_start_idx=first, top_k=TOP_K,
            hidden_size=HIDDEN, intermediate_size=INTERMEDIATE, prefix="smoke.experts", activation="situ",
            activation_beta=BETA, activation_linear_beta=LINEAR_BETA,
        )  # fmt: skip
    for name in ("w13", "w2"):
        getattr(experts, f"{name}_weight").data.copy_(weights[name])
        getattr(experts, f"{name}_weight_scale").data.copy_(weights[f"{name}_scale"])
    return experts


def random_weights(seed: int = 0) -> dict[str, Any]:
    """All experts' weights in `reference`'s shapes, the same on every rank and machine.

    The scales keep pre-activations near one, where SiTU bends: codes have rms 2.9 (E2M1's values,
    equally likely), so a row of n products of unit inputs needs 1 / (2.9 sqrt(n)).
    """
    generator = torch.Generator().manual_seed(seed)

    def codes(*shape: int) -> Any:
        return torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)

    def scales(*shape: int) -> Any:
        return torch.randint(121, 124, shape, dtype=torch.uint8, generator=generator)

    return {
        "w13": codes(EXPERTS, 2 * INTERMEDIATE, HIDDEN // 2),
        "w13_scale": scales(EXPERTS, 2 * INTERMEDIATE, HIDDEN // 32),
        "w2": codes(EXPERTS, HIDDEN, INTERMEDIATE // 2),
        "w2_scale": scales(EXPERTS, HIDDEN, INTERMEDIATE // 32),
    }


def random_tokens(seed: int) -> tuple[Any, Any, Any]:
    """Inputs as the router leaves them: bf16 [T, H], fp32 [T, K] summing to one, int32 [T, K] distinct."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(TOKENS, HIDDEN, generator=generator).bfloat16()
    scores = torch.rand(TOKENS, EXPERTS, generator=generator)
    shares, ids = scores.topk(TOP_K, dim=-1)
    return x, shares / shares.sum(-1, keepdim=True), ids.int()


def pack_scales(scales: Any, rows: int, columns: int, recipe: Any, groups: int) -> Any:
    """What `transform_sf_into_required_layout` gives on SM100: four UE8M0 codes an int32, rows innermost.

    Args:
        scales: fp32 powers of two, [groups, rows, columns / 32].
        rows: rows of a matrix.
        columns: its columns, a multiple of 128.
        recipe: how many rows and columns share a scale, (1, 32).
        groups: matrices.

    Returns:
        int32 [groups, rows, columns / 128] with stride 1 along the rows.
    """
    if tuple(recipe) != (1, 32) or tuple(scales.shape) != (groups, rows, columns // 32):
        raise ValueError(f"unexpected scale layout {tuple(scales.shape)} for recipe {recipe}")
    codes = (scales.view(torch.int32) >> 23).to(torch.uint8)
    packed = codes.contiguous().view(torch.int32)
    return packed.transpose(1, 2).contiguous().transpose(1, 2)


def library_name() -> str:
    """The DeepGEMM that vLLM's `_import_deep_gemm` would take: the external package first."""
    return "deep_gemm" if importlib.util.find_spec("deep_gemm") else "vllm.third_party.deep_gemm"


class Recorder(types.ModuleType):
    """Stands in for DeepGEMM's compiled extension and keeps what reaches the kernel's entry.

    Attributes:
        arrived: the wrapper's own parameters at the moment it called the extension, None until then.
        positional: what it passed on.
    """

    arrived: dict[str, Any] | None = None
    positional: tuple[Any, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == WRAPPER:
            return self._record
        return pack_scales if name == "transform_sf_into_required_layout" else _nothing

    def _record(self, *args: Any) -> None:
        self.arrived = dict(sys._getframe(1).f_locals)
        self.positional = args


def _nothing(*args: Any, **kwargs: Any) -> None:
    """Any other entry of the extension: initialisation and settings."""


def scale_names(wrapper: Any) -> tuple[str, str] | None:
    """The wrapper's names for the two tanh scales, None when it declares no pair we know."""
    parameters = inspect.signature(wrapper).parameters
    return next((pair for pair in SCALE_NAMES if all(name in parameters for name in pair)), None)


def where(error: BaseException) -> str:
    """Which layer raised: `call` (binding failed), `guard`, `scales`, `wrapper`, `kernel` or `elsewhere`.

    Told by the innermost Python frame, since a compiled function leaves none: an argument that does
    not bind raises in the caller, an extension that refuses raises in the wrapper that called it.
    """
    last = frames(error)[-1]
    in_library = "deep_gemm" in last["module"] and "vllm.utils" not in last["module"]
    if in_library and last["function"] == WRAPPER:
        return "wrapper" if isinstance(error, TypeError) else "kernel"
    if last["function"] == "_check_runtime_supported":
        return "guard"
    if last["module"] == MODEL_MODULE:
        if last["function"] == "forward" and isinstance(error, TypeError):
            return "call"
        if last["function"] == "finalize_weights" and not isinstance(error, TypeError):
            return "scales"
    return "elsewhere"
