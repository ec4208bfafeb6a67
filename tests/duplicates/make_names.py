"""Write tests/data/vllm-names.json: real file names of a vLLM release, each with names from its code.

Run it on an unpacked release: `python -m tests.duplicates.make_names TREE`. Its output is the stuff that
the synthetic pull requests are made of.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

FOLDERS = ("vllm", "tests", "csrc", "cmake", "requirements", "docker", "benchmarks", "rust", "tools")
SUFFIXES = {".py", ".cu", ".cuh", ".cpp", ".cmake", ".txt", ".rs", ".sh", ".xpu", ""}
FILES = 700
NAMES = 48
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{4,47}")


def main(tree: Path) -> None:
    """Choose the files and names, and write them."""
    texts = {path.relative_to(tree).as_posix(): path.read_text("utf-8", "ignore") for path in _files(tree)}
    spread: Counter[str] = Counter()
    for text in texts.values():
        spread.update(set(_NAME.findall(text)))
    table = {path: _names(text, spread) for path, text in texts.items()}
    rich = [path for path in table if len(table[path]) > NAMES // 2]
    rich.sort(key=lambda path: (-len(texts[path]), path))
    tests = [path for path in rich if path.startswith("tests/")][: FILES // 4]
    code = [path for path in rich if not path.startswith("tests/")][: FILES - len(tests)]
    lines = ",\n".join(
        f" {json.dumps(path)}: {json.dumps(' '.join(table[path]))}" for path in [*code, *tests]
    )
    target = Path(__file__).parent.parent / "data" / "vllm-names.json"
    target.write_text("{\n" + lines + "\n}\n")


def _files(tree: Path) -> list[Path]:
    found = [path for folder in FOLDERS for path in (tree / folder).rglob("*") if path.is_file()]
    return [path for path in sorted(found) if path.suffix in SUFFIXES and "third_party" not in path.parts]


def _names(text: str, spread: Counter[str]) -> list[str]:
    """A file's names: half that stand in few other files, half that stand in many, as in real changes."""
    counted = Counter(_NAME.findall(text))
    own = sorted(
        (name for name in counted if spread[name] <= 12 and "_" in name), key=lambda n: (-counted[n], n)
    )
    shared = sorted(
        (name for name in counted if spread[name] > 12 and "_" in name), key=lambda n: (-counted[n], n)
    )
    return [*own[: NAMES // 2 + 2], *shared[: NAMES // 2 - 2]]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
