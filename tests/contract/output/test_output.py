"""What the command prints and exits with: for people, GitHub, code scanning and machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pinproof.cli import main
from pinproof.contract.model import Parameter, Place, Signature
from pinproof.contract.output import sarif
from pinproof.contract.output.findings import findings, spelled

from tests.contract.small import check, write

BAD = "import kernels\nkernels.f(1, activation_beta=2)\nkernels.gone\n"
GUARDED = "import kernels\nfrom vllm.platforms import is_hip\nif is_hip():\n    kernels.f(1, bad=2)\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write(tmp_path / "library", {"deep_gemm/__init__.py": "def f(a, situ_beta=0): ...\n"})
    bad = BAD.replace("kernels", "deep_gemm")
    return write(tmp_path / "tree", {"vllm/__init__.py": "", "vllm/m.py": bad, "vllm/fine.py": "x = 1\n"})


def contract(tree: Path, *arguments: str) -> int:
    return main(["contract", str(tree), "--library", f"deep_gemm={tree.parent / 'library'}", *arguments])


def test_a_finding_says_where_what_and_which_name_is_meant(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert contract(tree) == 1
    out = capsys.readouterr().out
    assert "vllm/m.py:2:1: KC101 deep_gemm.f() takes no keyword 'activation_beta'" in out
    assert "deep_gemm/__init__.py:1; nearest: situ_beta" in out
    assert "vllm/m.py:3:1: KC201 deep_gemm has no deep_gemm.gone" in out
    assert "2 failing calls" in out


def test_a_clean_tree_says_what_was_looked_at(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "vllm/m.py").write_text("import deep_gemm\ndeep_gemm.f(1, situ_beta=2)\n")
    assert contract(tree) == 0
    assert "3 files, 1 uses of watched libraries; 1 bound, 0 open" in capsys.readouterr().out


def test_explain_prints_the_signature_and_the_way_there(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contract(tree, "--json")
    (first, *_) = json.loads(capsys.readouterr().out)["findings"]
    assert contract(tree, "--explain", first["id"]) == 0
    out = capsys.readouterr().out
    assert "deep_gemm.f(a, situ_beta=...)" in out
    assert "pinproof explain KC101" in out
    assert contract(tree, "--explain", first["id"], "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["finding"]["id"] == first["id"]
    assert told["signature"] == "deep_gemm.f(a, situ_beta=...)"


def test_a_parameter_given_twice_is_said_to_be(tmp_path: Path) -> None:
    report = check(tmp_path, "import kernels\nkernels.f(1, a=2)\n", "def f(a): ...\n")
    (finding,) = findings(report.calls)
    assert finding.message == "kernels.f() gets 'a' twice, by position and by keyword"


def test_explain_refuses_an_unknown_id(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert contract(tree, "--explain", "0000000000") == 2
    assert "no finding has the id" in capsys.readouterr().err


def test_json_carries_coverage_and_sources(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert contract(tree, "--json") == 1
    record = json.loads(capsys.readouterr().out)
    assert record["schema"] == "pinproof.contract/1"
    assert record["coverage"] == {"files": 3, "uses": 2, "bound": 2, "open": 0, "failing": 2, "guarded": 0}
    assert [library["library"] for library in record["libraries"]] == ["deep_gemm"]


def test_github_gets_escaped_annotations(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert contract(tree, "--github") == 1
    line = capsys.readouterr().out.splitlines()[0]
    assert line.startswith("::error file=vllm/m.py,line=2,col=1,title=KC101 unexpected-keyword::")


def test_an_id_outlives_a_move_of_lines(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def ids() -> list[str]:
        contract(tree, "--json")
        return [f["id"] for f in json.loads(capsys.readouterr().out)["findings"]]

    before = ids()
    (tree / "vllm/m.py").write_text("# moved\n\n" + (tree / "vllm/m.py").read_text())
    assert ids() == before


def test_sarif_is_what_the_standard_asks_for(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import jsonschema

    assert contract(tree, "--sarif") == 1
    log = json.loads(capsys.readouterr().out)
    schema = json.loads((Path(__file__).parents[2] / "data/contract/sarif-2.1.0-subset.json").read_text())
    jsonschema.Draft7Validator(schema).validate(log)
    (run,) = log["runs"]
    assert [r["ruleId"] for r in run["results"]] == ["KC101", "KC201"]
    assert all(run["tool"]["driver"]["rules"][r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"])


def test_sarif_suppresses_what_a_guard_keeps_from_running(tmp_path: Path) -> None:
    report = check(tmp_path, GUARDED, "def f(a): ...\n")
    (result,) = sarif.log(findings(report.calls, guarded=True))["runs"][0]["results"]
    assert (result["level"], result["suppressions"][0]["kind"]) == ("note", "inSource")


def test_guarded_drift_is_shown_on_request_only(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "vllm/m.py").write_text(GUARDED.replace("kernels", "deep_gemm"))
    assert contract(tree) == 0
    assert "1 behind a guard (--include-guarded)" in capsys.readouterr().out
    assert contract(tree, "--include-guarded") == 0
    assert "guarded by line 3: if is_hip() (never so here)" in capsys.readouterr().out


def test_only_the_given_files_are_checked(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert contract(tree, "--files", "vllm/fine.py") == 0
    assert contract(tree, "--files", str(tree / "vllm/m.py")) == 1
    assert contract(tree, "--files", "vllm/nowhere.py") == 2
    capsys.readouterr()


def test_a_moved_pin_shows_only_what_it_would_break(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "vllm/fine.py").write_text("import deep_gemm\ndeep_gemm.f(1, situ_beta=2)\n")
    moved = write(tree.parent / "moved", {"deep_gemm/__init__.py": "def f(a, *, activation_beta=0): ...\n"})
    assert contract(tree, "--with", f"deep_gemm=={moved}") == 1
    out = capsys.readouterr().out
    assert "vllm/fine.py:2:1: KC101 deep_gemm.f() takes no keyword 'situ_beta'" in out
    assert "1 failing call\n" in out  # deep_gemm.gone is missing before as well


def test_a_pinned_library_that_cannot_be_had_is_never_a_silent_pass(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / "cmake/external_projects").mkdir(parents=True)
    (tree / "cmake/external_projects/deepgemm.cmake").write_text(
        "GIT_REPOSITORY file:///nowhere\nGIT_TAG 0123456789012345678901234567890123456789\n"
    )
    assert main(["contract", str(tree)]) == 5
    out = capsys.readouterr().out
    assert "cannot check deep_gemm" in out
    assert "--library deep_gemm=git+file:///nowhere" in out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["/nowhere"],
        ["--release", "vllm==1", "x"],
        [".", "--library", "deep_gemm"],
        [".", "--library", "x=1"],
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(
    arguments: list[str], tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tree)
    assert main(["contract", *arguments]) == 2
    assert capsys.readouterr().err.startswith("pinproof contract: ")


def test_a_signature_is_spelled_as_python_shows_it() -> None:
    found = Signature(
        name="f",
        parameters=(
            Parameter("a", "positional-only"),
            Parameter("b", "positional-or-keyword", True),
            Parameter("c", "keyword-only"),
            Parameter("d", "var-keyword"),
        ),
        place=Place(source="s", file="f.py", line=1),
    )
    assert spelled(found) == "f(a, /, b=..., *, c, **d)"


def test_every_code_has_its_page() -> None:
    from pinproof.contract.output.findings import CODES

    pages = Path(__file__).parents[3] / "docs/contract-codes"
    assert {page.stem for page in pages.glob("KC[125]*.md")} == set(CODES.values())
