"""What a change to the contract gate changes on real releases, against the golden record.

  python tools/ci/golden.py                      compare every release of the record; 1 when one differs
  python tools/ci/golden.py vllm==0.33.0         compare some of them
  python tools/ci/golden.py --update [NAME...]   write what is found now, and show how it differs
  python tools/ci/golden.py --dump DIR [NAME...] write every use, one a line: to compare states of the code

tests/data/golden/ holds a file for each release: the findings, those behind a guard with what guards
them, and for each library how many uses were bound and left open, and why. A library pinned to a range
is taken at the version that the record names, so that a new release of it changes nothing. The first run
downloads the releases' Python files; later ones need no network. Signatures that other code has read from
a library are read again, whatever the number of the snapshots' format says.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from pinproof import stamp
from pinproof.contract.check import check_tree
from pinproof.contract.model import CallCheck, LibraryUsed, Report
from pinproof.contract.output.findings import findings
from pinproof.contract.sources import memory
from pinproof.errors import PinproofError
from pinproof.paths import cache_dir
from pinproof.releases import parse_release, release_tree

HERE = Path(__file__).resolve().parents[2] / "tests/data/golden"

Record = dict[str, Any]


def report(release: str, floating: dict[str, str]) -> Report:
    """Check one release anew; `floating` names the versions of libraries that it pins to a range."""
    return check_tree(release_tree(*parse_release(release)), libraries=floating)


def record(found: Report, floating: dict[str, str]) -> Record:
    """A report as the golden record keeps it: nothing in it depends on the machine, the day or the cache."""
    every = findings(found.calls, guarded=True)
    shown = ("id", "code", "file", "line", "col", "message", "guard")
    rows = [{k: v for k in shown if (v := getattr(f, k)) is not None} for f in every]
    rows.sort(key=lambda row: (row["file"], row["line"], row["col"], row["id"], row.get("guard", "")))
    used = {u.library: u for u in found.libraries}
    return {
        "libraries": {n: _library(n, used.get(n), found, floating) for n in sorted(_named(found))},
        "unread": {u.file: u.reason for u in found.unread},
        "files": found.files_seen,
        "findings": rows,
        "uses": hashlib.sha256("\n".join(uses(found)).encode()).hexdigest()[:16],
    }


def _named(found: Report) -> set[str]:
    return {u.library for u in found.libraries} | {c.library for c in found.calls}


def _library(name: str, used: LibraryUsed | None, found: Report, floating: dict[str, str]) -> Record:
    calls = [call for call in found.calls if call.library == name]
    made: Record = {"version": used.version if used else "not available"}
    if used is not None and (name in floating or "the newest that" in used.source):
        made["floating"] = True
    made["bound"] = sum(call.open is None for call in calls)
    made["open"] = dict(sorted(Counter(call.open for call in calls if call.open is not None).items()))
    return made


def uses(found: Report) -> list[str]:
    """Every use of a watched library and all that was made of it, one a line."""
    return sorted(msgspec.json.encode(_plain(call)).decode() for call in found.calls)


def _plain(call: CallCheck) -> dict[str, Any]:
    return {k: v for k, v in msgspec.to_builtins(call).items() if v not in (None, "", [], ())}


def text(made: Record) -> str:
    """A record as its file holds it: one finding, and one library, a line."""
    lines = []
    for key, value in made.items():
        if key in ("libraries", "findings") and value:
            rows = value.items() if isinstance(value, dict) else ((None, row) for row in value)
            each = [f"{json.dumps(n)}: {json.dumps(r)}" if n else json.dumps(r) for n, r in rows]
            left, right = "{}" if isinstance(value, dict) else "[]"
            lines.append(f"{json.dumps(key)}: {left}\n " + ",\n ".join(each) + f"\n{right}")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def changes(before: Record, now: Record) -> Iterator[str]:
    """What differs, one difference a line: findings new, gone or guarded otherwise, then the counts."""
    yield from _findings(_by_id(before), _by_id(now))
    for name in sorted({*before["libraries"], *now["libraries"]}):
        yield from _counts(name, before["libraries"].get(name), now["libraries"].get(name))
    for key in ("files", "unread"):
        if before[key] != now[key]:
            yield f"{key}: {before[key]} -> {now[key]}"
    if before["uses"] != now["uses"]:
        yield f"uses: {before['uses']} -> {now['uses']} (all of them, each with its signature and keywords)"


def _by_id(made: Record) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for row in made["findings"]:
        found.setdefault(row["id"], []).append(row)
    return found


def _findings(before: dict[str, list[Record]], now: dict[str, list[Record]]) -> Iterator[str]:
    for name in sorted({*before, *now}, key=lambda n: str((now.get(n) or before[n])[0]["file"])):
        old, new = ([_said(row) for row in side.get(name, [])] for side in (before, now))
        for row in difflib.ndiff(old, new):
            if row[0] in "-+":
                yield f"{'gone' if row[0] == '-' else 'new '} {row[2:]}"


def _said(row: Record) -> str:
    guard = f" [guarded: {row['guard']}]" if "guard" in row else ""
    return f"{row['id']} {row['file']}:{row['line']}:{row['col']}: {row['code']} {row['message']}{guard}"


def _counts(name: str, before: Record | None, now: Record | None) -> Iterator[str]:
    if before is None or now is None:
        yield f"library {name}: {'new' if before is None else 'gone'} {now or before}"
        return
    for key in ("version", "floating", "bound"):
        if before.get(key) != now.get(key):
            yield f"library {name}: {key} {before.get(key)} -> {now.get(key)}"
    total = sum(before["open"].values()), sum(now["open"].values())
    if total[0] != total[1]:
        yield f"library {name}: open {total[0]} -> {total[1]}"
    for reason in sorted({*before["open"], *now["open"]}):
        old, new = before["open"].get(reason, 0), now["open"].get(reason, 0)
        if old != new:
            yield f"library {name}: open {old} -> {new}: {reason}"


def _floating(made: Record | None) -> dict[str, str]:
    libraries = made["libraries"] if made else {}
    return {name: library["version"] for name, library in libraries.items() if library.get("floating")}


def own_signatures() -> None:
    """Keep the libraries' signatures apart, in a folder for just the code that reads them."""
    plain = memory.FORMAT
    memory.FORMAT = f"{plain}-{stamp.content('contract/declared', 'contract/syntax')[:12]}"
    for folder in cache_dir("signatures").glob(f"{plain}-*"):
        if folder.name != memory.FORMAT:
            shutil.rmtree(folder, ignore_errors=True)


def _one(release: str, update: bool, dump: Path | None) -> bool:
    """Check one release and say what differs; whether nothing does."""
    file = HERE / f"{release}.json"
    before = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
    floating = _floating(before)
    start = time.monotonic()
    found = report(release, floating)
    now = json.loads(text(record(found, floating)))
    differ = [] if before is None else list(changes(before, now))
    guarded = sum("guard" in row for row in now["findings"])
    print(
        f"{release}: {len(now['findings']) - guarded} failing, {guarded} guarded, {len(found.bound)} bound, "
        f"{len(found.open)} open; {'no record yet' if before is None else f'{len(differ)} differences'} "
        f"({time.monotonic() - start:.1f} s)",
        flush=True,
    )
    for line in differ:
        print(f"  {line}")
    if dump is not None:
        dump.mkdir(parents=True, exist_ok=True)
        (dump / f"{release}.jsonl").write_text("\n".join(uses(found)) + "\n", encoding="utf-8")
    if update:
        file.write_text(text(now), encoding="utf-8")
    return not differ and (before is not None or update)


def main(arguments: list[str]) -> int:
    """Compare or write the record: 0 when nothing differs, 1 when something does, 2 or 5 on an error."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("releases", nargs="*", metavar="NAME==V", help="default: all of the record")
    parser.add_argument("--update", action="store_true", help="write what is found now")
    parser.add_argument("--dump", type=Path, metavar="DIR", help="also write every use, one a line")
    args = parser.parse_args(arguments)
    own_signatures()
    same = True
    try:
        for release in args.releases or sorted(path.stem for path in HERE.glob("*.json")):
            same &= _one(release, args.update, args.dump)
    except PinproofError as error:
        print(f"golden: {error.message}", file=sys.stderr)
        return int(error.exit_code)
    return 0 if same or args.update else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
