"""Every shape in which a tree states a pin is read, with its place; disagreements are found."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pinproof.pins import Pin, disagreements, find_pin, read_pins
from pinproof.tree import DiskFiles, OverlayFiles, Tree, open_tree

A, B = "a" * 40, "b" * 40


def tree_of(root: Path, **files: str) -> Tree:
    """A plain tree; keyword names write `/` as `__` and `.` as `_dot_`."""
    named = {name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()}
    for path, text in {"vllm/__init__.py": "", **named}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return open_tree(root)


def told(pins: list[Pin]) -> list[tuple[str, str, bool, str, int]]:
    return [(pin.library, pin.spec, pin.exact, pin.file, pin.line) for pin in pins]


CMAKE = "cmake__external_projects__deepgemm_dot_cmake"
SHELL = "tools__install_deepgemm_dot_sh"


def test_a_cmake_tag_is_a_pin_at_its_line(tmp_path: Path) -> None:
    text = (
        f"FetchContent_Declare(\n  deepgemm\n  GIT_REPOSITORY https://example.org/d.git\n  GIT_TAG {A}\n)\n"
    )
    (pin,) = read_pins(tree_of(tmp_path, **{CMAKE: text}))
    assert told([pin]) == [("deep_gemm", A, True, "cmake/external_projects/deepgemm.cmake", 4)]
    assert pin.repo == "https://example.org/d.git"


def test_a_cmake_variable_is_followed_to_where_its_value_is_written(tmp_path: Path) -> None:
    text = (
        f'set(TAG "{A}")\nset(URL "https://example.org/d.git")\nGIT_REPOSITORY ${{URL}}\nGIT_TAG ${{TAG}}\n'
    )
    (pin,) = read_pins(tree_of(tmp_path, **{CMAKE: text}))
    assert (pin.spec, pin.line, pin.repo) == (A, 1, "https://example.org/d.git")


def test_cmake_variables_that_point_at_each_other_end(tmp_path: Path) -> None:
    (pin,) = read_pins(tree_of(tmp_path, **{CMAKE: 'set(A "${B}")\nset(B "${A}")\nGIT_TAG ${A}\n'}))
    assert pin.library == "deep_gemm"


def test_an_install_script_states_a_pin(tmp_path: Path) -> None:
    text = f'#!/bin/bash\nDEEPGEMM_GIT_REPO="https://example.org/d.git"\nDEEPGEMM_GIT_REF="{A}"\n'
    (pin,) = read_pins(tree_of(tmp_path, **{SHELL: text}))
    assert told([pin]) == [("deep_gemm", A, True, "tools/install_deepgemm.sh", 3)]


def test_only_the_first_value_of_a_script_counts(tmp_path: Path) -> None:
    """Later lines are the option parser's: `DEEPGEMM_GIT_REF="$2"`."""
    (pin,) = read_pins(tree_of(tmp_path, **{SHELL: f'DEEPGEMM_GIT_REF="{A}"\nDEEPGEMM_GIT_REF="$2"\n'}))
    assert pin.spec == A


@pytest.mark.parametrize(
    ("line", "spec", "exact"),
    [
        ("flashinfer-python==0.6.12", "0.6.12", True),
        ("FlashInfer_Python == 0.6.12  # why", "0.6.12", True),
        ("flashinfer-python==0.6.*", "==0.6.*", False),
        ("flashinfer-python>=0.3,<0.5", "<0.5,>=0.3", False),
        ("flashinfer-python", "any", False),
        ('flashinfer-python==0.6.12; platform_machine == "x86_64"', "0.6.12", True),
        ("flashinfer-python[extra]===0.6.12", "===0.6.12", False),
    ],
)
def test_requirement_lines(tmp_path: Path, line: str, spec: str, exact: bool) -> None:
    (pin,) = read_pins(tree_of(tmp_path, requirements__cuda_dot_txt=f"# first\n{line}\n"))
    assert told([pin]) == [("flashinfer-python", spec, exact, "requirements/cuda.txt", 2)]


@pytest.mark.parametrize(
    "line", ["-r common.txt", "--extra-index-url x", "# c", "", "==1", "a b c", "[x]==1"]
)
def test_what_is_no_requirement_is_passed_over(tmp_path: Path, line: str) -> None:
    assert read_pins(tree_of(tmp_path, requirements__cuda_dot_txt=line + "\n")) == []


def test_the_dockerfile_states_pins(tmp_path: Path) -> None:
    text = f"FROM x\nARG FLASHINFER_VERSION=0.6.12\nARG OTHER=1\nARG DEEPEP_COMMIT_HASH={A}\n"
    pins = read_pins(tree_of(tmp_path, docker__Dockerfile=text))
    assert [(pin.library, pin.spec, pin.line) for pin in pins] == [
        ("deep_ep", A, 4), ("flashinfer-python", "0.6.12", 2),
    ]  # fmt: skip


def test_core_metadata_states_pins_but_not_those_of_extras(tmp_path: Path) -> None:
    text = (
        "Metadata-Version: 2.4\nName: vllm\nVersion: 1.0\nRequires-Dist: flashinfer-python==0.6.12\n"
        'Requires-Dist: runai==1.0; extra == "runai"\n\nRequires-Dist: body==1.0\n'
    )
    pins = read_pins(tree_of(tmp_path, **{"PKG-INFO": text}))
    assert told(pins) == [("flashinfer-python", "0.6.12", True, "PKG-INFO", 4)]


def test_two_places_that_agree_are_no_disagreement(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, **{CMAKE: f"GIT_TAG {A}\n", SHELL: f'DEEPGEMM_GIT_REF="{A}"\n'})
    assert disagreements(read_pins(tree)) == []


def test_a_v_before_a_version_is_no_disagreement(tmp_path: Path) -> None:
    tree = tree_of(
        tmp_path,
        requirements__cuda_dot_txt="flashinfer-python==0.6.12\n",
        docker__Dockerfile="ARG FLASHINFER_VERSION=v0.6.12\n",
    )
    assert disagreements(read_pins(tree)) == []


def test_two_places_that_differ_are_both_named(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, **{CMAKE: f"GIT_TAG {A}\n", SHELL: f'DEEPGEMM_GIT_REF="{B}"\n'})
    (split,) = disagreements(read_pins(tree))
    assert split.library == "deep_gemm"
    assert {pin.spec for pin in split.pins} == {A, B}


def test_an_open_range_beside_an_exact_pin_is_no_disagreement_and_does_not_decide(tmp_path: Path) -> None:
    tree = tree_of(
        tmp_path,
        requirements__cuda_dot_txt="flashinfer-python>=0.5\n",
        docker__Dockerfile="ARG FLASHINFER_VERSION=0.6.12\n",
    )
    pins = read_pins(tree)
    assert disagreements(pins) == []
    decides = find_pin(pins, "flashinfer-python")
    assert decides is not None
    assert decides.spec == "0.6.12"


def test_only_the_libraries_asked_for(tmp_path: Path) -> None:
    tree = tree_of(
        tmp_path,
        requirements__cuda_dot_txt="torch==2.9.0\nflashinfer_python==0.6.12\n",
        **{CMAKE: f"GIT_TAG {A}\n"},
    )
    every = read_pins(tree)
    assert [pin.library for pin in every] == ["deep_gemm", "flashinfer-python", "torch"]
    for pin in every:
        assert read_pins(tree, only=(pin.library,)) == [pin]
    assert read_pins(tree, only=()) == []


def test_a_tree_that_states_nothing_has_no_pins(tmp_path: Path) -> None:
    assert read_pins(tree_of(tmp_path)) == []


@given(st.binary(max_size=400))
def test_no_bytes_in_any_of_the_files_raise(content: bytes) -> None:
    places = (
        "cmake/external_projects/deepgemm.cmake", "tools/install_deepgemm.sh", "requirements/cuda.txt",
        "docker/Dockerfile", "PKG-INFO",
    )  # fmt: skip
    files = OverlayFiles(DiskFiles(Path(__file__).parent / "none"), dict.fromkeys(places, content))
    for pin in read_pins(Tree("plain", "t", files)):
        assert pin.line >= 1
        assert pin.file in places
