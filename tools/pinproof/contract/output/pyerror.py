"""What Python says when a failing call runs, word for word (CPython 3.10 to 3.14)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pinproof.contract.model import CallCheck, Drift, Signature


def python_error(call: CallCheck) -> str:
    """The exception that a failing call raises first: its type and message.

    A call with several drifts raises one error only: CPython looks at keywords before it counts.
    """
    drift = min(call.drifts, key=lambda drift: _ORDER.get(drift.kind, len(_ORDER)))
    return _ERRORS.get(drift.kind, _other)(call, drift)


_ORDER = {"missing-module": 0, "missing-attribute": 1, "unexpected-keyword": 2, "too-many-positional": 3,
          "missing-required": 4}  # fmt: skip


def qualified(signature: Signature) -> str:
    """The name by which Python's errors call it: with its class for a method or a class that is made."""
    parts = signature.name.split(".")
    if signature.of == "class":
        return f"{parts[-1]}.__init__"
    return ".".join(parts[-2:]) if signature.of == "method" else parts[-1]


def _name(call: CallCheck) -> str:
    return qualified(call.signature) if call.signature else call.callee.rsplit(".", 1)[-1]


def _keyword(call: CallCheck, drift: Drift) -> str:
    if drift.twice:
        return f"TypeError: {_name(call)}() got multiple values for argument '{drift.names[0]}'"
    return f"TypeError: {_name(call)}() got an unexpected keyword argument '{drift.names[0]}'"


def _missing(call: CallCheck, drift: Drift) -> str:
    """Python reports what can be passed by position first, and keyword-only parameters apart."""
    kinds = {p.name: p.kind for p in call.signature.parameters} if call.signature else {}
    positional = [name for name in drift.names if kinds.get(name) != "keyword-only"]
    names, kind = (positional, "positional") if positional else (list(drift.names), "keyword-only")
    many = "s" * (len(names) != 1)
    return f"TypeError: {_name(call)}() missing {len(names)} required {kind} argument{many}: {_listed(names)}"


def _listed(names: Sequence[str]) -> str:
    """`'a'`, `'a' and 'b'`, `'a', 'b', and 'c'`."""
    quoted = [f"'{name}'" for name in names]
    if len(quoted) <= 2:
        return " and ".join(quoted)
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"


def _too_many(call: CallCheck, drift: Drift) -> str:
    parameters = call.signature.parameters if call.signature else ()
    takes = [p for p in parameters if p.kind in ("positional-only", "positional-or-keyword")]
    mine = int(call.signature is not None and call.signature.of != "function")  # Python counts self
    most = len(takes) + mine
    least = sum(1 for p in takes if not p.default) + mine
    counts = f"from {least} to {most}" if least != most else f"{most}"
    plural = "s" * (most != 1 or least != most)
    given = (drift.given or 0) + mine
    return (
        f"TypeError: {_name(call)}() takes {counts} positional argument{plural} "
        f"but {given} {'was' if given == 1 else 'were'} given"
    )


def _attribute(call: CallCheck, drift: Drift) -> str:
    owner, _, name = call.callee.rpartition(".")
    return f"AttributeError: module '{owner}' has no attribute '{name}'"


def _module(call: CallCheck, drift: Drift) -> str:
    return f"ModuleNotFoundError: No module named '{call.callee}'"


def _other(call: CallCheck, drift: Drift) -> str:
    return f"{drift.kind}: {', '.join(drift.names)}"


_ERRORS: dict[str, Callable[[CallCheck, Drift], str]] = {
    "unexpected-keyword": _keyword, "missing-required": _missing, "too-many-positional": _too_many,
    "missing-attribute": _attribute, "missing-module": _module,
}  # fmt: skip
