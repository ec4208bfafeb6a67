"""Objects of a library are followed through classes, files, contexts and names that only a string spells."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.contract.judging import siteloop
from pinproof.contract.judging.sites import Site

from tests.contract.small import check, drifts

LIBRARY = """
    class Link:
        def send(self, x, *, cap=0): ...
    def f(a, b=1): ...
"""
HOLDER = """
    import kernels
    class Manager:
        def __init__(self):
            self.link = kernels.Link()
        def get(self) -> kernels.Link:
            return self.link
        def own(self):
            return self.link
        @property
        def current(self):
            return self.link
        def send(self, x, **kw):
            return self.link.send(x, **kw)
    class Below(Manager):
        pass
"""
CROSS_FILE = {
    "field": "Manager().link.send(x, bad=1)",
    "annotated getter": "Manager().get().send(x, bad=1)",
    "plain getter": "Manager().own().send(x, bad=1)",
    "property": "Manager().current.send(x, bad=1)",
    "forwarding method": "Manager().send(x, bad=1)",
    "field of a subclass": "Below().link.send(x, bad=1)",
}


@pytest.mark.parametrize("call", CROSS_FILE.values(), ids=CROSS_FILE)
def test_an_object_held_by_a_class_of_another_file_is_followed(call: str, tmp_path: Path) -> None:
    user = f"from vllm.manager import Below, Manager\ndef run(x):\n    return {call}\n"
    report = check(tmp_path, {"vllm/manager.py": HOLDER, "vllm/user.py": user}, LIBRARY)
    assert drifts(report) == [(3, "unexpected-keyword", ("bad",))]


def test_a_parameter_annotated_with_a_class_of_another_file_is_followed(tmp_path: Path) -> None:
    user = "from vllm.manager import Manager\ndef run(m: Manager, x):\n    m.link.send(x, bad=1)\n"
    report = check(tmp_path, {"vllm/manager.py": HOLDER, "vllm/user.py": user}, LIBRARY)
    assert drifts(report) == [(3, "unexpected-keyword", ("bad",))]


def test_an_attribute_that_another_file_gives_to_the_object_is_not_missing(tmp_path: Path) -> None:
    user = "from vllm.manager import Manager\ndef run(m: Manager):\n    return m.link.extra\n"
    gives = "from vllm.manager import Manager\ndef set_up(m: Manager):\n    m.link.extra = 1\n"
    files = {"vllm/manager.py": HOLDER, "vllm/user.py": user, "vllm/gives.py": gives}
    assert drifts(check(tmp_path, files, LIBRARY)) == []


NAMED = {
    "sys.modules": "import sys\nsys.modules['kernels'].f(1, bad=2)",
    "sys.modules.get": "import sys\nsys.modules.get('kernels').f(1, bad=2)",
    "relative import_module": "import importlib\nimportlib.import_module('.deep', 'kernels').f(1, bad=2)",
    "constant f-string": "import importlib as i\nTOP = 'kernels'\ni.import_module(f'{TOP}.deep').f(1, bad=2)",
    "alias chain": "import kernels\na = kernels\nb = a\nc = b\nd = c\ne = d\ng = e\nh = g\nh.f(1, bad=2)",
    "one-line try": "try: import kernels\nexcept ValueError: pass\nkernels.f(1, bad=2)",
    "behind a semicolon": "import os; import kernels\nkernels.f(1, bad=2)",
    "backslash": "from kernels \\\n    import f\nf(1, bad=2)",
    "byte order mark": "\ufeffimport kernels\nkernels.f(1, bad=2)",
    "comprehension's target": "import kernels\n[g(1, bad=2) for g in [kernels.f]]",
}


@pytest.mark.parametrize("engine", NAMED.values(), ids=NAMED)
def test_a_library_is_reached_however_it_is_imported(engine: str, tmp_path: Path) -> None:
    library = {"kernels/__init__.py": "def f(a, b=1): ...\n", "kernels/deep.py": "def f(a, b=1): ...\n"}
    found = drifts(check(tmp_path, engine, library))
    assert found == [(engine.count("\n") + 1, "unexpected-keyword", ("bad",))]


def test_a_lone_carriage_return_ends_a_line_as_it_does_for_python(tmp_path: Path) -> None:
    root = tmp_path / "tree" / "vllm"
    root.mkdir(parents=True)
    (root / "cr.py").write_bytes(b'import kernels\nS = """a\rb"""\nkernels.f(1, bad=2)\n')
    report = check(tmp_path, {}, "def f(a, b=1): ...\n")
    assert drifts(report) == [(4, "unexpected-keyword", ("bad",))]


def test_a_comprehension_that_rebinds_the_name_it_reads_comes_to_an_end(tmp_path: Path) -> None:
    engine = """
        import kernels
        def fit(d):
            d = [d[g].to(1) for g in range(2)]
            return d
        def run(x):
            fit(kernels.f(x))
            kernels.f(x, bad=1)
    """
    assert drifts(check(tmp_path, engine, LIBRARY)) == [(8, "unexpected-keyword", ("bad",))]


def test_a_file_that_breaks_the_gate_is_named_and_the_rest_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = siteloop.judge  # type: ignore[attr-defined]

    def breaks(evaluator: object, site: Site) -> object:
        if site.at.scope.file.path.endswith("odd.py"):
            raise RecursionError("too deep")
        return judge(evaluator, site)  # type: ignore[arg-type]

    monkeypatch.setattr(siteloop, "judge", breaks)
    bad = "import kernels\nkernels.f(1, bad=2)\n"
    report = check(tmp_path, {"vllm/odd.py": bad, "vllm/plain.py": bad}, LIBRARY)
    assert [(call.file, call.line) for call in report.failing] == [("vllm/plain.py", 2)]
    assert [(u.file, u.reason) for u in report.unread] == [("vllm/odd.py", "internal error: RecursionError")]


def test_a_class_below_a_named_tuple_has_its_fields(tmp_path: Path) -> None:
    library = """
        from typing import ClassVar, NamedTuple
        class _Shape(NamedTuple):
            rows: int
            cols: int
        class Shape(_Shape):
            WHOLE: ClassVar["Shape"]
    """
    engine = "import kernels\nkernels.Shape(1, 128)\nkernels.Shape(1, 128, 3)\n"
    assert drifts(check(tmp_path, engine, library)) == [(3, "too-many-positional", ("3 given, 2 taken",))]


RESULTS = """
    import abc, contextlib
    from typing import Iterator
    class Link:
        def send(self, x, *, cap=0): ...
        @classmethod
        def build(cls, n):
            return cls()
        def __enter__(self):
            return self
        def chain(self):
            return self
    class Below(Link): ...
    @contextlib.contextmanager
    def scope(n):
        yield Link()
    @contextlib.contextmanager
    def typed(n) -> Iterator[Link]:
        yield make()
    def make(n=1):
        return Link()
    def other(n):
        return make(n)
    def pack(x):
        if x:
            return x, 1, 2
        return x, 3, 4
    def uneven(x):
        if x:
            return x, 1, 2
        return x, 1
    def falls_off(x):
        if x:
            return x, 1, 2
    class Base(abc.ABC):
        @abc.abstractmethod
        def forward(self): ...
        @abc.abstractmethod
        def backward(self): ...
"""
OBJECTS = {
    "context of a generator": "with kernels.scope(1) as m:\n    m.send(1, bad=2)",
    "context of an annotated generator": "with kernels.typed(1) as m:\n    m.send(1, bad=2)",
    "context that gives itself": "with kernels.Link() as m:\n    m.send(1, bad=2)",
    "nullcontext": "import contextlib as c\nwith c.nullcontext(kernels.Link()) as m:\n    m.send(1, bad=2)",
    "context of the tree": (
        "import contextlib\n@contextlib.contextmanager\ndef own():\n    yield kernels.Link()\n"
        "with own() as m:\n    m.send(1, bad=2)"
    ),
    "classmethod that returns cls()": "kernels.Link.build(1).send(1, bad=2)",
    "classmethod of a subclass": "kernels.Below.build(1).send(1, bad=2)",
    "method that returns self": "kernels.Link().chain().send(1, bad=2)",
    "function whose text shows what it returns": "kernels.make().send(1, bad=2)",
    "function that hands on what another gives": "kernels.other(1).send(1, bad=2)",
}


@pytest.mark.parametrize("engine", OBJECTS.values(), ids=OBJECTS)
def test_an_object_that_a_call_gives_is_known(engine: str, tmp_path: Path) -> None:
    found = drifts(check(tmp_path, f"import kernels\n{engine}\n", RESULTS))
    assert found == [(engine.count("\n") + 2, "unexpected-keyword", ("bad",))]


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("a, b = kernels.pack(1)", ("2 unpacked, 3 returned",)),
        ("[a, b, c, d] = kernels.pack(1)", ("4 unpacked, 3 returned",)),
        ("a, b, c = kernels.pack(1)", None),
        ("a, *b = kernels.pack(1)", None),
        ("a = kernels.pack(1)", None),
        ("a, b, c, d = kernels.uneven(1)", None),
        ("a, b = kernels.falls_off(1)", None),
    ],
)
def test_as_many_values_are_unpacked_as_every_return_gives(
    statement: str, names: tuple[str, ...] | None, tmp_path: Path
) -> None:
    found = drifts(check(tmp_path, f"import kernels\n{statement}\n", RESULTS))
    assert found == ([] if names is None else [(2, "result-count", names)])


@pytest.mark.parametrize(
    ("methods", "missing"),
    [
        ("def forward(self): ...", ("backward",)),
        ("def forward(self): ...\n    def backward(self): ...", None),
        ("def forward(self): ...\n    backward = forward", None),
        ("pass", ("forward", "backward")),
    ],
)
def test_an_object_is_made_only_of_a_class_that_implements_what_is_abstract(
    methods: str, missing: tuple[str, ...] | None, tmp_path: Path
) -> None:
    engine = f"import kernels\nclass Mine(kernels.Base):\n    {methods}\ndef run():\n    return Mine()\n"
    found = drifts(check(tmp_path, engine, RESULTS))
    line = engine.count("\n")
    assert found == ([] if missing is None else [(line, "abstract-method", missing)])


@pytest.mark.parametrize(
    ("engine", "names"),
    [
        ("import kernels\nkernels.gone = len\n", ("kernels.gone",)),
        ("import kernels\nsetattr(kernels, 'gone', len)\n", ("kernels.gone",)),
        ("import kernels\nfrom unittest import mock\nmock.patch('kernels.gone')\n", ("kernels.gone",)),
        ("import kernels\nkernels.f = len\n", None),
        ("import kernels\nkernels.mine = len\nkernels.mine(1)\n", None),
        ("import kernels\nfrom unittest import mock\nmock.patch('kernels.f')\n", None),
        ("import kernels\nfrom unittest import mock\nmock.patch('kernels.gone', create=True)\n", None),
    ],
)
def test_a_name_that_is_replaced_must_be_there(
    engine: str, names: tuple[str, ...] | None, tmp_path: Path
) -> None:
    found = drifts(check(tmp_path, engine, LIBRARY))
    assert [drift[1:] for drift in found] == ([] if names is None else [("missing-attribute", names)])
