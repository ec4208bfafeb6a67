"""What one `class` declares: its fields, methods and what is set on it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pinproof.contract.declared.functions import decorator_name, function, is_overload
from pinproof.contract.declared.summary import Class, Field, Function
from pinproof.contract.syntax.nodes import FunctionNode, annotation, dotted, statements


def class_summary(node: ast.ClassDef) -> Class:
    """The summary of one class: what its constructor and methods take, what it holds."""
    methods: dict[str, tuple[Function, ...]] = {}
    attributes: dict[str, None] = {}
    fields: list[Field] = []
    keyword_only = False
    for item in class_body(node.body):
        if isinstance(item, FunctionNode):
            if is_overload(item):
                continue
            methods[item.name] = (*methods.get(item.name, ()), function(item))
            attributes.update(dict.fromkeys(_set_on_self(item)))
            if _sets_by_name(item):
                attributes["*"] = None
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            attributes[item.target.id] = None
            if annotation(item.annotation) in ("KW_ONLY", "dataclasses.KW_ONLY"):
                keyword_only = True
            elif not _is_class_variable(item.annotation):
                fields.append(_field(item, item.target.id, keyword_only))
        else:
            attributes.update(dict.fromkeys(_bound_names(item)))
    return Class(
        line=node.lineno,
        bases=tuple(_base(base) for base in node.bases),
        decorators=tuple(decorator_name(d) for d in node.decorator_list),
        decorator_flags=tuple(_true_flags(node.decorator_list)),
        keywords=tuple(f"{k.arg}={dotted(k.value) or '?'}" for k in node.keywords),
        methods=methods,
        attributes=tuple(attributes),
        fields=tuple(fields),
    )


def class_body(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a class body, those under `if`, `try` and `with` too."""
    for item in body:
        if isinstance(item, ast.If | ast.Try | ast.With):
            for name in ("body", "orelse", "finalbody"):
                yield from class_body(getattr(item, name, []))
            for handler in getattr(item, "handlers", []):
                yield from class_body(handler.body)
        else:
            yield item


def _base(node: ast.expr) -> str:
    return dotted(node.value if isinstance(node, ast.Subscript) else node) or "?"


def _true_flags(decorators: list[ast.expr]) -> Iterator[str]:
    """`kw_only` for `@dataclass(kw_only=True)`; `not init` for `@dataclass(init=False)`."""
    for decorator in decorators:
        for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
            if isinstance(keyword.value, ast.Constant) and keyword.arg:
                yield keyword.arg if keyword.value.value else f"not {keyword.arg}"


def _is_class_variable(node: ast.expr) -> bool:
    text = dotted(node.value if isinstance(node, ast.Subscript) else node) or ""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value.split("[")[0]
    return text.rsplit(".", 1)[-1] == "ClassVar"


def _field(item: ast.AnnAssign, name: str, keyword_only: bool) -> Field:
    default, init = item.value is not None, True
    if isinstance(item.value, ast.Call) and (dotted(item.value.func) or "").rsplit(".", 1)[-1] in (
        "field",
        "Field",
    ):
        default = bool(item.value.args)
        for keyword in item.value.keywords:
            if keyword.arg in ("default", "default_factory"):
                default = True
            elif isinstance(keyword.value, ast.Constant) and keyword.arg == "init":
                init = bool(keyword.value.value)
            elif isinstance(keyword.value, ast.Constant) and keyword.arg == "kw_only":
                keyword_only = bool(keyword.value.value)
    return Field(name, default, init, keyword_only, annotation(item.annotation))


def _set_on_self(node: FunctionNode) -> Iterator[str]:
    names = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)][:1]
    for child in (c for step in statements(node.body) for c in _stored_in(step)):
        if isinstance(child, ast.Attribute) and isinstance(child.value, ast.Name) and child.value.id in names:
            yield child.attr


def _stored_in(step: ast.stmt) -> Iterator[ast.AST]:
    """The targets that a statement stores into, parts of tuples too."""
    if isinstance(step, ast.Assign):
        places: list[ast.expr] = list(step.targets)
    elif isinstance(step, ast.AnnAssign | ast.AugAssign | ast.For | ast.AsyncFor):
        places = [step.target]
    elif isinstance(step, ast.With | ast.AsyncWith):
        places = [item.optional_vars for item in step.items if item.optional_vars is not None]
    else:
        return
    for place in places:
        yield from ast.walk(place)


def _sets_by_name(node: FunctionNode) -> bool:
    """Whether a method sets attributes whose names the text does not show."""
    for child in ast.walk(node):
        if isinstance(child, ast.Call) and dotted(child.func) in ("setattr", "vars", "object.__setattr__"):
            return True
        if isinstance(child, ast.Attribute) and child.attr in ("__dict__", "__setattr__"):
            return True
    return False


def _bound_names(item: ast.stmt) -> Iterator[str]:
    if isinstance(item, ast.ClassDef):
        yield item.name
    for child in ast.walk(item):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        elif isinstance(child, ast.alias):
            yield (child.asname or child.name).split(".")[0]
