"""A small report with one of everything: a break, a guarded finding, a patch in three states, a moved pin."""

from __future__ import annotations

import msgspec
from pinproof.contract.model import Parameter
from pinproof.history.model import Caller, Column, History
from pinproof.history.story import rows
from pinproof.report.model import (
    BumpFact,
    FindingFact,
    GateFact,
    LibraryFact,
    MoveFact,
    PatchFact,
    PluginCell,
    PluginFact,
    ReleaseFact,
    Report,
    VerdictFact,
)
from pinproof.report.tracks import track

CALLEE = "deep_gemm.run"
HOSTILE = "</td><script>alert(1)</script>"


def finding(name: str, *, line: int = 7, guard: str | None = None, message: str = "") -> FindingFact:
    return FindingFact(
        id=f"id-{name}", code="KC101", kind="unexpected-keyword", file=f"vllm/{name}.py", line=line,
        callee=CALLEE, library="deep_gemm", message=message or f"{CALLEE}() takes no keyword {name!r}",
        declared="deep_gemm 2.0, deep_gemm/run.py:3", guard=guard, confidence="always",
    )  # fmt: skip


def release(version: str, *found: FindingFact, library: str = "2.0", probes: int = 3) -> ReleaseFact:
    failing = sum(one.guard is None for one in found)
    return ReleaseFact(
        release=f"vllm=={version}", uploaded=f"2026-08-{version[-1]}1", files=1200, uses=900, bound=800,
        open=100, failing=failing, guarded=len(found) - failing, probes=probes,
        libraries=(LibraryFact(name="deep_gemm", version=library, source="vendored copy", pin=None),),
        findings=found, unchecked={}, command=f"pinproof contract --release vllm=={version}",
    )  # fmt: skip


def verdict(version: str, name: str, without: str | None = None) -> VerdictFact:
    return VerdictFact(
        release=f"vllm=={version}", without=without, verdict=name, sentence=f"because of {name}",
        source="deep_gemm 2.0, deep_gemm/run.py:3",
        command=f"pinproof verdict 0001 --release vllm=={version}",
    )  # fmt: skip


def history() -> History:
    def column(version: str, names: str, passed: str, without: str | None = None) -> Column:
        unexpected = tuple(name for name in passed if name not in names)
        caller = Caller(file="vllm/m.py", line=3, keywords=tuple(passed), unexpected=unexpected)
        return Column(
            release=f"vllm=={version}", without=without, library="2.0", callers=(caller,),
            parameters=tuple(Parameter(name, "positional-or-keyword", True) for name in names),
        )  # fmt: skip

    columns = (column("0.1.0", "xa", "a"), column("0.2.0", "xb", "a", "0001"), column("0.2.0", "xb", "b"))
    return History(callee=CALLEE, library="deep_gemm", project="vllm", rows=rows(columns), columns=columns)


def plugin(*broken: int, pin: str = "0.1.0") -> PluginFact:
    """A plugin with as many broken seams in 0.1.0, 0.2.0 and so on."""
    cells = tuple(
        PluginCell(
            release=f"vllm==0.{number}.0", broken=count, review=0, looked_at=20,
            examples=("omni/m.py:3: KC401 the target is gone",) * count, command="pinproof seams",
        )
        for number, count in enumerate(broken, 1)
    )  # fmt: skip
    return PluginFact(plugin="vllm-omni==0.1.0", engine=f"vllm=={pin}", cells=cells)


def report() -> Report:
    """The report."""
    old = release("0.1.0", finding("gone"), finding("kept", guard="hasattr at line 3"))
    new = release("0.2.0", finding("kept", line=9, guard="hasattr at line 3"),
                  finding("fresh", message=f"takes no {HOSTILE}"), library="2.1", probes=5)  # fmt: skip
    patch = PatchFact(
        name="0001-fix.patch", number="0001", title="Fix the <names>", origin="https://example.org/pull/1",
        upstream_status="Backport [v0.2.0]", callees=(CALLEE,),
        verdicts=(
            verdict("0.1.0", "not-needed"), verdict("0.2.0", "needed", "0001"), verdict("0.2.0", "applied"),
        ),
        gates=(
            GateFact(gate="contract", outcome="pass", summary="1 call binds", when="2026-11-01T00:00:00Z"),
            GateFact(gate="smoke", outcome="not run", summary="no record"),
        ),
    )  # fmt: skip
    move = MoveFact(
        release="vllm==0.2.0", library="flashinfer", project="flashinfer-python", pinned="1.0", newest="1.1",
        breaks=(finding("ahead"),),
        command="pinproof contract --release vllm==0.2.0 --with flashinfer-python==1.1",
    )  # fmt: skip
    bump = BumpFact(
        library="deep_gemm", before="2.0", after="2.1", release="vllm==0.2.0",
        changed=12, added=3, removed=1, kept=40,
    )  # fmt: skip
    return Report(
        made="2026-12-01T04:00:00Z", pinproof="0", project="vllm", releases=(old, new), patches=(patch,),
        findings=track((old, new), (patch,)), bumps=(bump,), moves=(move,), histories=(history(),),
        plugins=(plugin(0, 2),),
    )  # fmt: skip


def without(**changes: object) -> Report:
    """The report with some of it replaced."""
    return msgspec.structs.replace(report(), **changes)
