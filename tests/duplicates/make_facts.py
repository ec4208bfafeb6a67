"""Write tests/data/duplicates.json from a corpus of known duplicates: facts only, no text of GitHub's.

Run it as `python -m tests.duplicates.make_facts CORPUS`, a file with `pairs` and `hard_negatives`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.duplicates.facts import DATA

PAIR = ("dup_pr", "original_pr", "dup_title", "orig_title", "dup_date", "orig_date", "dup_state",
        "orig_state", "relation", "evidence_level", "shared_issue", "files", "identifiers")  # fmt: skip
NEGATIVE = ("pr", "other_pr", "files", "identifiers", "why_not_duplicate")


def main(corpus: Path) -> None:
    """Keep the facts that the synthetic repository is planted with."""
    source: dict[str, Any] = json.loads(corpus.read_text())
    both = both_sided(source["meta"].get("shared_issue", ""))
    pairs = [{key: pair[key] for key in PAIR} for pair in source["pairs"]]
    for pair in pairs:
        pair["issue_on_both"] = frozenset((pair["dup_pr"], pair["original_pr"])) in both
    negatives = [{key: pair[key] for key in NEGATIVE} for pair in source["hard_negatives"]]
    rows = {"pairs": pairs, "hard_negatives": negatives}
    text = ",\n".join(
        f' "{name}": [\n' + ",\n".join("  " + json.dumps(row) for row in items) + "\n ]"
        for name, items in rows.items()
    )
    DATA.write_text("{\n" + text + "\n}\n")


def both_sided(text: str) -> set[frozenset[int]]:
    """The pairs of which both sides name the issue, as the corpus lists them: `53288/53274, ...`."""
    import re

    return {frozenset((int(one), int(other))) for one, other in re.findall(r"(\d+)/(\d+)", text)}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
