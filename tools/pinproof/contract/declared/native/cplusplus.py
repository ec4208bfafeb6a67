"""What C++ sources register for Python: pybind11 `m.def` and TORCH_LIBRARY, read as tokens."""

from __future__ import annotations

import re
from typing import NamedTuple

from pinproof.contract.declared.native import schemas
from pinproof.contract.declared.summary import Alias, Entry, Function
from pinproof.contract.model import Parameter

# Each alternative ends without backtracking (an unterminated comment or raw string takes the rest), so
# that the time is linear in the file whatever it holds.
_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*(?:.*?\*/|.*)|(?m:^)[ \t]*\#(?:\\\r?\n|[^\n])*)
    |(?P<raw>R"(?P<mark>[^()\\\s"]{0,16})\((?:.*?\)(?P=mark)"|.*))
    |(?P<string>"(?:[^"\\\n]|\\.)*"?)
    |(?P<char>'(?:[^'\\\n]|\\.)*'?)
    |(?P<number>\d(?:[\w.]|'\w)*)
    |(?P<word>[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_MODULES = {"py::module", "py::module_", "pybind11::module", "pybind11::module_"}
_ARG = {"py::arg", "pybind11::arg"}
# What may stand behind the function without being a parameter (pybind11/attr.h).
_EXTRAS = re.compile(r"(?:py|pybind11)::(?:return_value_policy::\w+|call_guard|keep_alive|doc)")


class Token(NamedTuple):
    kind: str
    text: str
    line: int


class Registered(NamedTuple):
    """What one file registers: names with their entries, by "" (pybind11) or operator namespace.

    An empty tuple of entries: the name is there, but what it takes cannot be known. `unreadable` holds
    the places of which nothing can be said, because a name is not written as a plain string.
    """

    names: dict[str, dict[str, tuple[Entry, ...]]]
    unreadable: frozenset[str]


def tokens(text: str) -> list[Token]:
    """The tokens of a C++ source; strings without their quotes, no comments, no preprocessor lines."""
    found: list[Token] = []
    line = 1
    for match in _TOKEN.finditer(text):
        kind, value = match.lastgroup or "", match[0]
        if kind == "string":
            found.append(Token("string", _unescaped(value), line))
        elif match["raw"] is not None:
            ends = len(match["mark"])
            found.append(Token("string", value[3 + ends : -2 - ends], line))
        elif kind != "skip":
            found.append(Token(kind, value, line))
        line += value.count("\n")
    return found


def _unescaped(quoted: str) -> str:
    text = re.sub(r"\\\r?\n", "", quoted.strip('"'))
    return re.sub(r"\\(.)", r"\1", text)


def read(text: str) -> Registered:
    """What one source registers."""
    return _Reader(tokens(text)).read()


class _Reader:
    """Goes through the tokens once, knowing which variable stands for which module or namespace."""

    def __init__(self, found: list[Token]) -> None:
        self.tokens = found
        self.variables: dict[str, str] = {}
        self.names: dict[str, dict[str, tuple[Entry, ...]]] = {}
        self.unreadable: set[str] = set()

    def read(self) -> Registered:
        at = 0
        while at < len(self.tokens):
            at = self._step(at)
        return Registered(self.names, frozenset(self.unreadable))

    def _step(self, at: int) -> int:
        token = self.tokens[at]
        if token.kind != "word":
            return at + 1
        if token.text in _MODULES or token.text == "torch::Library":
            self._parameter(at + 1, "" if token.text in _MODULES else None)
        elif token.text == "PYBIND11_MODULE" or "TORCH_LIBRARY" in token.text:
            self._macro(at)
        elif token.text in self.variables and self._is(at + 1, ".") and not self._is(at - 1, ".", ">"):
            return self._member(at, self.variables[token.text])
        return at + 1

    def _is(self, at: int, *texts: str) -> bool:
        return 0 <= at < len(self.tokens) and self.tokens[at].text in texts

    def _parameter(self, at: int, place: str | None) -> None:
        """`py::module_& m`: `m` is a module from here on; of `torch::Library& m` no namespace is known."""
        at += self._is(at, "&")
        if at < len(self.tokens) and self.tokens[at].kind == "word":
            self._set(self.tokens[at].text, place)

    def _set(self, variable: str, place: str | None) -> None:
        self.variables.pop(variable, None)
        if place is not None:
            self.variables[variable] = place

    def _macro(self, at: int) -> None:
        """`PYBIND11_MODULE(name, m)`, `TORCH_LIBRARY(namespace, m)` and its variants."""
        parts = [t.text for t in self.tokens[at + 1 : at + 6]]
        if len(parts) == 5 and (parts[0], parts[2], parts[4]) == ("(", ",", ")"):
            plain = self.tokens[at].text.endswith(("TORCH_LIBRARY", "TORCH_LIBRARY_FRAGMENT"))
            pybind = self.tokens[at].text == "PYBIND11_MODULE"
            self._set(parts[3], "" if pybind else parts[1] if plain else None)

    def _member(self, at: int, place: str) -> int:
        method = self.tokens[at + 2].text if at + 2 < len(self.tokens) else ""
        if method not in ("def", "attr") or not self._is(at + 3, "("):
            return at + 1
        pieces, end = self._arguments(at + 4)
        if pieces is None:
            self.unreadable.add(place)
        elif method == "attr":
            self._attribute(place, pieces, end)
        else:
            self._def(place, pieces, self.tokens[at].line)
        return end

    def _arguments(self, start: int) -> tuple[list[list[Token]] | None, int]:
        """The arguments of a call whose parenthesis was just opened, and the place behind its end."""
        depth, pieces = 0, [list[Token]()]
        for at in range(start, len(self.tokens)):
            token = self.tokens[at]
            if token.kind == "other" and token.text in _CLOSE:
                if not depth:
                    return pieces, at + 1
                depth -= 1
            depth += token.kind == "other" and token.text in _OPEN
            if token.kind == "other" and token.text == "," and not depth:
                pieces.append([])
            else:
                pieces[-1].append(token)
        return None, len(self.tokens)

    def _def(self, place: str, pieces: list[list[Token]], line: int) -> None:
        text = _literal(pieces[0])
        if text is None:
            self.unreadable.add(place)
        elif place:
            found = schemas.parse(text)
            if found is None:
                self._add(place, text, None)
            else:
                entry = None if found.parameters is None else Function(line, found.parameters)
                self._add(found.namespace or place, found.name, entry)
        else:
            parameters = _parameters(pieces[2:])
            self._add(place, text, None if parameters is None else Function(line, parameters))

    def _attribute(self, place: str, pieces: list[list[Token]], end: int) -> None:
        """`m.attr("x") = m.attr("y");` gives `y` another name."""
        name = _literal(pieces[0])
        if name is None or not self._is(end, "=") or self._is(end + 1, "="):
            return
        right = self.tokens[end + 1 : end + 8]
        shape = [t.text if t.kind != "string" else "" for t in right]
        if self.variables.get(shape[0] if shape else "") == place and shape[1:] == [
            ".",
            "attr",
            "(",
            "",
            ")",
            ";",
        ]:
            self._add(place, name, Alias(right[4].text, right[0].line))
        else:
            self._add(place, name, None)

    def _add(self, place: str, name: str, entry: Entry | None) -> None:
        """One more overload; one that cannot be read makes the name unknown, whatever the others say."""
        names = self.names.setdefault(place, {})
        before = names.get(name)
        names[name] = () if entry is None or before == () else (*(before or ()), entry)


def _literal(piece: list[Token]) -> str | None:
    """The text of adjacent string literals, None for anything else."""
    plain = piece and all(t.kind == "string" for t in piece)
    return "".join(t.text for t in piece) if plain else None


def _parameters(extras: list[list[Token]]) -> tuple[Parameter, ...] | None:
    """The parameters that the arguments behind the function name; None when they do not name them all.

    pybind11 asserts that either all parameters are annotated or none (pybind11.h, expected_num_args).
    """
    found: list[Parameter] = []
    kind = "positional-or-keyword"
    for piece in extras:
        words = [t.text for t in piece]
        if words in (["py::kw_only", "(", ")"], ["pybind11::kw_only", "(", ")"]):
            kind = "keyword-only"
        elif words in (["py::pos_only", "(", ")"], ["pybind11::pos_only", "(", ")"]):
            found = [Parameter(p.name, "positional-only", p.default) for p in found]
        elif (named := _named(piece)) is not None:
            found.append(Parameter(named, kind, "=" in words))  # type: ignore[arg-type]
        elif _literal(piece) is None and not (words and _EXTRAS.fullmatch(words[0])):
            return None
    names = {p.name for p in found}
    return tuple(found) if found and len(names) == len(found) else None


def _named(piece: list[Token]) -> str | None:
    """The name in `py::arg("x")`, `py::arg("x").noconvert() = 1`, `"x"_a = 1`."""
    texts, kinds = [t.text for t in piece], [t.kind for t in piece]
    if len(piece) > 3 and texts[0] in _ARG and texts[1] == "(" and kinds[2] == "string" and texts[3] == ")":
        name, rest = texts[2], texts[4:]
    elif kinds[:1] == ["string"] and texts[1:2] == ["_a"]:
        name, rest = texts[0], texts[2:]
    else:
        return None
    return name if name.isidentifier() and (not rest or rest[0] in ("=", ".")) else None
