"""Every shape in which a tree states a pin is read, with its place; disagreements are found."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pinproof.errors import InputError
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


def test_core_metadata_states_pins_and_those_of_extras_as_such(tmp_path: Path) -> None:
    text = (
        "Metadata-Version: 2.4\nName: vllm\nVersion: 1.0\nRequires-Dist: flashinfer-python==0.6.12\n"
        'Requires-Dist: runai==1.0; extra == "runai"\n\nRequires-Dist: body==1.0\n'
    )
    pins = read_pins(tree_of(tmp_path, **{"PKG-INFO": text}))
    assert told(pins) == [
        ("flashinfer-python", "0.6.12", True, "PKG-INFO", 4), ("runai", "1.0", True, "PKG-INFO", 5),
    ]  # fmt: skip
    assert [(pin.origin, pin.reach, pin.when) for pin in pins] == [
        ("metadata", "always", None), ("metadata", "extra", "extra runai"),
    ]  # fmt: skip


PYPROJECT = """[project]
name = "sglang"
dependencies = [
  "flashinfer_python==0.6.3", # keep it aligned
  'quack-kernels==0.2.4',
  "gguf",
]
[project.optional-dependencies]
srt = ["flash-attn==2.8; sys_platform == 'linux'", "quack-kernels==0.2.4"]
"""


def test_a_pyproject_states_pins_at_their_lines_and_those_of_extras(tmp_path: Path) -> None:
    pins = read_pins(tree_of(tmp_path, pyproject_dot_toml=PYPROJECT))
    assert [(pin.library, pin.spec, pin.line, pin.reach) for pin in pins] == [
        ("flash-attn", "2.8", 9, "extra"), ("flashinfer-python", "0.6.3", 4, "always"),
        ("gguf", "any", 6, "always"), ("quack-kernels", "0.2.4", 5, "always"),
        ("quack-kernels", "0.2.4", 9, "extra"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["[project]\ndependencies = 5\n", "[project\ndependencies = []", "project = 1\n#dependencies ="]
)
def test_a_pyproject_that_cannot_be_read_is_an_error_and_not_an_empty_list(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="cannot be read for its pins"):
        read_pins(tree_of(tmp_path, pyproject_dot_toml=text))


def test_a_pyproject_without_dependencies_is_not_even_parsed(tmp_path: Path) -> None:
    text = '[project]\ndynamic = ["dependencies", "optional-dependencies"]\nnot toml'
    assert read_pins(tree_of(tmp_path, pyproject_dot_toml=text)) == []


@pytest.mark.parametrize(
    ("marker", "reach"),
    [
        ('platform_machine == "s390x"', "elsewhere"),
        ('platform_machine == "x86_64"', "always"),
        ('extra == "flashinfer"', "extra"),
        ('extra == "flashinfer" and sys_platform == "darwin"', "elsewhere"),
        ('python_version < "3.4"', "elsewhere"),
    ],
)
def test_a_marker_says_when_a_pin_holds(tmp_path: Path, marker: str, reach: str) -> None:
    (pin,) = read_pins(tree_of(tmp_path, requirements__cuda_dot_txt=f"flashinfer-python==0.3.1; {marker}\n"))
    assert pin.reach == reach
    decides = find_pin([pin], "flashinfer-python")
    assert decides is pin  # nothing else pins it


def test_the_rocm_image_pins_aiter_with_its_repository(tmp_path: Path) -> None:
    text = (
        'ARG AITER_BRANCH="v0.1.26"\nARG AITER_REPO="https://github.com/ROCm/aiter.git"\nARG AITER_BRANCH\n'
    )
    (pin,) = read_pins(tree_of(tmp_path, docker__Dockerfile_dot_rocm_base=text))
    assert (pin.library, pin.spec, pin.repo) == ("aiter", "v0.1.26", "https://github.com/ROCm/aiter.git")
    assert (pin.reach, pin.when) == ("elsewhere", "rocm")


def test_the_deep_ep_commit_has_its_repository(tmp_path: Path) -> None:
    (pin,) = read_pins(tree_of(tmp_path, docker__Dockerfile="ARG DEEPEP_COMMIT_HASH=d4f41e4e93\n"))
    assert pin.repo == "https://github.com/deepseek-ai/DeepEP"


def test_a_pin_of_this_platform_decides_over_another_ones_and_they_do_not_disagree(tmp_path: Path) -> None:
    pins = read_pins(
        tree_of(
            tmp_path,
            requirements__cuda_dot_txt="tilelang==0.1.12\n",
            requirements__rocm_dot_txt="tilelang==0.1.10\n",
        )
    )
    decides = find_pin(pins, "tilelang")
    assert decides is not None
    assert decides.spec == "0.1.12"
    assert disagreements(pins) == []


METADATA = "Metadata-Version: 2.4\nName: vllm\nVersion: 1.0\nRequires-Dist: flashinfer-python==0.7.2\n"


@pytest.mark.parametrize("wanted", ["0.7.4", ">=0.7.4"])
def test_in_a_source_tree_the_builds_inputs_win_over_what_an_earlier_build_wrote(
    tmp_path: Path, wanted: str
) -> None:
    line = f"flashinfer-python{'' if wanted.startswith('>') else '=='}{wanted}\n"
    pins = read_pins(tree_of(tmp_path, requirements__cuda_dot_txt=line, **{"PKG-INFO": METADATA}))
    decides = find_pin(pins, "flashinfer-python")
    assert decides is not None
    assert (decides.spec, decides.file) == (wanted, "requirements/cuda.txt")
    (split,) = disagreements(pins)
    assert split.sentence() == f"requirements/cuda.txt:1 says {wanted} but PKG-INFO:4 says 0.7.2"


def test_extras_are_alternatives_but_each_must_fit_what_always_holds(tmp_path: Path) -> None:
    text = '[project]\ndependencies = ["a==1"]\n[project.optional-dependencies]\nx = ["b==1"]\ny = ["b==2"]\n'
    assert disagreements(read_pins(tree_of(tmp_path, pyproject_dot_toml=text))) == []
    (split,) = disagreements(
        read_pins(tree_of(tmp_path, pyproject_dot_toml=text.replace('"b==2"', '"a==2"')))
    )
    assert (split.library, [pin.line for pin in split.pins]) == ("a", [2, 5])


def test_a_short_commit_is_no_other_pin_than_the_same_commit_in_full(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, **{CMAKE: f"GIT_TAG {A}\n", SHELL: f'DEEPGEMM_GIT_REF="{A[:10]}"\n'})
    assert disagreements(read_pins(tree)) == []


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
