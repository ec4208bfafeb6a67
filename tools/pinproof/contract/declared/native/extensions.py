"""Signatures of compiled modules, from a library's C++ sources or the strings of its extensions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pinproof.contract.declared.native import schemas
from pinproof.contract.declared.native.cplusplus import Registered, read
from pinproof.contract.declared.summary import Alias, Entry, Function, Import, Module
from pinproof.errors import InputError
from pinproof.tree import Files

SUFFIXES = (".cpp", ".cc", ".cxx", ".cu", ".h", ".hpp", ".cuh")
_FOLDERS = ("csrc", "src", "cpp")
_NOT_OURS = {"third-party", "third_party", "3rdparty", "cutlass", "tests", "test", "examples", "build"}
_MOST_FILES = 5000
_LARGEST_SOURCE = 2 * 1024 * 1024
_LARGEST_BINARY = 64 * 1024 * 1024
_MOST_BINARIES = 4
_MODULE = re.compile(rb"\bPYBIND11_MODULE\s*\(\s*(\w+)")
# What the build makes of TORCH_EXTENSION_NAME, where the sources or setup.py say it.
_NAME = re.compile(
    rb"""\#\s*define\s+TORCH_EXTENSION_NAME\s+(\w+)|Extension\(\s*(?:name\s*=\s*)?["'](?:\w+\.)*(\w+)["']"""
)
# With these in the sources it cannot be told which module a def lands in, or what else it takes.
_AMBIGUOUS = re.compile(
    rb"def_submodule|\b(?:py|pybind11)::(?:kw)?args\b|using\s+namespace\s+(?:py|pybind11)\s*;|\bNB_MODULE\b"
)


def add(modules: dict[str, Module], files: Files, sources: Files | None, roots: Mapping[str, str]) -> None:
    """Add what is known of compiled modules to the summaries of a library's Python modules.

    pybind11 functions become members of the extension module that the library imports; operators become
    members of `torch.ops.NAMESPACE`, through which the library's Python reaches them.

    Args:
        modules: the library's modules by dotted name; added to.
        files: the library's files, its compiled extensions among them.
        sources: the folder that its C++ sources lie in, None when there are none.
        roots: its import names and their paths in `files`.
    """
    texts = {} if sources is None else _sources(sources, roots)
    found = {p: read(data.decode(errors="replace")) for p, data in texts.items() if p.endswith(SUFFIXES)}
    target = _extension(modules, texts, roots)
    if target is not None:
        _members(modules, target, "", found)
    for name in () if sources is None else _imported(modules):
        if name.rpartition(".")[0] in modules:
            modules[name] = Module(file=name, open=f"{name} is not in the source; a build makes it")
    for namespace in sorted(_namespaces(modules)):
        module = f"torch.ops.{namespace}"
        if any(namespace in registered.names for registered in found.values()):
            _members(modules, module, namespace, found)
        elif sources is None and len(_namespaces(modules)) == 1:
            _from_binaries(modules, module, namespace, files)


def _sources(files: Files, roots: Mapping[str, str]) -> dict[str, bytes]:
    """The sources that may register something; {} when there are too many to be one library's."""
    paths = sorted({p for folder in (*_FOLDERS, *roots) for p in files.paths(folder) if p.endswith(SUFFIXES)})
    paths = [p for p in paths if not _NOT_OURS & set(p.split("/"))]
    found: dict[str, bytes] = {}
    if paths and (setup := files.read("setup.py")) is not None:
        found["setup.py"] = setup
    room = _LARGEST_BINARY
    for path in paths if len(paths) <= _MOST_FILES else []:
        data = files.read(path) or b""
        if len(data) > min(room, _LARGEST_SOURCE):  # an overload, or another module, may be in it
            return {}
        if any(word in data for word in (b".def", b"_MODULE", b"args")):
            found[path] = data
            room -= len(data)
    return found


def _extension(
    modules: Mapping[str, Module], sources: Mapping[str, bytes], roots: Mapping[str, str]
) -> str | None:
    """The dotted name of the one extension module that the sources make; None when that is not certain."""
    if any(_AMBIGUOUS.search(data) for data in sources.values()):
        return None
    made = {name for data in sources.values() for name in _MODULE.findall(data)}
    if len(made) != 1 or sum(len(_MODULE.findall(data)) for data in sources.values()) != 1:
        return None
    if made == {b"TORCH_EXTENSION_NAME"}:
        made = {a or b for data in sources.values() for a, b in _NAME.findall(data)}
    compiled = {name for name, module in modules.items() if module.file.endswith((".so", ".pyd"))}
    fitting = [name for name in _imported(modules) | compiled if name.rpartition(".")[2].encode() in made]
    return fitting[0] if len(fitting) == 1 and fitting[0].split(".")[0] in {*roots, fitting[0]} else None


def _imported(modules: Mapping[str, Module]) -> set[str]:
    """The modules that `from X import name` asks for and that are none of the files."""
    return {
        e.module
        for module in modules.values() for entries in module.names.values() for e in entries
        if isinstance(e, Import) and e.name is not None and e.module not in modules
    }  # fmt: skip


def _members(modules: dict[str, Module], target: str, place: str, found: Mapping[str, Registered]) -> None:
    """Make `target` a module whose names are those that the files register at `place`.

    Each file is a module of its own, so that a signature's line is a line of its file.
    """
    why = f"{target} is compiled"
    parts = {path: r.names[place] for path, r in found.items() if place in r.names}
    if any(place in r.unreadable for r in found.values()) or not parts:
        parts = {}
    unknown = {name for names in parts.values() for name, entries in names.items() if not entries}
    names: dict[str, tuple[Entry, ...]] = {}
    for path, registered in parts.items():
        known = {name: entries for name, entries in registered.items() if name not in unknown}
        modules[f"{target}.<{path}>"] = Module(file=path, names=known, open=why)
        for name in known:
            names[name] = (*names.get(name, ()), Import(f"{target}.<{path}>", name))
    file = modules[target].file if target in modules else next(iter(parts), target)
    modules[target] = Module(file=file, names=names, open=why)


def _namespaces(modules: Mapping[str, Module]) -> set[str]:
    """The operator namespaces that the library's Python gives names to (`ops = torch.ops.deep_gemm`)."""
    targets = (
        e.target.split(".")
        for module in modules.values() for entries in module.names.values() for e in entries
        if isinstance(e, Alias)
    )  # fmt: skip
    return {t[2] for t in targets if t[:2] == ["torch", "ops"] and len(t) > 2}


def _from_binaries(modules: dict[str, Module], module: str, namespace: str, files: Files) -> None:
    """The operators whose schemas stand in the one extension that registers the namespace."""
    compiled = sorted({m.file for m in modules.values() if m.file.endswith((".so", ".pyd"))})
    found = {path: _operators(files, path, namespace) for path in compiled[:_MOST_BINARIES]}
    having = [path for path, names in found.items() if names]
    if len(having) == 1 and len(compiled) <= _MOST_BINARIES:
        path = having[0]
        modules[module] = Module(file=path, names=found[path], open=f"{path} is compiled")


def _operators(files: Files, path: str, namespace: str) -> dict[str, tuple[Entry, ...]]:
    data = _binary(files, path)
    if data is None or b"\0" + namespace.encode() + b"\0" not in data:
        return {}
    names: dict[str, tuple[Entry, ...] | None] = {}
    for text in dict.fromkeys(schemas.strings(data)):
        schema = schemas.parse(text)
        if schema is None or schema.namespace not in (None, namespace):
            continue
        before = names.get(schema.name, ())
        known = before is not None and schema.parameters is not None
        names[schema.name] = (*before, Function(0, schema.parameters)) if known else None  # type: ignore
    return {name: entries for name, entries in names.items() if entries is not None}


def _binary(files: Files, path: str) -> bytes | None:
    root = getattr(files, "root", None)
    try:
        if isinstance(root, Path) and (root / path).stat().st_size > _LARGEST_BINARY:
            return None
        return files.read(path)
    except (InputError, OSError):  # larger than we read, or damaged: what it holds stays open
        return None
