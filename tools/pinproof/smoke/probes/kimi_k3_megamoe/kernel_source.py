"""The pinned kernel's device source and headers, and the value contracts its compiled host side states."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from pinproof.errors import CannotCheck, InputError
from pinproof.paths import cache_dir
from pinproof.smoke.probes.kimi_k3_megamoe.library import LIBRARY
from pinproof.smoke.record import sha256
from pinproof.tree import Tree

INCLUDE = f"{LIBRARY}/include"
PLAIN = "deep_gemm/impls/sm100_fp8_fp4_mega_moe.cuh"
SITU = "deep_gemm/impls/sm100_fp8_fp4_mega_moe_situ.cuh"
"""From vLLM 0.30 on, SiTU has a kernel of its own; before, it is a parameter of the plain one."""

_ASSERTION = re.compile(rb"[ -~]{8,240}")
_TEMPLATE = re.compile(
    r"template\s*<(?P<list>[^{};]*?)>\s*CUTLASS_GLOBAL[^;{]*?\b(?P<name>sm100_fp8_fp4_mega_moe\w*_impl)\b",
    re.DOTALL,
)
_STORAGE = re.compile(r"^( *)struct SharedStorage \{.*?^\1\};\n", re.DOTALL | re.MULTILINE)


def source_tree(tree: Tree) -> Tree:
    """The tree that holds the library's headers: this one, or the release it says it is.

    Raises:
        CannotCheck: neither has them.
    """
    if tree.read(f"{INCLUDE}/{PLAIN}") is not None:
        return tree
    if tree.version is not None:
        from pinproof.releases import release_tree

        release = release_tree("vllm", tree.version)
        if release.read(f"{INCLUDE}/{PLAIN}") is not None:
            return release
    raise CannotCheck(
        f"{tree.name} vendors no {PLAIN.rsplit('/', 1)[1]}", hint="give a tree of vLLM 0.27 or newer"
    )


def headers(tree: Tree) -> Path:
    """A folder to put on nvcc's include path; a release's is written once and kept.

    Raises:
        CannotCheck: the headers are not available.
    """
    source = source_tree(tree)
    if source.root is not None:
        return source.root / INCLUDE
    kernel = source.read(f"{INCLUDE}/{PLAIN}") or b""
    target = cache_dir("smoke", "headers") / f"{source.version}-{sha256(kernel)[:12]}"
    if not target.is_dir():
        paths = list(source.files.paths(INCLUDE))
        prefetch = getattr(source.files, "prefetch", None)
        if prefetch is not None:
            prefetch(paths)  # a thousand small members: one range instead of a thousand requests
        _write(source, paths, target)
    return target


def _write(source: Tree, paths: list[str], target: Path) -> None:
    """Write the files so that a folder that exists is complete, also with two runs at once."""
    staging = Path(tempfile.mkdtemp(dir=target.parent))
    try:
        for path in paths:
            out = staging / Path(path).relative_to(INCLUDE)
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_bytes(source.read(path) or b"")
        if not target.is_dir():
            staging.rename(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def kernel_path(include: Path) -> str:
    """Which of the library's files holds the kernel that SiTU runs, relative to the include folder."""
    return SITU if (include / SITU).is_file() else PLAIN


def declaration(kernel: str) -> tuple[str, list[tuple[str, str]]]:
    """The kernel's name and its template parameters without a default, as (type, name), in order.

    Raises:
        InputError: the source declares no such kernel.
    """
    match = _TEMPLATE.search(kernel)
    if match is None:
        raise InputError("the pinned kernel's source declares no sm100_fp8_fp4_mega_moe template")
    found = []
    for part in match["list"].split(","):
        words = part.split()
        if "=" in part:
            break
        found.append((" ".join(words[:-1]), words[-1]))
    return match["name"], found


def with_size_note(kernel: str) -> str:
    """The source with one comment that carries sizeof(SharedStorage) into the PTX; no code changes.

    The kernel's shared memory is dynamic, so ptxas does not report it.
    """
    note = r'\g<0>\1asm volatile("// pinproof.shared %0" :: "n"(sizeof(SharedStorage)));' + "\n"
    return _STORAGE.sub(note, kernel, count=1)


def host_contracts(tree: Tree) -> list[str]:
    """The assertions about activation values in the compiled extension's strings, sorted.

    Raises:
        CannotCheck: neither the tree nor its release holds a compiled extension.
    """
    source = tree
    names = _extensions(tree)
    if not names and tree.version is not None:
        from pinproof.releases import release_tree

        source = release_tree("vllm", tree.version)
        names = _extensions(source)
    if not names:
        raise CannotCheck(f"{tree.name} holds no compiled DeepGEMM")
    data = source.read(names[0]) or b""
    return sorted({text for text in _strings(data) if _is_contract(text)})


def _extensions(tree: Tree) -> list[str]:
    return [path for path in tree.files.paths(LIBRARY, ".so") if "/_C" in path]


def _strings(data: bytes) -> list[str]:
    return [match.decode("ascii") for match in _ASSERTION.findall(data)]


def _is_contract(text: str) -> bool:
    """A C++ condition about the activation's values, as an assertion macro leaves it in the binary."""
    speaks = re.search(r"\bsitu_|activation_clamp|activation_(?:alpha|beta)|use_situ", text)
    return speaks is not None and re.search(r">=? ?0|has_value|isfinite|==", text) is not None
