"""The compile gate: touched Python files must compile here and at the lowest Python the tree supports."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from pinproof.errors import CannotCheck, InputError
from pinproof.gate import GateResult
from pinproof.tree import Tree, metadata_path

Version = tuple[int, int]

# Runs in a bare interpreter of any Python 3: what py_compile does, less the .pyc. A child, because
# a hostile source can take the compiler down (deep nesting), and -I, so that no tree is importable.
_COMPILE = """
import json, sys, warnings
warnings.simplefilter("ignore")
found = []
for path, text in json.load(sys.stdin).items():
    try:
        compile(text.encode("latin-1"), path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        found.append({"path": path, "line": getattr(error, "lineno", None) or 1,
                      "message": getattr(error, "msg", None) or str(error) or type(error).__name__})
json.dump(found, sys.stdout)
"""
_LIMIT_S = 60.0
# Compiling one literal takes 650 times its size in memory; vLLM's largest Python file has 0.33 MB.
_LARGEST = 1 << 20


class SyntaxFault(msgspec.Struct, frozen=True):
    """One file that does not compile: where, what the checker said, and at which Python version."""

    path: str
    line: int
    message: str
    python: str


def compile_gate(tree: Tree, paths: Sequence[str]) -> GateResult:
    """Compile the Python files among `paths` under this Python and the tree's lowest supported one.

    Nothing is imported, and nothing (no .pyc either) is written.

    Args:
        tree: the tree with the patch applied, e.g. `tree.with_changes(...)`.
        paths: files of the tree; leave out those that the patch deletes.

    Returns:
        pass or fail; error when a file is not there or a checker broke. `details` holds `files`,
        `faults` (path, line, message, python) and `checked`: each Python version and by what it
        was checked (an interpreter, or ruff where that interpreter is not installed).
    """
    started = time.monotonic()
    sources = {path: tree.read(path) for path in paths if path.endswith((".py", ".pyi"))}
    present = {path: source for path, source in sources.items() if source is not None}
    details: dict[str, Any] = {"files": sorted(sources), "faults": [], "checked": []}
    outcome, reason = "pass", None
    if len(present) < len(sources):
        gone = sorted(sources.keys() - present.keys())
        outcome, reason = "error", f"not in {tree.name}: {', '.join(gone)}"
    elif too_large := sorted(path for path, source in present.items() if len(source) > _LARGEST):
        outcome, reason = "error", f"larger than {_LARGEST >> 20} MiB, not compiled: {', '.join(too_large)}"
    elif present:
        try:
            faults, checked = _check(present, lowest_python(tree))
            details.update(faults=[msgspec.to_builtins(fault) for fault in faults], checked=checked)
            outcome = "fail" if faults else "pass"
        except CannotCheck as error:
            outcome, reason = "error", error.message
    return GateResult(
        gate="compile",
        outcome=outcome,  # type: ignore[arg-type]
        summary=_summary(details) if reason is None else reason,
        reason=reason,
        duration_s=round(time.monotonic() - started, 3),
        details=details,
    )


def lowest_python(tree: Tree) -> Version | None:
    """The lowest (3, N) that the tree's requires-python admits; None when the tree states none.

    Read from `[project] requires-python` in pyproject.toml, else Requires-Python in the core metadata.

    Raises:
        InputError: the tree states one that is not a version specifier.
    """
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    stated = _requires_python(tree)
    if stated is None:
        return None
    try:
        wanted = SpecifierSet(stated)
    except InvalidSpecifier as error:
        raise InputError(f"{tree.name}: requires-python {stated!r} is not a version specifier") from error
    # The highest patch release of a minor version: ">=3.10.2" admits some 3.10.
    return next(((3, minor) for minor in range(100) if wanted.contains(f"3.{minor}.999")), None)


def _requires_python(tree: Tree) -> str | None:
    from pinproof.toml import tomllib

    try:
        project = tomllib.loads(tree.read_text("pyproject.toml") or "").get("project", {})
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{tree.name}: pyproject.toml is no TOML: {error}") from error
    stated = project.get("requires-python") if isinstance(project, dict) else None
    if isinstance(stated, str):
        return stated
    place = metadata_path(tree)
    head = (tree.read_text(place) or "") if place else ""
    lines = head.partition("\n\n")[0].splitlines()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("Requires-Python:")), None
    )


def _check(
    sources: dict[str, bytes], lowest: Version | None
) -> tuple[list[SyntaxFault], list[dict[str, str]]]:
    """The faults, and per Python version by what it was checked."""
    here = sys.version_info[:2]
    # A tree for newer Pythons only must not be judged by this one.
    versions = [here] if lowest is None or lowest == here else [lowest]
    if lowest is not None and lowest < here:
        versions.append(here)
    faults: list[SyntaxFault] = []
    checked: list[dict[str, str]] = []
    for version in versions:
        python = sys.executable if version == here else _interpreter(version)
        name = f"{version[0]}.{version[1]}"
        found = _by_interpreter(python, sources) if python else _by_ruff(version, sources)
        faults += [SyntaxFault(python=name, **fault) for fault in found]
        checked.append({"python": name, "by": "interpreter" if python else "ruff"})
    return faults, checked


def _interpreter(version: Version) -> str | None:
    """An interpreter of exactly this version that really runs (a pyenv shim may exist and not run)."""
    python = shutil.which(f"python{version[0]}.{version[1]}")
    if python is None:
        return None
    probe = [python, "-I", "-c", "import sys; print(sys.version_info[:2])"]
    try:
        done = subprocess.run(probe, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return python if done.stdout.strip() == str(version) else None


def _by_interpreter(python: str, sources: dict[str, bytes]) -> list[dict[str, Any]]:
    text = json.dumps({path: source.decode("latin-1") for path, source in sources.items()})
    done = _run([python, "-I", "-c", _COMPILE], text)
    if done.returncode:
        raise CannotCheck(f"{python} died compiling {', '.join(sources)} (exit {done.returncode})")
    return list(json.loads(done.stdout))


def _by_ruff(version: Version, sources: dict[str, bytes]) -> list[dict[str, Any]]:
    """Syntax errors at a Python version by ruff's parser, which knows each version's grammar."""
    found: list[dict[str, Any]] = []
    for path, source in sources.items():
        command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "E9",
                   "--ignore-noqa", "--target-version", f"py{version[0]}{version[1]}",
                   "--output-format", "json", "--stdin-filename", path, "-"]  # fmt: skip
        done = _run(command, source.decode("utf-8", errors="replace"))
        if done.returncode not in (0, 1):
            raise CannotCheck(f"ruff could not check {path}: {done.stderr.strip()[:200]}")
        found += [{"path": path, "line": item["location"]["row"], "message": item["message"]}
                  for item in json.loads(done.stdout)]  # fmt: skip
    return found


def _run(command: list[str], text: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise CannotCheck(f"{command[0]} took over {_LIMIT_S:.0f} s to compile the touched files") from error


def _summary(details: dict[str, Any]) -> str:
    files, faults, checked = details["files"], details["faults"], details["checked"]
    if not files:
        return "no Python file among the touched ones: nothing to compile"
    if faults:
        first = faults[0]
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        return f"{first['path']}:{first['line']}: {first['message']} (Python {first['python']}){more}"
    by = " and ".join(f"{item['python']} ({item['by']})" for item in checked)
    count = "1 file compiles" if len(files) == 1 else f"{len(files)} files compile"
    return f"{count} under Python {by}"
