"""The parameters of a `def` or lambda."""

from __future__ import annotations

import ast

from pinproof.contract.model import Parameter


def parameters(arguments: ast.arguments) -> tuple[Parameter, ...]:
    """The parameters of a `def` or lambda, in order."""
    plain = [*arguments.posonlyargs, *arguments.args]
    first_default = len(plain) - len(arguments.defaults)
    found = [
        Parameter(
            arg.arg,
            "positional-only" if index < len(arguments.posonlyargs) else "positional-or-keyword",
            index >= first_default,
        )
        for index, arg in enumerate(plain)
    ]
    if arguments.vararg:
        found.append(Parameter(arguments.vararg.arg, "var-positional"))
    found.extend(
        Parameter(arg.arg, "keyword-only", default is not None)
        for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    )
    if arguments.kwarg:
        found.append(Parameter(arguments.kwarg.arg, "var-keyword"))
    return tuple(found)
