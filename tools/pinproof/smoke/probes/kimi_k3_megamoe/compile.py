"""Rung compile: build the pinned kernel for sm_100a at the real model's sizes, with the delivered betas."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pinproof.console import note
from pinproof.errors import CannotCheck, InputError
from pinproof.smoke.machine import nvcc_version
from pinproof.smoke.probes.kimi_k3_megamoe import kernel_source as ks
from pinproof.smoke.record import RungResult, scrub, sha256
from pinproof.tree import Tree

LOWEST_NVCC = (12, 9)
TIMEOUT_S = 120.0
TARGET = "arch=compute_100a,code=sm_100a"

SHAPES: dict[str, int] = {
    "kHidden": 3584, "kIntermediateHidden": 3072, "kNumExperts": 896, "kNumSharedExperts": 0, "kNumTopk": 16,
    "kNumRanks": 8, "kNumMaxTokensPerRank": 1024,
}  # fmt: skip
"""Kimi-K3: latent hidden size, intermediate size, routed experts, top-k; expert parallel over 8 GPUs."""

TILING: dict[str, int] = {
    "BLOCK_M": 192, "BLOCK_N": 128, "BLOCK_K": 128, "SF_BLOCK_M": 256, "SF_BLOCK_N": 128,
    "STORE_BLOCK_M": 32, "STORE_BLOCK_M_L1": 32, "STORE_BLOCK_M_L2": 32, "kNumExpertsPerWave": 8,
    "kNumRingTokens": 384 * 64, "kNumSFRingTokens": 128 * 256, "kNumStages": 6, "kNumBytesPerPull": 3584,
    "kNumDispatchThreads": 128, "kNumNonEpilogueThreads": 128, "kNumEpilogueThreads": 256, "kNumSMs": 148,
}  # fmt: skip
"""One tiling that the kernel's own assertions allow on a B200 (148 SMs, 227 KiB of shared memory a block).
The host picks one of several at run time; its choice is compiled in and cannot be read without a GPU."""

FLAGS: dict[str, str] = {
    "kActivationClamp": "cute::numeric_limits<float>::infinity()", "kFastMath": "true",
    "kUseSiTU": "true", "kSitu": "true", "kClampAfterSilu": "false",
    "weight_dtype_t": "cutlass::detail::float_e2m1_unpacksmem_t",
}  # fmt: skip
"""The rest, under all the names that vLLM 0.27 to 0.33 vendor: SiTU, no clamp, MXFP4 weights."""

SCALE_PARAMETERS = (("kSiTUBeta", "kSiTULinearBeta"), ("kActivationAlpha", "kActivationBeta"),
                    ("kActivationBeta", "kActivationLinearBeta"))  # fmt: skip
DEFAULT_SCALES = (1.75, 6.5)

_USED = re.compile(r"Used (\d+) registers")
_SPILL = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_SHARED = re.compile(r"// pinproof\.shared (\d+)")


def unit(path: str, entry: str, parameters: list[tuple[str, str]], scales: tuple[float, float]) -> str:
    """A translation unit that instantiates the kernel.

    Args:
        path: the header that holds it, relative to the include folder.
        entry: its name.
        parameters: the kernel's template parameters as (type, name), those without a default.
        scales: tanh scales of the gate and the linear branch.

    Raises:
        CannotCheck: the kernel has a parameter that this rung does not know.
    """
    names = [name for _, name in parameters]
    pair = next((pair for pair in SCALE_PARAMETERS if all(name in names for name in pair)), ())
    values: dict[str, str] = {name: str(value) for name, value in {**SHAPES, **TILING}.items()} | FLAGS
    values |= {name: f"{value!r}f" for name, value in zip(pair, scales, strict=False)}
    unknown = [name for name in names if name not in values]
    if unknown:
        raise CannotCheck(f"the pinned kernel has template parameters unknown here: {', '.join(unknown)}")
    arguments = ", ".join(values[name] for name in names)
    return (
        "#include <cuda_runtime.h>\n#include <cute/numeric/math.hpp>\n"
        f"#include <{path}>\n"
        f"using namespace deep_gemm;\n"
        f"void* instance() {{ return reinterpret_cast<void*>(&{entry}<{arguments}>); }}\n"
    )


def front_end(folder: Path, include: Path, text: str, name: str) -> subprocess.CompletedProcess[str]:
    """nvcc's front end: CUDA C++ to PTX, the kernel's static assertions included."""
    (folder / f"{name}.cu").write_text(text, encoding="utf-8")
    paths = ["-I", str(folder / "include"), "-I", str(include)]
    options = ["-ptx", "-o", f"{name}.ptx", "-std=c++20", "--expt-relaxed-constexpr"]
    return _nvcc([*options, *paths, f"{name}.cu"], folder)


def assemble(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    """ptxas: PTX to a cubin for sm_100a, with its resource report."""
    return _nvcc(["-cubin", "-o", f"{name}.cubin", "-Xptxas", "-v", f"{name}.ptx"], folder)


def _nvcc(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["nvcc", "-gencode", TARGET, *arguments], cwd=folder, capture_output=True, text=True,
            check=False, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise CannotCheck(f"nvcc did not end within {TIMEOUT_S:.0f} s") from error


def resources(report: str, ptx: str) -> dict[str, Any]:
    """Registers a thread, spills in bytes and shared memory a block, from ptxas -v and the size note."""
    used, spill, shared = _USED.search(report), _SPILL.search(report), _SHARED.search(ptx)
    return {
        "registers": int(used.group(1)) if used else None,
        "stack_bytes": int(spill.group(1)) if spill else None,
        "spill_store_bytes": int(spill.group(2)) if spill else None,
        "spill_load_bytes": int(spill.group(3)) if spill else None,
        "shared_memory_bytes": int(shared.group(1)) if shared else None,
    }


def run_compile(tree: Tree, base: Path, delivered: Mapping[str, float]) -> RungResult:
    """Build the kernel with the betas that the call delivers, and once with a zero linear beta.

    Args:
        tree: the tree under test.
        base: a folder of this run's own.
        delivered: the scales as rung bind saw them arrive, in the wrapper's order; empty when it was
            not run, and this rung's own values are used.
    """
    start = time.monotonic()
    version = nvcc_version()
    if version is None:
        return _skip("nvcc is not on PATH", "install the CUDA toolkit 12.9 or newer")
    if tuple(map(int, version.split("."))) < LOWEST_NVCC:
        return _skip(
            f"nvcc {version} is too old for sm_100a as this kernel uses it", "install CUDA 12.9 or newer"
        )
    try:
        result = _build(tree, base / "compile", tuple(delivered.values()), bool(delivered))
    except (CannotCheck, InputError) as error:
        return _skip(error.message, error.hint)
    return RungResult(**{**_plain(result), "duration_s": round(time.monotonic() - start, 1)})


def _plain(result: RungResult) -> dict[str, Any]:
    return {name: getattr(result, name) for name in result.__struct_fields__}


def _skip(reason: str, clear: str | None) -> RungResult:
    return RungResult(
        rung="compile", outcome="skip", summary=scrub(reason), reason=scrub(reason), clear=clear
    )


def _build(tree: Tree, folder: Path, scales: tuple[float, ...], from_call: bool) -> RungResult:
    note("smoke: compile: reading the pinned kernel and its headers")
    include = ks.headers(tree)
    path = ks.kernel_path(include)
    kernel = (include / path).read_text(encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    override = folder / "include" / path
    override.parent.mkdir(parents=True, exist_ok=True)
    override.write_text(ks.with_size_note(kernel), encoding="utf-8")
    entry, parameters = ks.declaration(kernel)
    pair = (scales[0], scales[1]) if len(scales) == 2 else DEFAULT_SCALES
    details: dict[str, Any] = {
        "scales": list(pair),
        "scales_from": "the call" if from_call else "this rung",
        "kernel": entry,
        "kernel_sha256": sha256(kernel.encode()),
        "shapes": SHAPES,
        "tiling": {name: TILING[name] for _, name in parameters if name in TILING},
        "host_contracts": ks.host_contracts(tree),
    }
    note("smoke: compile: nvcc, CUDA C++ to PTX")
    front = front_end(folder, include, unit(path, entry, parameters, pair), "kernel")
    if front.returncode:
        return _failed("the kernel does not compile", front, details)
    note("smoke: compile: ptxas, PTX to sm_100a")
    back = assemble(folder, "kernel")
    if back.returncode:
        return _failed("ptxas refuses the kernel", back, details)
    details |= resources(back.stderr + back.stdout, (folder / "kernel.ptx").read_text(encoding="utf-8"))
    details["cubin_bytes"] = (folder / "kernel.cubin").stat().st_size
    note("smoke: compile: the same with a zero linear beta, which must not compile")
    control = front_end(folder, include, unit(path, entry, parameters, (pair[0], 0.0)), "control")
    stopped = _assertion(control)
    details["zero_linear_beta"] = stopped or "compiles"
    text = (
        f"sm_100a cubin of {details['cubin_bytes'] // 1024} KiB, {details['registers']} registers, "
        f"{details['spill_store_bytes']} bytes spilled; a zero linear beta: {details['zero_linear_beta']}"
    )
    return RungResult(rung="compile", outcome="pass", summary=text, details=details)


def _assertion(done: subprocess.CompletedProcess[str]) -> str | None:
    """The static assertion that stopped a build, None when it went through."""
    match = re.search(r"static assertion failed(?: with|:) *\"([^\"\n]+)\"", done.stderr)
    if match:
        return f"stopped by the kernel's own assertion {match.group(1)!r}"
    return "stopped by another error" if done.returncode else None


def _failed(what: str, done: subprocess.CompletedProcess[str], details: dict[str, Any]) -> RungResult:
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    first = scrub(errors[0][:300] if errors else done.stderr.strip()[:300])
    details["compiler"] = scrub(done.stderr[:4000])
    return RungResult(rung="compile", outcome="fail", summary=f"{what}: {first}", details=details)
