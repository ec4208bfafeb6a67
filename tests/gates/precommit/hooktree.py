"""A small tree with hooks of its own: everything that vLLM's has, without an environment to install."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pinproof.patchset.patchfile import Patch
from pinproof.tree import Tree, open_tree

from tests.gates.patches import make_patch

BEFORE, AFTER = b"x = 1\n", b"x = 2\n"
MESSAGE = "[Bugfix] Set x to two\n\nBecause one is not enough."


def hook(name: str, script: str, **more: Any) -> dict[str, Any]:
    """A system hook that runs a shell script; the touched files are its arguments."""
    return {
        "id": name,
        "name": name,
        "language": "system",
        "entry": "bash",
        "args": ["-c", script, name],
        **more,
    }


def make_hook_tree(root: Path, *hooks: dict[str, Any], raw: str | None = None, **settings: Any) -> Tree:
    """A plain tree whose file vllm/a.py the patch below changes, with these local hooks."""
    config = {"repos": [{"repo": "local", "hooks": list(hooks)}], **settings}
    files = {
        "vllm/__init__.py": b"",
        "vllm/a.py": BEFORE,
        "docs/index.md": b"# Title\n",
        ".gitignore": b"*.log\n",
        # JSON is YAML
        ".pre-commit-config.yaml": (json.dumps(config) if raw is None else raw).encode(),
    }
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return open_tree(root)


def the_patch(message: str = MESSAGE) -> Patch:
    """Sets x to 2 in vllm/a.py."""
    return make_patch({"vllm/a.py": BEFORE}, {"vllm/a.py": AFTER}, message)


def snapshot(root: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
