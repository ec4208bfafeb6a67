"""Rung bind: does the launcher's call bind to the kernel, each value under its own parameter? No GPU."""

from __future__ import annotations

from ....child.report import Job, describe, run, say, step, watching


def main(job: Job) -> None:
    """Import the tree's module, run its launcher into a recorder, report what arrived or where it broke."""
    with step("importing torch"):
        from . import launch
    launch.without_gpu()
    with step("importing vllm's fused MoE"):
        module = launch.load()
    if module is None:
        say("absent", what=f"{launch.LAUNCHER} and {launch.KERNEL} in {launch.MODULE}")
        return
    with step("running the real launcher"):
        try:
            with watching(job):
                recorder, given = launch.launch(module)
        except Exception as error:
            say("raised", where=launch.where(error), error=describe(error))
            return
    if len(recorder.launches) != 1:
        say("arrived", wrong=[f"the launcher launched the kernel {len(recorder.launches)} times"])
        return
    arrived, options = recorder.launches[0]
    expected = launch.wanted(given)
    say(
        "arrived",
        values={name: launch.plain(value) for name, value in arrived.items()},
        options=options,
        checked=len(expected.keys() & arrived.keys()),
        parameters=len(arrived),
        wrong=launch.differences(arrived, expected),
        stand_ins=["the kernel (a recorder with its signature)"],
    )


if __name__ == "__main__":
    run(main)
