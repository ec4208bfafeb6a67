"""The real MegaMoE experts at a small size, and what stands in for the parts a machine lacks."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import types
from typing import Any

import torch

from ....child.report import frames

MODEL_MODULE = "vllm.models.kimi_k3.nvidia.model"
OWN_CLASS = "KimiK3MegaMoEExperts"
"""The experts of vLLM 0.27 to 0.31, in the model's own module."""

SHARED_MODULE = "vllm.model_executor.layers.fused_moe.deep_gemm_mega_moe"
SHARED_CLASS = "DeepGemmMegaMoEExperts"
"""The experts of vLLM 0.32 and later, for every model."""

GUARDS = ("_check_runtime_supported", "check_deep_gemm_mega_moe_supported")
"""What refuses other architectures than SM100: a method of the own class, a function of the shared module."""

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
    """The module that holds the experts which Kimi-K3 uses, and their class; None where there is none.

    The model's module is imported either way: a tree in which it does not import has no Kimi-K3 to prove.
    """
    module = importlib.import_module(MODEL_MODULE)
    if hasattr(module, OWN_CLASS):
        return module, getattr(module, OWN_CLASS)
    if getattr(module, SHARED_CLASS, None) is None:
        return module, None
    shared = importlib.import_module(SHARED_MODULE)
    return shared, getattr(shared, SHARED_CLASS)


def build(cls: Any, weights: dict[str, Any], first: int, device: str) -> Any:
    """An instance that holds the experts from `first` on.

    Args:
        cls: the experts class.
        weights: uint8 tensors of all experts in `reference`'s shapes.
        first: this rank's first expert.
        device: where its parameters live.
    """
    sizes = {
        "num_experts": EXPERTS, "num_local_experts": weights["w13"].shape[0], "experts_start_idx": first,
        "top_k": TOP_K, "hidden_size": HIDDEN, "intermediate_size": INTERMEDIATE, "prefix": "smoke.experts",
    }  # fmt: skip
    shared = cls.__name__ == SHARED_CLASS
    with torch.device(device):
        experts = cls(vllm_config(), **sizes, **(_activation(cls) if shared else OWN_ACTIVATION))
    (_load_shards if shared else _copy_whole)(experts, weights, first)
    return experts


OWN_ACTIVATION = {"activation": "situ", "activation_beta": BETA, "activation_linear_beta": LINEAR_BETA}


def _activation(cls: Any) -> dict[str, Any]:
    """For the shared class: `alpha` is SiTU's tanh scale of the gate, `beta` that of the linear branch."""
    module = sys.modules[cls.__module__]
    situ = module.MegaMoEActivation(name="situ", alpha=BETA, beta=LINEAR_BETA)
    return {"activation": situ, "weight_format": module.MEGA_MOE_MXFP4}


def _copy_whole(experts: Any, weights: dict[str, Any], first: int) -> None:
    """The own class keeps the checkpoint's layout until finalize_weights."""
    for name in ("w13", "w2"):
        getattr(experts, f"{name}_weight").data.copy_(weights[name])
        getattr(experts, f"{name}_weight_scale").data.copy_(weights[f"{name}_scale"])


def _load_shards(experts: Any, weights: dict[str, Any], first: int) -> None:
    """The shared class takes checkpoint shards and writes them in the kernel's layout at once."""
    for index in range(weights["w13"].shape[0]):
        for suffix in ("", "_scale"):
            w13, w2 = weights[f"w13{suffix}"][index], weights[f"w2{suffix}"][index]
            for name, shard, data in (("w13", "w1", w13[:INTERMEDIATE]), ("w13", "w3", w13[INTERMEDIATE:]),
                                      ("w2", "w2", w2)):  # fmt: skip
                parameter = f"{name}_weight{suffix}"
                to = getattr(experts, parameter)
                experts.weight_loader(to, data.to(to.device), parameter, shard, first + index)


def step_past_guard(instance_or_class: Any) -> None:
    """Take the refusal of this architecture out of the way: in the class, and in the module it lies in."""
    cls = instance_or_class if isinstance(instance_or_class, type) else type(instance_or_class)
    for holder in (cls, *(sys.modules[part.__module__] for part in cls.__mro__)):
        for name in GUARDS:
            if hasattr(holder, name):
                setattr(holder, name, nothing)


def forward(instance: Any, tokens: tuple[Any, Any, Any]) -> Any:
    """The real forward; the own class is told that there is no clamp, the shared one knows.

    Args:
        instance: the experts.
        tokens: as `random_tokens` gives them.
    """
    takes = inspect.signature(type(instance).forward).parameters
    return instance(*tokens, **({"activation_clamp": None} if "activation_clamp" in takes else {}))


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
        return pack_scales if name == "transform_sf_into_required_layout" else nothing

    def _record(self, *args: Any) -> None:
        self.arrived = dict(sys._getframe(1).f_locals)
        self.positional = args


def nothing(*args: Any, **kwargs: Any) -> None:
    """Any other entry of the extension: initialisation and settings."""


def scale_names(wrapper: Any) -> tuple[str, str] | None:
    """The wrapper's names for the two tanh scales, None when it declares no pair we know."""
    parameters = inspect.signature(wrapper).parameters
    return next((pair for pair in SCALE_NAMES if all(name in parameters for name in pair)), None)


def where(error: BaseException) -> str:
    """Which layer raised: `call` (binding failed), `guard`, `scales`, `wrapper`, `kernel` or `elsewhere`.

    Told by the innermost Python frame outside torch, since a compiled function leaves none: an argument
    that does not bind raises in the caller, an extension that refuses raises in the wrapper that called it.
    """
    path = frames(error)
    last = next((frame for frame in reversed(path) if not frame["module"].startswith("torch.")), path[-1])
    in_library = last["module"].startswith(("deep_gemm.", "vllm.third_party.deep_gemm."))
    if in_library and last["function"] == WRAPPER:
        return "wrapper" if isinstance(error, TypeError) else "kernel"
    if last["function"] in GUARDS:
        return "guard"
    if last["module"] in (MODEL_MODULE, SHARED_MODULE):
        if last["function"] == "forward" and isinstance(error, TypeError):
            return "call"
        if last["function"] == "finalize_weights" and not isinstance(error, TypeError):
            return "scales"
    return "elsewhere"
