"""What this machine has besides the interpreter: the CUDA compiler on PATH."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import lru_cache


@lru_cache(maxsize=1)
def nvcc_version() -> str | None:
    """The version of nvcc on PATH, None without one."""
    if shutil.which("nvcc") is None:
        return None
    done = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=False, timeout=30)
    match = re.search(r"release (\d+\.\d+)", done.stdout)
    return match.group(1) if match else None
