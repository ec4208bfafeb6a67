"""The launcher's call with a recorder in the kernel's place: what arrives under which parameter."""

from __future__ import annotations

import importlib
import inspect
import os
from functools import partial
from typing import Any

import torch

from ....child.report import frames

MODULE = "vllm.model_executor.layers.fused_moe.fused_moe"
KERNEL = "fused_moe_kernel"
LAUNCHER = "invoke_fused_moe_triton_kernel"

OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "waves_per_eu", "matrix_instr_nonkdim", "kpack")
"""Keywords of a launch that Triton takes itself, for CUDA and for AMD GPUs."""

TOKENS, HIDDEN, INTERMEDIATE, EXPERTS, TOP_K = 48, 256, 320, 8, 2
CONFIG = {
    "BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 2,
    "num_warps": 4, "num_stages": 3,
}  # fmt: skip


def without_gpu() -> None:
    """Keep Triton's decorators on a machine without a GPU: vLLM drops them unless it may get one later."""
    if not torch.cuda.is_available():
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


def load() -> Any:
    """The tree's module, None where it has no such launcher or kernel."""
    module = importlib.import_module(MODULE)
    return module if hasattr(module, KERNEL) and hasattr(module, LAUNCHER) else None


def function_of(kernel: Any) -> Any:
    """The Python function under Triton's decorators."""
    while hasattr(kernel, "fn"):
        kernel = kernel.fn
    return kernel


class Recorder:
    """Stands in for the kernel: binds each launch to the kernel's own signature and keeps it.

    Attributes:
        signature: the kernel's.
        launches: the arguments by parameter, and the options, of each launch.
    """

    def __init__(self, kernel: Any) -> None:
        self.signature = inspect.signature(function_of(kernel))
        self.launches: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def __getitem__(self, grid: Any) -> Any:
        return partial(self._launch, grid)

    def _launch(self, grid: Any, *args: Any, **kwargs: Any) -> None:
        own = self.signature.parameters
        options = {name: kwargs.pop(name) for name in OPTIONS if name in kwargs and name not in own}
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if callable(grid):
            grid(bound.arguments)
        self.launches.append((dict(bound.arguments), options))


def padded(*shape: int) -> Any:
    """A bf16 tensor whose rows lie further apart than they are long, so that no two strides are alike."""
    return torch.zeros(*shape[:-1], shape[-1] + 8 * len(shape), dtype=torch.bfloat16)[..., : shape[-1]]


def operands() -> dict[str, Any]:
    """The launcher's arguments for the first product of the experts, with sorted tokens."""
    blocks = TOKENS * TOP_K // CONFIG["BLOCK_SIZE_M"] + EXPERTS
    return {
        "A": padded(TOKENS, HIDDEN), "B": padded(EXPERTS, 2 * INTERMEDIATE, HIDDEN),
        "C": padded(TOKENS, TOP_K, 2 * INTERMEDIATE), "A_scale": None, "B_scale": None,
        "topk_weights": torch.ones(TOKENS, TOP_K),
        "sorted_token_ids": torch.zeros(blocks * CONFIG["BLOCK_SIZE_M"], dtype=torch.int32),
        "expert_ids": torch.zeros(blocks, dtype=torch.int32),
        "num_tokens_post_padded": torch.zeros(1, dtype=torch.int32),
        "mul_routed_weight": True, "top_k": TOP_K, "config": dict(CONFIG), "use_fp8_w8a8": False,
        "use_int8_w8a8": False, "use_int8_w8a16": False, "use_int4_w4a16": False,
        "per_channel_quant": False, "block_shape": None,
    }  # fmt: skip


def wanted(given: dict[str, Any]) -> dict[str, Any]:
    """What must arrive under each of the kernel's parameters, from its own documentation.

    A is [*, K], B is [E, N, K], C is [M, top_k, N]; `stride_xy` is X's step along dimension y.
    """
    a, b, c = given["A"], given["B"], given["C"]
    return {
        "a_ptr": a, "b_ptr": b, "c_ptr": c, "topk_weights_ptr": given["topk_weights"],
        "sorted_token_ids_ptr": given["sorted_token_ids"], "expert_ids_ptr": given["expert_ids"],
        "num_tokens_post_padded_ptr": given["num_tokens_post_padded"], "b_bias_ptr": None,
        "a_scale_ptr": None, "b_scale_ptr": None,
        "N": b.shape[1], "K": b.shape[2], "EM": given["sorted_token_ids"].shape[0],
        "num_valid_tokens": a.shape[0] * TOP_K,
        "stride_am": a.stride(0), "stride_ak": a.stride(1), "stride_be": b.stride(0),
        "stride_bn": b.stride(1), "stride_bk": b.stride(2), "stride_cm": c.stride(1),
        "stride_cn": c.stride(2),
        "MUL_ROUTED_WEIGHT": True, "top_k": TOP_K, "HAS_BIAS": False, "use_fp8_w8a8": False,
        "use_int8_w8a8": False, "use_int8_w8a16": False, "per_channel_quant": False,
        "naive_block_assignment": False,
        **{name: value for name, value in CONFIG.items() if name.isupper()},
    }  # fmt: skip


def differences(arrived: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Where what arrived is not what must arrive; a parameter that this release lacks is not looked at."""
    wrong = []
    for name in expected.keys() & arrived.keys():
        got, want = arrived[name], expected[name]
        same = got is want if isinstance(want, torch.Tensor) or want is None else got == want
        if not same:
            wrong.append(f"{name} arrived as {plain(got)}, not {plain(want)}")
    return sorted(wrong)


def plain(value: Any) -> Any:
    """A value as the record keeps it."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def launch(module: Any) -> tuple[Recorder, dict[str, Any]]:
    """Run the real launcher into a recorder; raises what the launcher raises.

    Returns:
        The recorder, and the arguments that the launcher was given.
    """
    recorder, given = Recorder(getattr(module, KERNEL)), operands()
    kept = getattr(module, KERNEL)
    setattr(module, KERNEL, recorder)
    try:
        getattr(module, LAUNCHER)(**given, compute_type=getattr(module.tl, "bfloat16", None))
    finally:
        setattr(module, KERNEL, kept)
    return recorder, given


def where(error: BaseException) -> str:
    """`call` when a launch does not bind to the kernel: the recorder's binding, or Triton's own."""
    path = frames(error)
    names = [(frame["module"], frame["function"]) for frame in path]
    through = any(module == MODULE and function == LAUNCHER for module, function in names)
    last = path[-1]["module"]
    binding = last == "inspect" or last.startswith("triton.runtime") or last == MODULE
    missing = isinstance(error, (TypeError, KeyError)) or "was specified but" in str(error)
    return "call" if through and binding and missing else "elsewhere"
