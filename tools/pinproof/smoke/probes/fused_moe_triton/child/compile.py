"""Rung compile: build the kernel as the launcher specialises it, for SM90 and SM100. No GPU."""

from __future__ import annotations

from typing import Any

from ....child.report import Job, describe, run, say, step

TARGETS = (90, 100)
"""Hopper and Blackwell. Triton brings its own ptxas, so neither has to be at hand."""


def source(kernel: Any, arguments: dict[str, Any]) -> Any:
    """What Triton compiles for these arguments: their types, and the values that become constants."""
    import torch
    from triton.compiler import ASTSource

    signature: dict[str, str] = {}
    constants: dict[str, Any] = {}
    for parameter in kernel.params:
        value = arguments[parameter.name]
        if isinstance(value, torch.Tensor):
            signature[parameter.name] = f"*{_type_name(value.dtype)}"
        elif parameter.is_constexpr or value is None or value == 1:
            signature[parameter.name], constants[parameter.name] = "constexpr", value
        else:
            signature[parameter.name] = "i32"
    return ASTSource(fn=kernel, signature=signature, constexprs=constants)


def _type_name(dtype: Any) -> str:
    name = str(dtype).removeprefix("torch.")
    return {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "int32": "i32", "int64": "i64"}[name]


def build(kernel: Any, arguments: dict[str, Any], options: dict[str, Any], target: int) -> None:
    """Compile for one architecture and report what came of it."""
    import triton
    from triton.backends.compiler import GPUTarget

    try:
        made = triton.compile(
            source(kernel, arguments), target=GPUTarget("cuda", target, 32), options=options
        )
    except Exception as error:
        say("built", target=f"sm_{target}", error=describe(error))
        return
    say(
        "built", target=f"sm_{target}", cubin_bytes=len(made.asm["cubin"]), shared_bytes=made.metadata.shared,
        num_warps=made.metadata.num_warps,
    )  # fmt: skip


def main(job: Job) -> None:
    """Record the launcher's call, then build the kernel for what it passes."""
    with step("importing torch and vllm's fused MoE"):
        from . import launch

        launch.without_gpu()
        import triton

        module = launch.load()
    say("triton", version=triton.__version__)
    if module is None:
        say("absent", what=f"{launch.LAUNCHER} and {launch.KERNEL} in {launch.MODULE}")
        return
    kernel = getattr(module, launch.KERNEL)
    try:
        recorder, _ = launch.launch(module)
    except Exception as error:
        say("raised", where=launch.where(error), error=describe(error))
        return
    arguments, options = recorder.launches[0]
    for target in TARGETS:
        with step(f"building for sm_{target}"):
            build(kernel, arguments, options, target)


if __name__ == "__main__":
    run(main)
