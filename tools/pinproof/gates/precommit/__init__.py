"""The check gate: a tree's own pre-commit hooks, run by the real pre-commit on the touched files."""

from pinproof.gates.precommit.gate import precommit_gate

__all__ = ["precommit_gate"]
