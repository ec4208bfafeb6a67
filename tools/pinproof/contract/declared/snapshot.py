"""A snapshot: the signatures of one library at one version, in one file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from pinproof.contract.declared.modules import summarize
from pinproof.contract.declared.native.extensions import add as add_native
from pinproof.contract.declared.summary import Module
from pinproof.contract.syntax.parse import without_gc
from pinproof.progress import progress
from pinproof.tree import Files

SCHEMA = "pinproof.signatures/1"

# A generated file larger than this (a table, not an API) costs seconds to parse: declared open instead.
_LARGEST = 4 * 1024 * 1024


class Snapshot(msgspec.Struct, kw_only=True):
    """The modules of a library; each is decoded when it is first asked for.

    Attributes:
        library: the watched library's name.
        version: the version or commit.
        source: where the files were read, for people.
        modules: summaries by dotted module name, as raw JSON.
    """

    schema: str = SCHEMA
    library: str
    version: str
    source: str
    modules: dict[str, msgspec.Raw]


_module_decoder = msgspec.json.Decoder(Module)
_snapshot_decoder = msgspec.json.Decoder(Snapshot)


def decode(data: bytes) -> Snapshot:
    """A snapshot from its bytes.

    Raises:
        msgspec.DecodeError: they are no snapshot of this schema.
    """
    try:
        found = _snapshot_decoder.decode(data)
    except (RecursionError, UnicodeDecodeError) as error:
        raise msgspec.DecodeError(str(error)) from error
    if found.schema != SCHEMA:
        raise msgspec.DecodeError(f"schema {found.schema}, expected {SCHEMA}")
    return found


def decode_module(raw: msgspec.Raw) -> Module:
    """One module's summary from its raw JSON."""
    return _module_decoder.decode(raw)


def encode(snapshot: Snapshot, *, pretty: bool = False) -> bytes:
    """The bytes of a snapshot; `pretty` puts one module a line, so that a diff reads well."""
    data = msgspec.json.encode(snapshot)
    if not pretty:
        return data
    lines = [
        f"{msgspec.json.encode(name).decode()}: {bytes(raw).decode()}"
        for name, raw in sorted(snapshot.modules.items())
    ]
    head: dict[str, Any] = {
        "schema": snapshot.schema,
        "library": snapshot.library,
        "version": snapshot.version,
        "source": snapshot.source,
    }
    start = msgspec.json.encode(head).decode()[:-1]
    return (start + ',"modules":{\n' + ",\n".join(lines) + "\n}}\n").encode()


def take(
    files: Files,
    roots: Mapping[str, str],
    *,
    library: str,
    version: str,
    source: str,
    strip: str = "",
    native: Files | None = None,
) -> Snapshot:
    """Read a library's signatures from its files.

    Args:
        files: where they are.
        roots: the import name of each package or module, and its path below `files`
            (`{"deep_gemm": "vllm/third_party/deep_gemm"}`).
        library, version, source: what to write into the snapshot.
        strip: a path prefix to leave out of the places that are shown.
        native: the folder (a clone) that holds the library's C++ sources, None when there is none.
    """
    modules: dict[str, Module] = {}
    with without_gc():
        for name, path in roots.items():
            listed = list(files.paths(path)) or [p for p in (f"{path}.py",) if files.read(p) is not None]
            wanted = _in_packages([p for p in listed if p.endswith((".py", ".pyi"))], path)
            fetch = getattr(files, "prefetch", None)
            if fetch is not None:
                fetch(wanted)
            modules.update(_namespaces(listed, wanted, name, path))
            modules.update(_compiled(listed, name, path))
            modules.update(_read(files, wanted, name, path, strip))
        add_native(modules, files, native, roots)
    raw = {name: msgspec.Raw(msgspec.json.encode(module)) for name, module in modules.items()}
    return Snapshot(library=library, version=version, source=source, modules=raw)


def _in_packages(paths: list[str], base: str) -> list[str]:
    """The files that lie in packages all the way down, stubs first so that real modules win over them.

    What lies below a folder without `__init__` (bundled examples, generated code) is left out; the
    folder is then known as a namespace, of which nothing is claimed.
    """
    packages = {
        p.rpartition("/")[0] for p in paths if p.rpartition("/")[2] in ("__init__.py", "__init__.pyi")
    }
    plain = [p for p in paths if _chain(p, base) <= packages or p == f"{base}.py"]
    return sorted(plain or paths, key=lambda p: p.endswith(".py"))


def _namespaces(listed: list[str], read: list[str], root: str, base: str) -> dict[str, Module]:
    """The folders whose files were left out: they can be imported, and nothing is known of them."""
    known = {p.rpartition("/")[0] for p in read}
    left = {p.rpartition("/")[0] for p in listed if p.endswith(".py")} - known
    found: dict[str, Module] = {}
    for folder in left:
        parts = folder.removeprefix(base).strip("/").split("/")
        for end in range(1, len(parts) + 1):
            path = "/".join([base, *parts[:end]])
            if path not in known:
                why = f"{path} is a namespace package"
                found[".".join([root, *parts[:end]])] = Module(file=path, package=True, open=why, hosts=why)
    return found


def _chain(path: str, base: str) -> set[str]:
    """The folders between a file and the library's root, both ends included."""
    folder = path.rpartition("/")[0]
    inner = folder.removeprefix(base).strip("/").split("/") if folder != base else []
    return {base, *("/".join([base, *inner[: n + 1]]) for n in range(len(inner)))}


def _read(files: Files, paths: Iterable[str], root: str, base: str, strip: str) -> dict[str, Module]:
    found: dict[str, Module] = {}
    place = base.replace("/", ".")
    vendored = (place, root) if place != root else None
    known = list(paths)
    with progress(f"reading the signatures of {root}", len(known), unit="files") as bar:
        for path in known:
            bar.advance()
            named = module_name(path, root, base)
            data = files.read(path)
            if named is None or data is None:
                continue
            shown = path.removeprefix(strip)
            if len(data) > _LARGEST:
                why = f"{shown} has {len(data)} bytes"
                found[named[0]] = Module(file=shown, package=named[1], open=why, hosts=why)
            else:
                found[named[0]] = summarize(data, shown, named[0], package=named[1], vendored=vendored)
    return found


def module_name(path: str, root: str, base: str) -> tuple[str, bool] | None:
    """The dotted name of a file and whether it is a package's `__init__`; None for no module."""
    inner = path.removeprefix(base).lstrip("/")
    stem = re.sub(r"\.pyi?$", "", inner)
    if not stem:
        return root, False
    parts = stem.split("/")
    if not all(part.isidentifier() for part in parts):
        return None
    if parts[-1] == "__init__":
        return ".".join([root, *parts[:-1]]), True
    return ".".join([root, *parts]), False


def _compiled(paths: Iterable[str], root: str, base: str) -> dict[str, Module]:
    """Compiled extensions: modules that exist and whose names cannot be read."""
    found: dict[str, Module] = {}
    for path in paths:
        if not path.endswith((".so", ".pyd")):
            continue
        folder, _, name = path.removeprefix(base).lstrip("/").rpartition("/")
        stem = name.split(".")[0]
        if stem.isidentifier():
            dotted = ".".join([root, *filter(None, folder.split("/")), stem])
            found[dotted] = Module(file=path, open=f"{name} is compiled")
    return found
