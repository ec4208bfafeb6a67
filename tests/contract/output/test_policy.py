"""What a run comes to: exit codes, what was accepted, what was not looked at, ids, explain, witness."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pinproof.cli import main
from pinproof.contract.output.codes import codes, page
from pinproof.errors import InputError

from tests.contract.small import write

LIBRARY = "def f(a, situ_beta=0): ...\n"
TWICE = "import deep_gemm\n\n\ndef go(x):\n    deep_gemm.f(x, bad=1)\n    deep_gemm.f(2, bad=1)\n"
FINE = "import deep_gemm\ndeep_gemm.f(1, situ_beta=2)\n"
Out = pytest.CaptureFixture[str]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write(tmp_path / "library", {"deep_gemm/__init__.py": LIBRARY})
    return write(tmp_path / "tree", {"vllm/__init__.py": "", "vllm/m.py": TWICE})


def contract(tree: Path, *arguments: str, given: bool = True) -> int:
    library = ["--library", f"deep_gemm={tree.parent / 'library'}"] if given else []
    return main(["contract", str(tree), *library, *arguments])


def as_json(tree: Path, capsys: Out) -> Any:
    contract(tree, "--json")
    return json.loads(capsys.readouterr().out)


def ids(tree: Path, capsys: Out) -> list[str]:
    return [finding["id"] for finding in as_json(tree, capsys)["findings"]]


def settings(tree: Path, text: str) -> None:
    (tree / "pinproof.toml").write_text(text)


def accepted(name: str, until: str = "2999-01-01") -> str:
    return f'[[accepted]]\nfinding = "{name}"\nreason = "it runs on another machine"\nuntil = {until}\n'


def test_calls_alike_in_one_file_have_ids_of_their_own_that_outlive_moved_lines(
    tree: Path, capsys: Out
) -> None:
    first = ids(tree, capsys)
    assert len(set(first)) == 2
    (tree / "vllm/m.py").write_text("# one\n# two\n" + TWICE)
    assert ids(tree, capsys) == first


def test_accepted_findings_pass_until_their_day_and_are_said(tree: Path, capsys: Out) -> None:
    one, two = ids(tree, capsys)
    settings(tree, accepted(one) + accepted(two))
    assert contract(tree) == 0
    out = capsys.readouterr().out
    assert f"accepted: {one} KC101 vllm/m.py:5: it runs on another machine" in out
    assert "0 failing calls, 2 accepted" in out
    settings(tree, accepted(one) + accepted(two, "2020-01-01"))
    assert contract(tree) == 1
    assert f"accepted finding {two} has expired on 2020-01-01" in capsys.readouterr().out


def test_an_entry_that_nothing_needs_is_reported(tree: Path, capsys: Out) -> None:
    left_out = '[[unchecked]]\nlibrary = "deep_gemm"\nreason = "not needed at all"\n'
    settings(tree, accepted("0000000000") + left_out)
    contract(tree)
    out = capsys.readouterr().out
    assert "accepted finding 0000000000 is not among the findings: take it out" in out
    assert "deep_gemm is left unchecked, but its signatures are available" in out


def test_settings_may_stand_in_pyproject(tree: Path, capsys: Out) -> None:
    one, two = ids(tree, capsys)
    text = (accepted(one) + accepted(two)).replace("[[accepted]]", "[[tool.pinproof.accepted]]")
    (tree / "pyproject.toml").write_text(text)
    assert contract(tree) == 0


REPOSITORY = '[[library]]\nname = "x"\nimports = ["x"]\nrepository = "https://example.org/x"\n'


@pytest.mark.parametrize(
    "text", ["x = 1", "[[accepted]]\nfinding = 'a'", "[[accepted]", accepted("a", "'soon'"), REPOSITORY]
)
def test_settings_that_cannot_be_read_are_bad_input(tree: Path, text: str, capsys: Out) -> None:
    settings(tree, text)
    assert contract(tree) == 2
    assert "pinproof.toml" in capsys.readouterr().err


def test_a_pinned_library_without_signatures_is_5_until_it_is_left_out_on_purpose(
    tree: Path, capsys: Out
) -> None:
    pin = f"  GIT_REPOSITORY https://nowhere.invalid/d.git\n  GIT_TAG {'a' * 40}\n"
    write(tree, {"cmake/external_projects/deepgemm.cmake": pin})
    assert contract(tree, given=False) == 5
    assert "cannot check deep_gemm (2 uses)" in capsys.readouterr().out
    settings(tree, '[[unchecked]]\nlibrary = "deep_gemm"\nreason = "built by another team"\n')
    assert contract(tree, given=False) == 0


def test_a_baseline_leaves_only_what_is_new(tree: Path, capsys: Out) -> None:
    base = tree.parent / "base.json"
    base.write_text(json.dumps(as_json(tree, capsys)))
    assert contract(tree, "--baseline", str(base)) == 0
    assert "0 failing calls, 2 known from the baseline" in capsys.readouterr().out
    (tree / "vllm/m.py").write_text(TWICE + "    deep_gemm.f(3, bad=1)\n")
    assert contract(tree, "--baseline", str(base)) == 1
    assert "1 failing call, 2 known" in capsys.readouterr().out
    assert contract(tree, "--baseline", str(tree / "vllm/m.py")) == 2


@pytest.mark.parametrize("form", ["--json", "--github", "--sarif", ""])
@pytest.mark.parametrize("kind", ["linked file", "linked folder", "no python"])
def test_what_was_not_read_is_5_and_named_in_every_form(
    tree: Path, kind: str, form: str, capsys: Out
) -> None:
    outside = write(tree.parent / "cache", {"n.py": TWICE})
    (tree / "vllm/m.py").write_text(FINE)
    if kind == "linked file":
        (tree / "vllm/n.py").symlink_to(outside / "n.py")
    elif kind == "linked folder":
        (tree / "vllm/n").symlink_to(outside)
    else:
        (tree / "vllm/n.py").write_text("import deep_gemm\ndef broken(:\n")
    assert contract(tree, *filter(None, [form])) == 5
    assert "not read: vllm/n" in capsys.readouterr().out


def test_uses_without_one_that_was_bound_are_5(tree: Path, capsys: Out) -> None:
    assert contract(tree, given=False) == 5
    assert "nothing was checked: none of 2 uses of watched libraries was bound" in capsys.readouterr().out


def test_pins_that_disagree_are_a_finding_with_both_places_and_5(tree: Path, capsys: Out) -> None:
    write(tree, {
        "vllm/m.py": FINE, "vllm/third_party/deep_gemm/__init__.py": LIBRARY,
        "cmake/external_projects/deepgemm.cmake": f"GIT_TAG {'a' * 40}\n",
        "tools/install_deepgemm.sh": f"DEEPGEMM_GIT_REF={'b' * 40}\n",
    })  # fmt: skip
    assert contract(tree, given=False) == 5
    out = capsys.readouterr().out
    assert "KC501 the pins of deep_gemm disagree: cmake/external_projects/deepgemm.cmake:1 says" in out
    assert "but tools/install_deepgemm.sh:1 says" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--library", "quack=/nonexistent"], "--library quack=/nonexistent: no such file or folder"),
        (["--library", "quack"], "is not NAME=SPEC"),
        (["--library", "nope=1"], "'nope' is not a watched library"),
        (["--library", "quack=.", "--library", "quack-kernels=.."], "is given twice"),
        (["--with", "quack"], "write NAME==V"),
        (["--with", "quack==1", "--with", "quack-kernels==2"], "names quack twice"),
        (["--explain", "0123456789"], "no finding has the id"),
        (["--witness", "0123456789"], "no finding has the id"),
    ],
)
def test_a_wrong_option_is_2_and_says_what_is_wrong(
    tree: Path, arguments: list[str], says: str, capsys: Out
) -> None:
    assert contract(tree, *arguments, given=False) == 2
    assert says in capsys.readouterr().err


def test_a_witness_is_printed_and_dies_as_the_call_will(tree: Path, capsys: Out) -> None:
    one, _ = ids(tree, capsys)
    assert contract(tree, "--witness", one) == 0
    shown = capsys.readouterr()
    error = "TypeError: f() got an unexpected keyword argument 'bad'"
    assert f"vllm/m.py:5 raises {error}" in shown.err
    program = [sys.executable, "-I", "-"]
    ran = subprocess.run(program, input=shown.out, capture_output=True, text=True, check=False)
    assert ran.stderr.strip().endswith(error)


def test_every_code_is_explained_by_the_tool(capsys: Out) -> None:
    assert main(["explain"]) == 0
    listed = capsys.readouterr().out
    for code in codes():
        assert code in listed
        assert main(["explain", code]) == 0
        assert capsys.readouterr().out.startswith(f"# {code}")
    assert main(["explain", "KC999"]) == 2
    with pytest.raises(InputError):
        page("../../README")
