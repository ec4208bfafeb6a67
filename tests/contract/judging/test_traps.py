"""Code that looks like drift and is not stays silent; its neighbours that do fail are found."""

# ruff: noqa: E501 - each snippet is one file

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.small import check, drifts

LIBRARY = """\
import enum, functools, dataclasses
from typing import NamedTuple, TypedDict, overload, Generic, TypeVar
T=TypeVar("T")
def f(a, b=1): ...
def g(a, b=1, *, c=2): ...
class Base:
    def __init__(self, size): ...
    def plan(self, x, *, y=0): ...
    def run(self, q): ...
    @property
    def impl(self): ...
    @classmethod
    def make(cls, n): ...
    @staticmethod
    def st(n): ...
    def __call__(self, z): ...
class Other:
    def __init__(self): ...
    def plan(self, x, *, y=0, causal=True): ...
class Meta(type):
    def __call__(cls, *a, **k): ...
class Single(metaclass=Meta):
    def __init__(self, x): ...
class SubSingle(Single):
    def __init__(self, x): ...
class Act(enum.Enum):
    A = 1
    B = 2
class IAct(enum.IntEnum):
    A = 1
class NT(NamedTuple):
    a: int
    b: int = 0
class TD(TypedDict, total=False):
    a: int
@dataclasses.dataclass
class DC:
    a: int
    b: int = 0
@dataclasses.dataclass
class DCS(DC):
    a: int = 1
    c: int = 2
class Gen(Generic[T]):
    def __init__(self, x): ...
@functools.singledispatch
def sd(x, *, y=1): ...
@sd.register
def _(x: int, *, y=1, z=2): ...
def factory(n) -> Base: ...
CONST = 3
def deco(fn):
    @functools.wraps(fn)
    def w(*args, skip=False, **kwargs):
        return fn(*args, **kwargs)
    return w
def deco_drop(fn):
    @functools.wraps(fn)
    def w(*args, **kwargs):
        kwargs.pop("old", None)
        return fn(*args, **kwargs)
    return w
def deco_rename(**names):
    def outer(fn):
        @functools.wraps(fn)
        def w(*args, **kwargs):
            for o, n in names.items():
                if o in kwargs:
                    kwargs[n] = kwargs.pop(o)
            return fn(*args, **kwargs)
        return w
    return outer
def deco_fill(fn):
    @functools.wraps(fn)
    def w(*args, **kwargs):
        return fn(*args, extra=1, **kwargs)
    return w
def deco_setdefault(fn):
    @functools.wraps(fn)
    def w(*args, **kwargs):
        kwargs.setdefault("extra", 1)
        return fn(*args, **kwargs)
    return w
def deco_first(fn):
    @functools.wraps(fn)
    def w(*args, **kwargs):
        return fn(object(), *args, **kwargs)
    return w
def deco_filter(fn):
    import inspect
    names = set(inspect.signature(fn).parameters)
    @functools.wraps(fn)
    def w(*args, **kwargs):
        kwargs = {k: v for k, v in kwargs.items() if k in names}
        return fn(*args, **kwargs)
    return w
@deco
def d1(a): ...
@deco_drop
def d2(a): ...
@deco_rename(old="new")
def d3(a, new=1): ...
@deco_fill
def d4(a, extra): ...
@deco_setdefault
def d5(a, extra): ...
@deco_first
def d6(ctx, a): ...
@deco_filter
def d7(a): ...
class Dyn:
    def __init__(self): setattr(self, "foo", 1)
class Dyn2:
    def __init__(self, **kw):
        self.__dict__.update(kw)
class Slot:
    def __init__(self):
        for n in ("p","q"):
            setattr(self, n, 1)
class Mixed:
    pass
Mixed.extra = lambda self: 1
setattr(Mixed, "extra2", 3)
def add_to(cls):
    cls.added = 1
add_to(Mixed)
@functools.partial
def weird(a): ...
pf = functools.partial(f, 1)
class Torchy:
    def forward(self, x): ...
    __call__ = forward
class D8(DC):
    def __post_init__(self): ...
@dataclasses.dataclass
class IV:
    a: int
    iv: dataclasses.InitVar[int] = 0
    cv: "typing.ClassVar[int]" = 0
    _: dataclasses.KW_ONLY
    k: int = 0
@overload
def ov(a: int): ...
@overload
def ov(a: str, b: int): ...
def ov(a, b=None): ...
class OvM:
    @overload
    def m(self, a: int): ...
    @overload
    def m(self, a: str, b: int): ...
    def m(self, a, b=None): ...
try:
    from _fast import fast
except ImportError:
    def fast(a): ...
if True:
    def dual(a): ...
else:
    def dual(a, b): ...
lam = lambda a: a
def redefined(a): ...
def redefined(a, b): ...
del CONST
"""

# Nothing here may be reported.
SILENT: dict[str, str | dict[str, str]] = {
    "optional keyword under a flag set from a signature": 'import inspect, kernels\n_new = False\ndef resolve():\n    global _new\n    params = inspect.signature(kernels.f).parameters\n    _new = "late" in params\ndef r(late):\n    kw = {}\n    if _new:\n        kw["late"] = late\n    kernels.f(1, **kw)',
    "optional keyword probed for in another file": {
        "vllm/m.py": 'import kernels\ndef kw(delta):\n    return {} if delta is None else {"delta": delta}\ndef r(x, delta=None):\n    kernels.f(x, **kw(delta))',
        "vllm/serve.py": 'import inspect, kernels\nfrom vllm.m import r\ndef takes_delta():\n    return "delta" in inspect.signature(kernels.f).parameters',
    },
    "platform with its vendor": "from sglang.srt.utils import use_intel_xpu_backend\n_use_sgl_xpu = use_intel_xpu_backend()\ndef r():\n    if _use_sgl_xpu:\n        from kernels import nope\n",
    "enum object": "import kernels\ndef r(a: kernels.Act):\n    b = kernels.Act(a)\n    return a.name, a.value, b.name, b.value, kernels.IAct(1).name, kernels.IAct(1).bit_length()",
    "append two": "import kernels\ndef r():\n    ws = []\n    ws.append(kernels.Base(1))\n    ws.append(kernels.Other())\n    for w in ws:\n        w.plan(1, causal=True)",
    "append unknown": "import kernels\ndef r(ws):\n    ws.append(kernels.Base(1))\n    for w in ws:\n        w.plan(1, causal=True)",
    "append extend": "import kernels\ndef r(o):\n    ws = []\n    ws.append(kernels.Base(1))\n    ws.extend(o)\n    for w in ws:\n        w.plan(1, causal=True)",
    "append store": "import kernels\ndef r(o):\n    ws = [kernels.Base(1) for _ in o]\n    ws[0] = Fake()\n    for w in ws:\n        w.plan(1, causal=True)",
    "wrapper partial on an element": "import kernels, functools\nclass A:\n    def __init__(self):\n        self.ws = [kernels.Base(1)]\n    def patch(self):\n        self.ws[0].plan = functools.partial(fast, self.ws[0])\n    def r(self):\n        self.ws[0].plan(1, fast=True)",
    "subclass with a mixin": "import kernels\nfrom torch.nn import Module\nclass S(Module, kernels.Base): ...\nS(1, 2, 3).plan(1, 2, 3)",
    "subclass that is a dataclass": "import kernels, dataclasses\n@dataclasses.dataclass\nclass S(kernels.Base):\n    a: int\n    b: int\nS(1, 2)",
    "subclass with its own new": "import kernels\nclass S(kernels.Base):\n    def __new__(cls, *a): ...\nS(1, 2, 3)",
    "super in a classmethod": "import kernels\nclass S(kernels.Base):\n    @classmethod\n    def make(cls, *a):\n        return super().make(*a)",
    "super of two bases": "import kernels\nclass S(kernels.Base, Mixin):\n    def plan(self):\n        super().plan(1, 2, 3)",
    "or of flags": "import kernels\nx = kernels.IAct.A | kernels.IAct.A",
    "comprehension target attr": "import kernels\nw = kernels.Base(1)\nx=[w.nope(1) for w in things]",
    "walrus": "import kernels\ndef r():\n    k = kernels\n    if (k := other()):\n        k.nope()",
    "del": "import kernels\ndef r():\n    w = kernels.Base(1)\n    w = wrap(w)\n    w.nope()",
    "for rebind": "import kernels\ndef r(ws):\n    w = kernels.Base(1)\n    for w in ws:\n        w.nope()",
    "with rebind": "import kernels\ndef r(ws):\n    w = kernels.Base(1)\n    with ws as w:\n        w.nope()",
    "isinstance": "import kernels\ndef r(w: kernels.Base):\n    if isinstance(w, kernels.Other):\n        w.plan(1, causal=True)",
    "union ann": 'import kernels\ndef r(w: "kernels.Base | kernels.Other"):\n    w.plan(1, causal=True)',
    "Union ann": "import kernels\nfrom typing import Union\ndef r(w: Union[kernels.Base, kernels.Other]):\n    w.plan(1, causal=True)",
    "subclass ann instance attr": "import kernels\ndef r(w: kernels.Base):\n    w.nope()",
    "list ann": "import kernels\nfrom typing import List\ndef r(w: List[kernels.Base]):\n    w.nope()\n    w.append(1)",
    "list ann2": "import kernels\ndef r(w: list[kernels.Base]):\n    w.plan(5,6,7)",
    "type ann": "import kernels\ndef r(w: type[kernels.Base]):\n    w.plan(1,2)\n    w(1)",
    "callable ann": "import kernels\nfrom typing import Callable\ndef r(w: Callable[[int], kernels.Base]):\n    w(1).plan(1)\n    w.nope",
    "dict ann": 'import kernels\ndef r(w: dict[str, kernels.Base]):\n    w.get(1)\n    w["a"].plan(1)',
    "vararg ann": "import kernels\ndef r(*w: kernels.Base, **k: kernels.Base):\n    w.index(1)\n    k.get(1)",
    "instance monkeypatch setattr": 'import kernels\ndef r():\n    w = kernels.Base(1)\n    setattr(w, "plan", other)\n    w.plan(1, 2, 3)',
    "class monkeypatch": "import kernels\ndef r():\n    kernels.Base.plan = other\n    w = kernels.Base(1)\n    w.plan(1, 2, 3)",
    "setattr module": 'import kernels\nsetattr(kernels, "newf", 3)\nkernels.newf(3)',
    "mock patch": 'import kernels\nfrom unittest.mock import patch\nwith patch("kernels.f"):\n    kernels.f(1,2,3)',
    "singleton meta": "import kernels\nkernels.Single(1,2,3)",
    "singleton meta inherited": "import kernels\nkernels.SubSingle(1,2,3)",
    "enum call": 'import kernels\nkernels.Act(1)\nkernels.Act["A"]\nkernels.Act.A.value\nkernels.Act.A.name\nkernels.Act.__members__\nkernels.IAct.A.bit_length()\nkernels.Act._member_map_',
    "enum func api": 'import kernels\nkernels.Act("X", "a b")',
    "nt": "import kernels\nkernels.NT(1)._replace(a=2)\nkernels.NT._make([1])\nkernels.NT(1).count(2)\nkernels.NT._fields",
    "td": "import kernels\nkernels.TD(a=1)",
    "dcs": "import kernels\nkernels.DCS()\nkernels.DCS(c=1)\nkernels.DCS().__dataclass_fields__",
    "gen": "import kernels\nkernels.Gen[int](1)",
    "sd": "import kernels\nkernels.sd(1, z=2)\nkernels.sd.register(int)\nkernels.sd.dispatch(int)",
    "d1": "import kernels\nkernels.d1(1, skip=True)",
    "d2": "import kernels\nkernels.d2(1, old=True)",
    "d3": "import kernels\nkernels.d3(1, old=True)",
    "d4": "import kernels\nkernels.d4(1)",
    "d5": "import kernels\nkernels.d5(1)",
    "d6": "import kernels\nkernels.d6(1)",
    "d7": "import kernels\nkernels.d7(1, anything=3)",
    "dyn": "import kernels\nd = kernels.Dyn()\nd.foo\ns = kernels.Slot()\ns.p\nd2 = kernels.Dyn2()\nd2.zip",
    "dyn2 call": "import kernels\nd2 = kernels.Dyn2()\nd2.zip",
    "mixed": "import kernels\nm = kernels.Mixed()\nm.extra()\nm.extra2\nm.added",
    "weird": "import kernels\nkernels.weird(1,2,3)\nkernels.pf()\nkernels.pf(b=2)",
    "torchy": "import kernels\nt = kernels.Torchy()\nt(1)\nt.forward(1)",
    "iv": "import kernels\nkernels.IV(1, 2, k=3)",
    "ov": "import kernels\nkernels.ov(1)\nkernels.ov(1,2)\nkernels.OvM().m(1)\nkernels.OvM().m(1,2)",
    "fast": "import kernels\nkernels.fast(1,2,3)",
    "dual": "import kernels\nkernels.dual(1)\nkernels.dual(1,2)",
    "except fallback name": "try:\n    from kernels import nope\nexcept ImportError:\n    nope = None\n",
    "except fallback alt": "try:\n    from kernels import f\nexcept ImportError:\n    from kernels import nope\n",
    "except Exception log": "try:\n    from kernels import nope\nexcept Exception as e:\n    print(e)\n",
    "find_spec": 'import importlib.util\nif importlib.util.find_spec("kernels.sub") is not None:\n    import kernels.sub\n',
    "find_spec stored": 'import importlib.util\nHAS = importlib.util.find_spec("kernels.sub") is not None\ndef r():\n    if HAS:\n        from kernels.sub import x\n',
    "has helper": 'import importlib.util\ndef has_sub():\n    return importlib.util.find_spec("kernels.sub") is not None\ndef r():\n    if has_sub():\n        from kernels.sub import x\n',
    "hasattr and": 'import kernels\nok = hasattr(kernels, "nope") and kernels.nope(1)\n',
    "hasattr early return": 'import kernels\ndef r():\n    if not hasattr(kernels, "nope"):\n        return\n    kernels.nope(1)\n',
    "hasattr early raise": 'import kernels\ndef r():\n    if not hasattr(kernels, "nope"):\n        raise RuntimeError\n    kernels.nope(1)\n',
    "hasattr ifexp": 'import kernels\nx = kernels.nope if hasattr(kernels, "nope") else None\n',
    "getattr default": 'import kernels\nx = getattr(kernels, "nope", None)\nif x is not None:\n    x(1, 2, 3)\n',
    "version": 'import kernels\nif kernels.__version__ >= "3":\n    kernels.f(1,2,3)\n',
    "version helper": 'import kernels\nfrom importlib.metadata import version\nV = version("kernels")\nNEW = V >= "3"\ndef r():\n    if NEW:\n        kernels.f(1,2,3)\n',
    "version else": 'import kernels\nfrom packaging.version import parse\nif parse(kernels.__version__) < parse("3"):\n    kernels.f(1)\nelse:\n    kernels.f(1,2,3)\n',
    "sig kwargs": 'import kernels, inspect\nkw = {}\nif "new" in inspect.signature(kernels.f).parameters:\n    kw["new"] = 1\nkernels.f(1, **kw)\n',
    "sig filter": 'import kernels, inspect\nkw = {"new": 1, "b": 2}\nkw = {k: v for k, v in kw.items() if k in inspect.signature(kernels.f).parameters}\nkernels.f(1, **kw)\n',
    "kw pop": 'import kernels\ndef r():\n    kw = {"new": 1, "b": 2}\n    kw.pop("new")\n    kernels.f(1, **kw)\n',
    "kw del": 'import kernels\ndef r():\n    kw = {"new": 1, "b": 2}\n    del kw["new"]\n    kernels.f(1, **kw)\n',
    "kw del cond": 'import kernels\ndef r():\n    kw = {"new": 1, "b": 2}\n    if not ok:\n        del kw["new"]\n    kernels.f(1, **kw)\n',
    "kw pop in call": 'import kernels\ndef r():\n    kw = {"new": 1, "b": 2}\n    x = kw.pop("new")\n    kernels.f(1, **kw)\n',
    "kw clear via fn": 'import kernels\ndef r():\n    kw = {"new": 1, "b": 2}\n    clean(kw)\n    kernels.f(1, **kw)\n',
    "kw fn kwarg": 'import kernels\ndef r():\n    kw = {"new": 1, "b": 2}\n    clean(d=kw)\n    kernels.f(1, **kw)\n',
    "kw fn assigned": 'import kernels\ndef r():\n    kw = {"new": 1, "b": 2}\n    x = clean(kw)\n    kernels.f(1, **kw)\n',
    "kw loop pop": 'import kernels\ndef r():\n    kw = {"new": 1, "b": 2}\n    for k in list(kw):\n        if bad(k):\n            del kw[k]\n    kernels.f(1, **kw)\n',
    "kw alias": 'import kernels\ndef r():\n    kw = {"new": 1, "b": 2}\n    o = kw\n    o.pop("new")\n    kernels.f(1, **kw)\n',
    "kw self": 'import kernels\nclass A:\n    def __init__(self):\n        self.kw = {"new": 1}\n        self.kw.pop("new")\n    def r(self):\n        kernels.f(1, **self.kw)\n',
    "kw self del": 'import kernels\nclass A:\n    def __init__(self):\n        self.kw = {"new": 1}\n        del self.kw["new"]\n    def r(self):\n        kernels.f(1, **self.kw)\n',
    "kw global del": 'import kernels\nKW = {"new": 1}\nif old:\n    del KW["new"]\nkernels.f(1, **KW)\n',
    "kw union": 'import kernels\ndef r():\n    kw = {"b": 1} | other\n    kernels.f(**kw)\n',
    "kw correlated fn": 'import kernels\ndef r(t):\n    fn = kernels.g if t else kernels.f\n    kw = {}\n    if t:\n        kw["c"] = 1\n    fn(1, **kw)\n',
    "correlated import": "if is_new():\n    from kernels import g as h\nelse:\n    from kernels import f as h\ndef r():\n    if is_new():\n        h(1, c=1)\n    else:\n        h(1)\n",
    "correlated cls": "import kernels\ndef r(t):\n    w = kernels.Other() if t else kernels.Base(1)\n    if t:\n        w.plan(1, causal=True)\n    else:\n        w.plan(1)\n",
    "correlated cls2": "import kernels\ndef r(t):\n    if t:\n        w = kernels.Other()\n    else:\n        w = kernels.Base(1)\n    if t:\n        w.plan(1, causal=True)\n",
    "except type error": "import kernels\ntry:\n    kernels.f(1, new=1)\nexcept TypeError:\n    kernels.f(1)\n",
    "typing only": 'from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from kernels import Nope\ndef r(x: "Nope"): ...\n',
    "typing only 2": "import typing\nif typing.TYPE_CHECKING:\n    from kernels import Nope\n",
    "platform": "from vllm.platforms import current_platform\nif current_platform.is_rocm():\n    from kernels import nope\n",
    "platform not cuda": "from vllm.platforms import current_platform\nif not current_platform.is_cuda():\n    from kernels import nope\n",
    "platform elif": "from sglang.srt.utils import is_cuda, is_hip\n_is_cuda = is_cuda()\n_is_hip = is_hip()\nif _is_cuda:\n    from kernels import f\nelif _is_hip:\n    from kernels import nope\n",
    "method fn star": "import kernels\ndef r(args):\n    kernels.f(*args)\n    kernels.f(*args, 1)\n",
    "prop": "import kernels\nw = kernels.Base(1)\nw.impl(1,2,3,4)\nw.impl.nope",
    "cm": "import kernels\nkernels.Base.make(1)\nkernels.Base.st(1)\nkernels.Base(1).st(1)\nkernels.Base(1)(1)\nkernels.Base.plan(w, 1)\nkernels.Base.plan(w, 1, y=1)",
    "subclass super": "import kernels\nclass S(kernels.Base):\n    def __init__(self, a, b, c):\n        super().__init__(a)\n    def plan(self, a, b, c): ...\ns = S(1,2,3)\ns.plan(1,2,3)\ns.zip",
    "subclass self": "import kernels\nclass S(kernels.Base):\n    def plan(self, a, b, c): ...\n    def go(self):\n        self.plan(1,2,3)\n        self.nope()\n",
    "shadow param": "from kernels import f\ndef r(f):\n    f(1,2,3)\n",
    "shadow lambda": "from kernels import f\nr = lambda f: f(1,2,3)\n",
    "shadow nested": "from kernels import f\ndef r():\n    def f(a,b,c): ...\n    f(1,2,3)\n",
    "shadow class attr": "from kernels import f\nclass A:\n    def f(self, a,b,c): ...\n    def r(self):\n        self.f(1,2,3)\n",
    "rebound later": "from kernels import f\ndef wrap(x): return x\nf = wrap(f)\nf(1,2,3)\n",
    "redecorated": "import kernels\nf = mydeco(kernels.f)\nf(1,2,3)\n",
    "cond rebound": "from kernels import f\nif flag:\n    def f(a,b,c): ...\ndef r():\n    f(1,2,3)\n",
    "global reset": "import kernels\nimpl = kernels.f\ndef set(x):\n    global impl\n    impl = x\ndef r():\n    impl(1,2,3)\n",
    "attr none": "import kernels\nclass A:\n    w: kernels.Base\n    def r(self):\n        self.w.nope()\n        self.w.plan(1)\n",
    "register custom op": 'import kernels\nimport torch\n@torch.library.custom_op("x::f", mutates_args=[])\ndef f(a, b, c): return kernels.f(a, b)\nf(1,2,3)\n',
    "try else": "try:\n    import kernels\nexcept ImportError:\n    kernels = None\nelse:\n    pass\ndef r():\n    if kernels is not None:\n        kernels.f(1)\n",
    "match": "import kernels\ndef r(x):\n    match x:\n        case kernels.Base(a=1): ...\n        case f: f(1,2,3)\n",
    "dir in": 'import kernels\nif "nope" in dir(kernels):\n    kernels.nope()\n',
    "dict in": 'import kernels\nif "nope" in kernels.__dict__:\n    kernels.nope()\n',
    "flag try import": "try:\n    from kernels import nope\n    OK = True\nexcept ImportError:\n    OK = False\n",
    "contextlib suppress": "import contextlib\nwith contextlib.suppress(ImportError):\n    from kernels import nope\n",
    "pytest importorskip": 'import pytest\nk = pytest.importorskip("kernels.sub")\n',
    "assert hasattr": 'import kernels\ndef r():\n    assert hasattr(kernels, "nope")\n    kernels.nope()\n',
    "redefined": "import kernels\nkernels.redefined(1, 2)\n",
    "lam": "import kernels\nkernels.lam(1)\n",
    "nonlocal": "import kernels\ndef o():\n    w = kernels.f\n    def s():\n        nonlocal w\n        w = other\n    def r():\n        w(1,2,3)\n",
    "loop var func": "import kernels\ndef r():\n    for fn in (kernels.f, kernels.g):\n        fn(1, c=2)\n",
    "dict dispatch": 'import kernels\nT = {"a": kernels.f, "b": kernels.g}\ndef r(k):\n    T[k](1, c=2)\n',
    "inst subclass attr": "import kernels\ndef r(b: bool):\n    w = kernels.Base(1)\n    if b:\n        w = Sub(1)\n    w.nope()\n",
    "kw in boolop": "import kernels\ndef r(w=None):\n    w = w or kernels.Base(1)\n    w.nope()\n",
    "cond exp attr": "import kernels\ndef r(t):\n    (kernels.f if t else other)(1,2,3)\n",
    "async": "import kernels\nasync def r():\n    return kernels.Base(1)\nasync def s():\n    w = await r()\n    w.nope()\n",
    "hasattr on self.x": 'import kernels\nclass A:\n    def __init__(self):\n        self.w = kernels.Base(1)\n        self.can = hasattr(self.w, "nope")\n    def r(self):\n        if self.can:\n            self.w.nope()\n',
    "hasattr on self.x direct": 'import kernels\nclass A:\n    def __init__(self):\n        self.w = kernels.Base(1)\n    def r(self):\n        if hasattr(self.w, "nope"):\n            self.w.nope()\n        elif hasattr(self.w, "_nope2"):\n            self.w._nope2()\n',
    "ctx attr del": "import kernels\nw = kernels.Base(1)\nw.extra = 3\nprint(w.extra)\n",
    "attr store other obj": "import kernels\nclass A:\n    def __init__(self):\n        self.w = kernels.Base(1)\n        self.w.extra = 1\n    def r(self):\n        return self.w.extra\n",
    "attr store other file": {
        "vllm/a.py": "import kernels\nclass A:\n    def __init__(self):\n        self.w = kernels.Base(1)\n        self.w.extra = 1\n",
        "vllm/b.py": "from vllm.a import A\ndef r():\n    a = A()\n    return a.w.extra\n",
    },
    "object methods": "import kernels\nw = kernels.Base(1)\nw.__class__\nw.__dict__\nw.__init__(1)\nw.__repr__()",
}

# Each fails at the line and with the kind that is given.
FAILING: dict[str, tuple[str, int, str]] = {
    "default of a parameter, for whoever leaves it out": (
        "import kernels\ndef r(w=kernels.f):\n    w(1,2,3)\n",
        3,
        "too-many-positional",
    ),
    "star import": (
        "from kernels import *\ndef r():\n    f(1,2,3)\n",
        3,
        "too-many-positional",
    ),
    "method inherited from the library": (
        "import kernels\nclass A(kernels.Base):\n    def r(self):\n        self.plan(1, z=2)\n",
        4,
        "unexpected-keyword",
    ),
    "setattr on self": (
        "import kernels\nclass A:\n    def __init__(self):\n        setattr(self, 'w', kernels.Base(1))\n    def r(self):\n        self.w.plan(1, z=2)\n",
        6,
        "unexpected-keyword",
    ),
    "walrus as a receiver": (
        "import kernels\ndef r():\n    (w := kernels.Base(1)).plan(1, z=2)\n",
        3,
        "unexpected-keyword",
    ),
    "keyword that depends on a length on the CPU": (
        "import kernels\ndef r(has_lens_cpu):\n    if has_lens_cpu:\n        kernels.f(1, lens=2)",
        4,
        "unexpected-keyword",
    ),
    "not another platform": (
        "from sglang.srt.utils import use_intel_xpu_backend\ndef r():\n    if not use_intel_xpu_backend():\n        from kernels import nope\n",
        4,
        "missing-attribute",
    ),
    "append self": (
        "import kernels\nclass A:\n    def __init__(self):\n        self.ws = []\n        for _ in range(2):\n            self.ws.append(kernels.Base(1))\n    def r(self):\n        self.ws[0].plan(1, z=2)",
        8,
        "unexpected-keyword",
    ),
    "append local": (
        "import kernels\ndef r():\n    ws = []\n    ws.append(kernels.Base(1))\n    for i, w in enumerate(ws):\n        w.plan(1, z=2)",
        6,
        "unexpected-keyword",
    ),
    "subclass of a subclass": (
        "import kernels\nclass S(kernels.Base): ...\nclass T(S): ...\nT(1).plan(1, z=2)",
        4,
        "unexpected-keyword",
    ),
    "classattr enum": ("import kernels\nkernels.Act.C", 2, "missing-attribute"),
    "dc": ("import kernels\nkernels.DC(1, z=1)", 2, "unexpected-keyword"),
    "nt": ("import kernels\nkernels.NT(1, z=1)", 2, "unexpected-keyword"),
    "dcs": ("import kernels\nkernels.DCS(z=1)", 2, "unexpected-keyword"),
    "iv": ("import kernels\nkernels.IV(1, cv=3)", 2, "unexpected-keyword"),
    "callinst": ("import kernels\nw=kernels.Base(1)\nw(1, q=2)", 3, "unexpected-keyword"),
    "cm": ("import kernels\nkernels.Base.make(1, q=2)", 2, "unexpected-keyword"),
    "sm": ("import kernels\nkernels.Base.st(1, q=2)", 2, "unexpected-keyword"),
    "unbound": ("import kernels\nkernels.Base.plan(w, 1, q=2)", 2, "unexpected-keyword"),
    "missing cm": ("import kernels\nkernels.Base.nope(1)", 2, "missing-attribute"),
    "super": (
        "import kernels\nclass S(kernels.Base):\n    def __init__(self):\n        super().__init__(1, z=2)",
        4,
        "unexpected-keyword",
    ),
    "super plan": (
        "import kernels\nclass S(kernels.Base):\n    def go(self):\n        super().plan(1, z=2)",
        4,
        "unexpected-keyword",
    ),
    "subclass ctor": ("import kernels\nclass S(kernels.Base):\n    pass\nS(1, z=2)", 4, "unexpected-keyword"),
    "subclass method": (
        "import kernels\nclass S(kernels.Base):\n    pass\ns=S(1)\ns.plan(1, z=2)",
        5,
        "unexpected-keyword",
    ),
    "base missing": ("import kernels\nclass S(kernels.Nope):\n    pass\n", 2, "missing-attribute"),
    "factory": ("import kernels\nw=kernels.factory(1)\nw.plan(1, z=2)", 3, "unexpected-keyword"),
    "chain": ("import kernels\nkernels.Base(1).plan(1, z=2)", 2, "unexpected-keyword"),
    "d1": ("import kernels\nkernels.d1(1, z=2)", 2, "unexpected-keyword"),
    "loop list": (
        "import kernels\nfor fn in (kernels.f, kernels.g):\n    fn(1, z=2)",
        3,
        "unexpected-keyword",
    ),
    "list of instances": (
        "import kernels\nclass A:\n    def __init__(self):\n        self.ws = [kernels.Base(1) for _ in range(3)]\n    def r(self):\n        for w in self.ws:\n            w.plan(1, z=2)",
        7,
        "unexpected-keyword",
    ),
    "list index": (
        "import kernels\nclass A:\n    def __init__(self):\n        self.ws = [kernels.Base(1) for _ in range(3)]\n    def r(self):\n        self.ws[0].plan(1, z=2)",
        6,
        "unexpected-keyword",
    ),
    "list ann": (
        "import kernels\ndef r(ws: list[kernels.Base]):\n    for w in ws:\n        w.plan(1, z=2)",
        4,
        "unexpected-keyword",
    ),
    "opt ann": (
        "import kernels\nfrom typing import Optional\ndef r(w: Optional[kernels.Base]):\n    w.plan(1, z=2)",
        4,
        "unexpected-keyword",
    ),
    "pipe none": (
        'import kernels\ndef r(w: "kernels.Base | None"):\n    w.plan(1, z=2)',
        3,
        "unexpected-keyword",
    ),
    "union both fail": (
        'import kernels\ndef r(w: "kernels.Base | kernels.Other"):\n    w.plan(1, z=2)',
        3,
        "unexpected-keyword",
    ),
    "dataclass field": (
        "import kernels, dataclasses\n@dataclasses.dataclass\nclass M:\n    w: kernels.Base | None = None\ndef r(m: M):\n    m.w.plan(1, z=2)",
        6,
        "unexpected-keyword",
    ),
    "except reraise": (
        "try:\n    from kernels import nope\nexcept ImportError as e:\n    raise RuntimeError from e",
        2,
        "missing-attribute",
    ),
    "in try finally": (
        "import kernels\ntry:\n    kernels.f(1, z=2)\nfinally:\n    pass",
        3,
        "unexpected-keyword",
    ),
    "in try value error": (
        "import kernels\ntry:\n    kernels.f(1, z=2)\nexcept ValueError:\n    pass",
        3,
        "unexpected-keyword",
    ),
    "kw cond": (
        'import kernels\ndef r(t):\n    kw = {}\n    if t:\n        kw["z"] = 1\n    kernels.f(1, **kw)',
        6,
        "unexpected-keyword",
    ),
    "kw ifexp": (
        'import kernels\ndef r(t):\n    kernels.f(1, **({"z": 1} if t else {}))',
        3,
        "unexpected-keyword",
    ),
    "kw dict union": (
        'import kernels\ndef r(t):\n    kw = {"b": 1} | {"z": 1}\n    kernels.f(1, **kw)',
        4,
        "unexpected-keyword",
    ),
    "decorator site": ("import kernels\n@kernels.deco_nope\ndef r(): ...", 2, "missing-attribute"),
    "decorator call site": ("import kernels\n@kernels.f(1, z=2)\ndef r(): ...", 2, "unexpected-keyword"),
    "default site": ("import kernels\ndef r(x=kernels.nope): ...", 2, "missing-attribute"),
    "partial method": (
        "import kernels, functools\nw=kernels.Base(1)\np=functools.partial(w.plan, z=3)\np(1)",
        4,
        "unexpected-keyword",
    ),
    "partial never called": (
        "import kernels, functools\nreturn_to(functools.partial(kernels.f, z=3))",
        2,
        "unexpected-keyword",
    ),
    "import as mod": ("from kernels import sub\nsub.x", 1, "missing-attribute"),
    "nested fn": (
        "import kernels\ndef a():\n    w = kernels.Base(1)\n    def b():\n        return w.plan(1, z=1)\n    return b",
        5,
        "unexpected-keyword",
    ),
    "walrus": ("import kernels\nif (w := kernels.Base(1)):\n    w.plan(1, z=1)", 3, "unexpected-keyword"),
    "ternary": ("import kernels\nfn = kernels.f if t else kernels.g\nfn(1, z=1)", 3, "unexpected-keyword"),
    "match": ("import kernels\nmatch t:\n    case 1:\n        kernels.f(1, z=1)", 4, "unexpected-keyword"),
    "star expr": ("import kernels\nkernels.f(*(1,2,3))", 2, "too-many-positional"),
    "fstr": ('import kernels\nx = f"{kernels.f(1, z=1)}"', 2, "unexpected-keyword"),
    "await": ("import kernels\nasync def r():\n    await kernels.f(1, z=1)", 3, "unexpected-keyword"),
    "class var": (
        "import kernels\nclass A:\n    fn = kernels.f\n    def r(self):\n        A.fn(1, z=1)",
        5,
        "unexpected-keyword",
    ),
    "tuple unpack": ("import kernels\na, b = kernels.f, kernels.g\nb(1, z=1)", 3, "unexpected-keyword"),
    "attr in function default import": (
        "def r():\n    import kernels\n    kernels.nope",
        3,
        "missing-attribute",
    ),
    "import nested": ("import kernels.nope", 1, "missing-module"),
    "elif": ("import kernels\nif a:\n    pass\nelif kernels.f(1, z=1):\n    pass", 4, "unexpected-keyword"),
    "while": ("import kernels\nwhile kernels.f(1, z=1):\n    pass", 2, "unexpected-keyword"),
    "yield": ("import kernels\ndef r():\n    yield kernels.f(1, z=1)", 3, "unexpected-keyword"),
    "self assigned in other method": (
        "import kernels\nclass A:\n    w = None\n    def setup(self):\n        self.w = kernels.Base(1)\n    def r(self):\n        self.w.plan(1, z=1)",
        7,
        "unexpected-keyword",
    ),
}


def _run(tmp_path: Path, source: str | dict[str, str]) -> list[tuple[int, str, tuple[str, ...]]]:
    library = {"kernels/__init__.py": LIBRARY, "kernels/present.py": "x = 1\n"}
    return drifts(check(tmp_path, source, library))


@pytest.mark.parametrize("name", SILENT)
def test_what_does_not_fail_is_not_reported(tmp_path: Path, name: str) -> None:
    assert _run(tmp_path, SILENT[name]) == []


@pytest.mark.parametrize("name", FAILING)
def test_what_fails_is_reported_where_it_stands(tmp_path: Path, name: str) -> None:
    source, line, kind = FAILING[name]
    assert [(at, what) for at, what, _ in _run(tmp_path, source)] == [(line, kind)]
