"""Each command's real JSON fits the schema that is published for it, with nothing beside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pinproof.cli import main
from pinproof.commands.outputs import OUTPUTS, schema
from pinproof.console import json_text
from pinproof.patchset.patchfile import Patch

from tests.conftest import REPO
from tests.index_server import Index, index, sdist, wheel
from tests.trees import SITU, make_tree

__all__ = ["index"]


def strict(node: Any) -> Any:
    """The schema with unknown fields refused: what we print and do not publish is a fault, too."""
    if isinstance(node, list):
        return [strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    closed = {key: strict(value) for key, value in node.items()}
    if node.get("type") == "object" and "properties" in node:
        closed.setdefault("additionalProperties", False)
    return closed


def check(name: str, text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    jsonschema.validate(document, strict(schema(name)), cls=jsonschema.Draft202012Validator)
    assert document["schema"] == f"pinproof.{name}/1"
    return document


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_published_schema_is_the_one_of_the_code(name: str) -> None:
    published = (REPO / f"docs/schemas/{name}.json").read_text("utf-8")
    assert published == json_text(schema(name)), "run: pinproof schema --write docs/schemas"
    jsonschema.Draft202012Validator.check_schema(json.loads(published))


def test_every_schema_has_its_line_on_the_page_and_no_other_is_published() -> None:
    page = (REPO / "docs/json.md").read_text("utf-8")
    assert all(f"(schemas/{name}.json)" in page for name in OUTPUTS)
    assert {path.stem for path in (REPO / "docs/schemas").iterdir()} == set(OUTPUTS)


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("verdict", ["verdict", "TREE"]),
        ("apply", ["apply", "--dry-run", "TREE"]),
        ("contract", ["contract", "TREE"]),
        ("pins", ["pins", "TREE"]),
        ("lint", ["lint"]),
        ("ready", ["ready", "--dry-run", "TREE"]),
        ("status", ["status", "--offline"]),
        ("checklist", ["checklist", "0001", "TREE"]),
        ("evidence-list", ["evidence", "list", "0001", "TREE"]),
        ("export", ["export", "--check", "GITTREE"]),
    ],
)
def test_real_output_fits(
    name: str,
    command: list[str],
    broken_tree: Path,
    broken_git_tree: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    places = {"TREE": str(broken_tree), "GITTREE": str(broken_git_tree)}
    code = main([*(places.get(word, word) for word in command), "--json"])
    out, err = capsys.readouterr()
    assert code in (0, 1, 5), err
    check(name, out)


def test_a_contract_with_everything_in_it_fits(broken_tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (broken_tree / "vllm/more.py").write_text(
        "import flashinfer\nfrom vllm.utils.deep_gemm import _import_deep_gemm\n"
        "def g(kw):\n    _import_deep_gemm().fp8_fp4_mega_moe(*kw)\n    _import_deep_gemm().nothing()\n"
        "    flashinfer.f()\n"
    )
    main(["contract", str(broken_tree), "--include-guarded", "--json"])
    document = check("contract", capsys.readouterr().out)
    assert all(document[field] for field in ("findings", "libraries", "unchecked", "open", "coverage"))


def test_fetch_and_the_note_of_apply_fit(
    index: Index, tmp_path: Path, patch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_tree(tmp_path / "source", patch, fixed=False, declares=SITU)
    files = {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*.py")}
    index.add("vllm", "vllm-1.0.tar.gz", sdist({f"vllm-1.0/{name}": data for name, data in files.items()}))
    index.add("vllm", "vllm-1.0-py3-none-any.whl", wheel(files))
    assert main(["fetch", "vllm==1.0", str(tmp_path / "new"), "--json"]) == 0
    check("fetch", capsys.readouterr().out)
    info = root / "vllm-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: vllm\nVersion: 1.0\n")
    assert main(["apply", str(root), "--json"]) == 0
    assert check("apply", capsys.readouterr().out)["files"]
    check("applied", (root / "pinproof-applied.json").read_text())


def test_schemas_are_shipped(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "verdict"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "pinproof.verdict/1"
    assert main(["schema"]) == 0
    assert capsys.readouterr().out.split() == list(OUTPUTS)
    assert main(["schema", "nothing"]) == 2
