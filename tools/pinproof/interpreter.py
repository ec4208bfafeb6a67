"""Where an interpreter keeps a package, asked of the interpreter itself; the package is not imported."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from pinproof.environment import without_secrets
from pinproof.errors import InputError
from pinproof.tree import Tree, open_tree

_LIMIT_S = 60
# find_spec of a top-level name walks sys.path (and the finders of editable installs) and imports nothing.
_ASK = """
import importlib.util, json, sys
sys.path[:] = [entry for entry in sys.path if entry]
spec = importlib.util.find_spec(sys.argv[1])
print(json.dumps(list(spec.submodule_search_locations or []) if spec else []))
"""


def installed_tree(python: str | None = None, *, package: str = "vllm") -> Tree:
    """The package that an interpreter would import.

    Args:
        python: the interpreter, a path or a name on PATH. By default that of the active virtual or conda
            environment, else the first python3 or python on PATH.
        package: the import package.

    Raises:
        InputError: there is no such interpreter, or it has no such package.
    """
    program = _program(python)
    places = _ask(program, package)
    if not places:
        raise InputError(
            f"{program} has no {package}", hint="name the interpreter that runs it: --python /path/to/python"
        )
    return open_tree(Path(places[0]).parent, package=package)


def _program(python: str | None) -> str:
    if python is not None:
        found = shutil.which(python)
        if found is None:
            raise InputError(f"{python} is not a program that can be run")
        return str(Path(found).absolute())
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        candidate = Path(os.environ.get(variable) or "/nonexistent") / "bin/python"
        if candidate.is_file():
            return str(candidate)
    found = shutil.which("python3") or shutil.which("python")
    if found is None:
        raise InputError("no python3 on PATH", hint="name it: --python /path/to/python")
    return found


def _ask(program: str, package: str) -> list[str]:
    try:
        done = subprocess.run(
            [program, "-c", _ASK, package], capture_output=True, check=False, cwd="/", timeout=_LIMIT_S,
            env=without_secrets(os.environ), stdin=subprocess.DEVNULL,
        )  # fmt: skip
        places = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError) as error:
        raise InputError(f"{program} does not run as a Python ({type(error).__name__})") from error
    if not isinstance(places, list):
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise InputError(f"{program} cannot say where {package} is: {last[0][:200]}")
    return [str(place) for place in places]
