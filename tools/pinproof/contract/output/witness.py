"""A witness: a small program that dies as the call will, made of the signature and the call as written.

It needs neither the library nor torch: the signature becomes a stub, whose body is empty, and the call stands
below it. Arguments that are plain names, attributes or constants stay as they are written; every other
expression of the tree is left out (`_`), so that nothing of an untrusted tree is evaluated.
"""

from __future__ import annotations

import ast
import keyword
import subprocess
import sys

import msgspec

from pinproof.contract.model import CallCheck, Parameter, Signature
from pinproof.contract.output.pyerror import python_error, qualified
from pinproof.tree import Tree

_TIMEOUT_S = 20.0
_PLAIN = (str, int, float, bool, bytes, type(None))
_LONGEST = 60

_HEAD = """\
class _Anything:
    def __getattr__(self, name):
        return self


_ = _Anything()
"""


class Witnessed(msgspec.Struct, frozen=True, kw_only=True):
    """One witness as it was run: the program, and the error it ended with (None: it ran through)."""

    file: str
    line: int
    callee: str
    program: str
    error: str | None
    python: str


def program(call: CallCheck, tree: Tree) -> str | None:
    """The witness of one call.

    Args:
        call: a call that was bound to a signature, whether it fits or not.
        tree: the tree it stands in.

    Returns:
        A program for `python -I`; None where there is no signature to make a stub of (a missing name or
        module, an open call), or the call cannot be found in the file.
    """
    signature = call.signature
    node = _node(call, tree)
    if signature is None or node is None or not _spellable(signature.parameters):
        return None
    place = signature.place
    about = (
        f"# {call.callee}() at {call.file}:{call.line}, against {place.source} ({place.file}:{place.line})."
    )
    arguments = _arguments(node, call)
    if arguments is None:
        return None
    given = "".join(f"    {text},\n" for text in arguments)
    names = sorted({root for text in arguments for root in _roots(text)} - {"_"})
    bound = "".join(f"{name} = _\n" for name in names)
    stub, target = _stub(signature)
    called = f"{target}(\n{given})" if given else f"{target}()"
    return f"{about}\n{_HEAD}{bound}\n\n{stub}\n\n{called}\n"


def run(call: CallCheck, tree: Tree) -> Witnessed | None:
    """Run a call's witness in this interpreter, alone in a process; None where there is none."""
    text = program(call, tree)
    if text is None:
        return None
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-"], input=text.encode(), capture_output=True, timeout=_TIMEOUT_S,
        check=False, env={},
    )  # fmt: skip
    error = done.stderr.decode(errors="replace").strip().rpartition("\n")[2] if done.returncode else None
    version = ".".join(map(str, sys.version_info[:3]))
    return Witnessed(
        file=call.file, line=call.line, callee=call.callee, program=text, error=error, python=version
    )


def failing(call: CallCheck, tree: Tree) -> tuple[Witnessed | None, str]:
    """The witness of a failing call, run, and what came of it in one line.

    Returns:
        None where there is none, or where it does not raise the very error that was found: a call that
        reaches the library through functions of the tree fails there, not where it stands.
    """
    expected = python_error(call)
    made = run(call, tree)
    if made is None:
        return None, f"no witness can be made of {call.callee}() at {call.file}:{call.line}: {_why(call)}"
    if made.error != expected:
        ended, how = made.error or "no error", call.how or "its own name"
        return None, (
            f"the call at {call.file}:{call.line} does not raise {expected!r} where it stands "
            f"(it ended with {ended}); the library is reached by {how}"
        )
    return made, f"{call.file}:{call.line} raises {expected}"


def _why(call: CallCheck) -> str:
    if call.signature is None:
        return "there is no signature to make a stub of"
    return "its arguments cannot be written down"


def _node(call: CallCheck, tree: Tree) -> ast.Call | None:
    """The call's own syntax: the one that starts at its line and column, the outermost of a chain last."""
    try:
        parsed = ast.parse(tree.read(call.file) or b"")
    except (SyntaxError, ValueError, RecursionError):
        return None
    found = [
        node
        for node in ast.walk(parsed)
        if isinstance(node, ast.Call) and (node.lineno, node.col_offset + 1) == (call.line, call.col)
    ]
    name = call.callee.rpartition(".")[2]
    named = [node for node in found if _called(node) == name]
    return next(iter(named or found), None)


def _called(node: ast.Call) -> str | None:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else None


def _arguments(node: ast.Call, call: CallCheck) -> list[str] | None:
    """The arguments as text; a mapping that was followed becomes the keywords it holds."""
    texts = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            return None  # how many it passes is known to the gate alone
        texts.append(_plain(argument))
    explicit = {k.arg for k in node.keywords if k.arg is not None}
    for passed in node.keywords:
        if passed.arg is not None:
            texts.append(f"{passed.arg}={_plain(passed.value)}")
    if any(k.arg is None for k in node.keywords):
        texts += [f"{name}=_" for name in call.keywords if name not in explicit]
    return texts


def _plain(node: ast.expr) -> str:
    """An expression as written where it is a name, an attribute of one, or a short constant; else `_`."""
    inner = node
    while isinstance(inner, ast.Attribute) and not inner.attr.startswith("__"):
        inner = inner.value
    if isinstance(inner, ast.Name) and not inner.id.startswith("__"):
        return ast.unparse(node)
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, _PLAIN)
        and len(repr(node.value)) <= _LONGEST
    ):
        return repr(node.value)
    return "_"


def _roots(text: str) -> set[str]:
    """The names an argument's text begins with: each is bound to a stand-in."""
    parsed = ast.parse(text if "=" not in text.split(" ", 1)[0] else f"_({text})", mode="eval")
    return {node.id for node in ast.walk(parsed) if isinstance(node, ast.Name)}


def _spellable(parameters: tuple[Parameter, ...]) -> bool:
    return all(p.name.isidentifier() and not keyword.iskeyword(p.name) for p in parameters)


def _stub(signature: Signature) -> tuple[str, str]:
    """The definition, and the expression that is called."""
    owner, _, name = qualified(signature).rpartition(".")
    parameters = list(_spelled(signature.parameters))
    if not owner:
        return _def(name, parameters), name
    body = "\n".join(f"    {line}" for line in _def(name, ["self", *parameters]).splitlines())
    return f"class {owner}:\n{body}", owner if name == "__init__" else f"object.__new__({owner}).{name}"


def _def(name: str, parameters: list[str]) -> str:
    inside = "".join(f"    {text},\n" for text in parameters if text)
    return f"def {name}(\n{inside}):\n    pass" if inside else f"def {name}():\n    pass"


def _spelled(parameters: tuple[Parameter, ...]) -> list[str]:
    """The parameters with their kinds; a required one may follow one with a default only by keyword."""
    found: list[str] = []
    kinds = [p.kind for p in parameters]
    for index, parameter in enumerate(parameters):
        if parameter.kind == "keyword-only" and not {"keyword-only", "var-positional"} & set(kinds[:index]):
            found.append("*")
        mark = {"var-positional": "*", "var-keyword": "**"}.get(parameter.kind, "")
        found.append(f"{mark}{parameter.name}{'=None' if parameter.default else ''}")
        if parameter.kind == "positional-only" and kinds[index + 1 : index + 2] != ["positional-only"]:
            found.append("/")
    return found
