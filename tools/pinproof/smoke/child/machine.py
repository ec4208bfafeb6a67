"""What the user's interpreter has: versions, the GPU, where vLLM lies; imports torch, not vLLM."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import platform
import re
from pathlib import Path
from typing import Any

from .report import Job, run, say

PACKAGES = ("vllm", "torch", "triton", "deep_gemm", "transformers", "flashinfer-python")


def versions() -> dict[str, str | None]:
    """The installed version of each package that matters, None where there is none."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name in PACKAGES:
        found[name] = None
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def driver() -> str | None:
    """The NVIDIA driver's version as the kernel module tells it, None without one."""
    with contextlib.suppress(OSError):
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8")
        match = re.search(r"\b(\d{3}\.\d+(?:\.\d+)?)\b", text)
        return match.group(1) if match else None
    return None


def gpu() -> dict[str, Any] | None:
    """The first CUDA device and how many there are, None when torch sees none."""
    import torch

    if not torch.cuda.is_available():
        return None
    free, total = torch.cuda.mem_get_info()
    return {
        "name": torch.cuda.get_device_name(), "capability": list(torch.cuda.get_device_capability()),
        "count": torch.cuda.device_count(), "memory_gib": round(total / 2**30, 1),
        "free_gib": round(free / 2**30, 1), "cuda": torch.version.cuda, "driver": driver(),
    }  # fmt: skip


def main(job: Job) -> None:
    """Report versions, the installed vLLM and the GPU."""
    vllm = importlib.util.find_spec("vllm")
    say(
        "found",
        versions=versions(),
        vllm_dir=str(Path(vllm.origin).parent) if vllm and vllm.origin else None,
        driver=driver(),
        gpu=gpu() if importlib.util.find_spec("torch") else None,
    )


if __name__ == "__main__":
    run(main)
