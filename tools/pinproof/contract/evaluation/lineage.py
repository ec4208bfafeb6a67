"""The classes of the tree that a class of the tree inherits from."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from pinproof.contract.evaluation.values import EngineClass

if TYPE_CHECKING:
    from pinproof.contract.evaluation.evaluator import Evaluator

# How many bases of a class of the tree are looked through.
_MOST_BASES = 12


def lineage(evaluator: Evaluator, value: EngineClass) -> list[EngineClass]:
    """A class of the tree and those of its bases that are the tree's too, nearest first."""
    found = [value]
    for cls in found:
        for base in cls.node.bases:
            if len(found) > _MOST_BASES:
                return found
            inner = base.value if isinstance(base, ast.Subscript) else base
            values = evaluator.value(inner, evaluator.at(cls.scope.parent or cls.scope))
            found.extend(
                v for v in values if isinstance(v, EngineClass) and all(v.node is not f.node for f in found)
            )
    return found
