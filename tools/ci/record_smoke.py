"""Turn what `pinproof smoke --json` printed into an evidence record that travels.

python tools/ci/record_smoke.py RESULT PATCH TREE RECORD
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
from pinproof.console import one_line, say
from pinproof.errors import PinproofError
from pinproof.gate import GateResult
from pinproof.patchset.series import find_patch
from pinproof.paths import atomic_write
from pinproof.runner import guarded_output
from pinproof.submit.evidence import record
from pinproof.submit.records import encode
from pinproof.tree import open_tree


class _Printed(msgspec.Struct):
    gate: GateResult


def main(arguments: list[str]) -> int:
    """Write the record; 0 when it is written, 2 with one line when it cannot be."""
    result, patch, tree, target = arguments
    try:
        gate = msgspec.json.decode(Path(result).read_bytes(), type=_Printed).gate
        made = record(find_patch(patch), open_tree(tree), gate)
        atomic_write(Path(target), encode(made))
    except (PinproofError, msgspec.DecodeError, OSError) as error:
        print(f"::error::no record: {one_line(str(error))}")
        return 2
    with guarded_output():
        say(f"{made.gate}: {made.outcome}: {one_line(made.summary)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
