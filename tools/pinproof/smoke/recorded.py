"""Make the record of a finished climb."""

from __future__ import annotations

from datetime import datetime, timezone

from pinproof.patchset.patchfile import Patch
from pinproof.pins import find_pin, read_pins
from pinproof.smoke.machine import nvcc_version
from pinproof.smoke.probe import Probe
from pinproof.smoke.record import Numerics, Rung, RungResult, SmokeRecord, Statement, scrub, sha256
from pinproof.smoke.session import Session
from pinproof.tree import Tree


def make_record(
    session: Session,
    probe: Probe,
    patch: Patch | None,
    *,
    asked: str,
    results: tuple[RungResult, ...],
    exercised: tuple[Statement, ...],
    reached: Rung | None,
    numerics: Numerics,
    seconds: float,
) -> SmokeRecord:
    """The record of a finished climb.

    Args:
        session: the run.
        probe: what was run.
        patch: the patch it was run for; without one the probe's own files are hashed.
        asked: the rung asked for.
        results: every rung's result.
        exercised: the patch's statements that were run.
        reached: the highest rung that passed.
        numerics: whether the kernel's numbers were compared.
        seconds: wall time of the whole run.
    """
    tree = session.tree
    paths = patch.paths() if patch else tuple(dict.fromkeys(site.file for site in probe.calls))
    contents = {path: tree.read(path) for path in paths}
    gpu = {key: value for key, value in (session.gpu or {}).items() if key != "free_gib"}
    driver, cuda = gpu.pop("driver", None), gpu.pop("cuda", None)
    return SmokeRecord(
        at=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        tree=f"{tree.package} {tree.version}" if tree.version else tree.disk_root().name,
        tree_kind=tree.kind,
        files={path: sha256(data) for path, data in contents.items() if data is not None},
        patch={"name": patch.name, "sha256": sha256(patch.raw)} if patch else None,
        probe=probe.name,
        exercised=exercised,
        versions={
            **session.machine.get("versions", {}),
            "cuda": cuda,
            "driver": driver,
            "nvcc": nvcc_version(),
            **_library_versions(tree, results),
        },
        gpu=scrub(gpu) or None,
        nproc=session.nproc,
        asked=asked,
        reached=reached,
        numerics=numerics,
        sm100_numerics=numerics if probe.numerics_on == 10 else None,
        warm=session.warm,
        rungs=results,
        duration_s=round(seconds, 1),
    )


def _library_versions(tree: Tree, results: tuple[RungResult, ...]) -> dict[str, str | None]:
    """What the DeepGEMM that was run says it is, and the commit that the tree pins."""
    pin = find_pin(read_pins(tree), "deep_gemm")
    library = next((done.details["library"] for done in results if done.details.get("library")), None) or {}
    return {"deep_gemm_library": library.get("version"), "deep_gemm_commit": pin.spec if pin else None}
