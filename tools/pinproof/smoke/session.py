"""One smoke run's surroundings: the interpreter's facts, this run's folder, the laid-out trees."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pinproof.errors import CannotCheck
from pinproof.paths import cache_dir, file_lock
from pinproof.smoke import layout
from pinproof.smoke.process import Child, run_child
from pinproof.smoke.record import sha256
from pinproof.tree import Tree

MACHINE_TIMEOUT_S = 120.0
WARM_TIMEOUT_S = 120.0


@dataclass
class Session:
    """Everything the rungs share.

    Attributes:
        tree: the tree under test.
        python: the interpreter with torch and vLLM's dependencies.
        base: this tree's folder; the laid-out tree stays there, so that a second run imports quickly.
        nproc: processes (GPUs) of the kernel and model rungs.
        machine: what the interpreter has (child/machine.py).
        twin: the tree with the patch the other way round, None without a patch.
        limit_s: how long one child may run, None for what its rung allows.
        watch: line ranges by file that a child reports on when it runs them: what the patch changes.
        lines: the lines of these that were run so far.
        imports: what the children import, last the module that takes longest to reach.
        warm: how many modules were compiled ahead of the first child (child/warm.py), None before it.
    """

    tree: Tree
    python: str
    base: Path
    nproc: int
    machine: dict[str, Any]
    twin: Tree | None = None
    limit_s: float | None = None
    watch: dict[str, list[list[int]]] = field(default_factory=dict)
    lines: dict[str, set[int]] = field(default_factory=dict)
    imports: tuple[str, ...] = ()
    warm: dict[str, Any] | None = None
    _laid: tuple[int, bool] | None = None

    @property
    def gpu(self) -> dict[str, Any] | None:
        """The GPU as the record keeps it, None when torch sees none."""
        return self.machine.get("gpu")

    def lay(self, tree: Tree, *, compiled: bool, more: Mapping[str, bytes] | None = None) -> Path:
        """The folder from which `tree` can be imported; one folder for all, so that bytecode is shared.

        Args:
            tree: the tree under test or its twin.
            compiled: whether the rung needs vLLM's compiled parts.
            more: files by path that a tree which was not built lacks.

        Raises:
            CannotCheck: it needs them, and neither the tree nor the interpreter has them.
        """
        dest = self.base / "tree"
        if self._laid != (id(tree), compiled):
            below = self._compiled_vllm(tree) if compiled else None
            self._laid = None
            layout.lay(dest, tree, below=below, more=more)
            self._laid = (id(tree), compiled)
        return dest

    def _compiled_vllm(self, tree: Tree) -> Path | None:
        """The built vLLM to lay below a tree that was not built itself."""
        if layout.is_compiled(tree.disk_root()):
            return None
        installed = self.machine.get("vllm_dir")
        root = Path(installed).parent if installed else None
        if root is None or not layout.is_compiled(root):
            raise CannotCheck(
                f"{tree.name} is not built and the interpreter has no built vLLM",
                hint=f"PYTHON -m pip install vllm=={tree.version or 'VERSION'}",
            )
        version = self.machine["versions"].get("vllm")
        if tree.version is not None and version != tree.version:
            raise CannotCheck(
                f"{tree.name} is vLLM {tree.version}, the interpreter's built vLLM is {version}",
                hint=f"PYTHON -m pip install vllm=={tree.version}",
            )
        return root

    def run(self, module: str, tree: Path | None, *, timeout_s: float, nproc: int = 1) -> Child:
        """Run one child on a laid-out tree, and keep which of the watched lines it ran."""
        name = module.rpartition(".")[2]
        if tree is not None and self.warm is None:
            self.warm = self._warm_up(tree)
        child = run_child(
            self.python, module, base=self.base, tree=tree, nproc=nproc, timeout_s=self.limit_s or timeout_s,
            label=f"smoke: {name}", more={"watch": self.watch},
        )  # fmt: skip
        for event in child.all("ran lines"):
            for path, lines in event["lines"].items():
                self.lines.setdefault(path, set()).update(lines)
        return child

    def _warm_up(self, tree: Path) -> dict[str, Any]:
        """Have what the children import compiled on all cores; a failure of this costs time, nothing else."""
        child = run_child(
            self.python, "child.warm", base=self.base, tree=tree, timeout_s=WARM_TIMEOUT_S,
            label="smoke: bytecode", more={"imports": list(self.imports)},
        )  # fmt: skip
        found = child.first("warm") or {"modules": 0}
        return {key: value for key, value in found.items() if key not in ("event", "rank")}


@contextlib.contextmanager
def open_session(
    tree: Tree, python: str, *, nproc: int = 1, twin: Tree | None = None, limit_s: float | None = None
) -> Iterator[Session]:
    """A session with its folder locked: a second run on the same tree is refused, not mixed up.

    Raises:
        Refused: another run is at work on this tree.
        CannotCheck: the interpreter cannot be started.
    """
    key = sha256(f"{tree.disk_root().resolve()}\0{python}".encode())[:16]
    base = cache_dir("smoke", key)
    with file_lock(base / "lock", busy=f"another smoke run is at work on {tree.name}"):
        session = Session(tree, python, base, nproc, {}, twin, limit_s)
        child = run_child(
            python, "child.machine", base=base, tree=None, timeout_s=MACHINE_TIMEOUT_S, label="smoke"
        )
        found = child.first("found")
        if found is None:
            raise CannotCheck(
                f"{python} cannot be asked what it has: {child.tail(1)}", hint="give --python with torch"
            )
        session.machine = found
        yield session
