"""Which engine version a plugin, server or trainer asks for, wherever it says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.errors import InputError
from pinproof.opening import open_any
from pinproof.pins import Pin, find_pin, read_pins
from pinproof.pins.project import project


def pin_of(root: Path, engine: str = "vllm", **files: str) -> Pin | None:
    """What the project in `root` asks for; keyword names write `/` as `__` and `.` as `_dot_`."""
    for name, text in {"a____init__.py": "", **files}.items():
        path = root / name.replace("_dot_", ".").replace("____init__", "/__init__").replace("__in__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return find_pin(read_pins(open_any(root), only=[engine]), engine)


PYPROJECT = "pyproject_dot_toml"


@pytest.mark.parametrize(
    ("text", "spec", "exact", "line"),
    [
        ('[project]\nname = "p"\ndependencies = [\n  "vllm==0.29.0",\n]\n', "0.29.0", True, 4),
        ('[project]\nname = "p"\ndependencies = ["vllm[audio]>=0.18,<0.19"]\n', "<0.19,>=0.18", False, 3),
        ('[project.optional-dependencies]\nllm = ["x",\n"vllm==0.24.0"]\n', "0.24.0", True, 3),
        ('[dependency-groups]\ndev = ["vllm==0.24.0"]\n', "0.24.0", True, 2),
        ('[project]\ndependencies = ["vllm==0.30.0+cpu"]\n', "0.30.0", True, 2),
    ],
    ids=["exact", "range", "extra", "group", "local-build"],
)
def test_pyproject_states_it(tmp_path: Path, text: str, spec: str, exact: bool, line: int) -> None:
    pin = pin_of(tmp_path, **{PYPROJECT: text})
    assert pin is not None
    assert (pin.spec, pin.exact, pin.file, pin.line) == (spec, exact, "pyproject.toml", line)


@pytest.mark.parametrize(
    "text",
    [
        "FROM vllm/vllm-openai:v0.28.0\n", "ARG VLLM_TAG=v0.28.0\n", 'ARG VLLM_VERSION="0.28.0"\n',
        "FROM quay.io/other/base\nRUN pip install vllm==0.28.0\n",
    ],
)  # fmt: skip
def test_a_dockerfile_states_it(tmp_path: Path, text: str) -> None:
    pin = pin_of(tmp_path, Dockerfile=text, **{PYPROJECT: ""})
    assert pin is not None
    assert (pin.spec, pin.file, pin.line) == ("0.28.0", "Dockerfile", text.count("\n"))


@pytest.mark.parametrize(
    "text", ["FROM vllm/vllm-openai:latest\n", "ARG VLLM_VERSION=nightly\n", "ARG VLLM_TAG\n"]
)
def test_an_image_without_a_number_states_nothing(tmp_path: Path, text: str) -> None:
    assert pin_of(tmp_path, Dockerfile=text, **{PYPROJECT: ""}) is None


def test_a_requirement_comes_before_an_image(tmp_path: Path) -> None:
    pin = pin_of(
        tmp_path,
        Dockerfile="ARG VLLM_TAG=v0.27.0\n",
        requirements_dot_txt="vllm==0.28.0  # why\n",
        **{PYPROJECT: ""},
    )
    assert pin is not None
    assert (pin.spec, pin.file) == ("0.28.0", "requirements.txt")


def test_an_extra_is_read_and_comes_after_what_every_install_brings(tmp_path: Path) -> None:
    text = '[project]\nname = "p"\ndependencies = ["vllm>=0.28"]\n'
    text += '[project.optional-dependencies]\nx = ["vllm==0.1"]\n'
    pin = pin_of(tmp_path, **{PYPROJECT: text})
    assert pin is not None
    assert (pin.spec, pin.reach) == (">=0.28", "always")


PLUGIN = '[project]\nname = "{name}"\nversion = "{version}"\n{groups}'
GROUP = '[project.entry-points."vllm.platform_plugins"]\nx = "a:register"\n'


@pytest.mark.parametrize(
    ("name", "groups"), [("vllm-a", ""), ("other", GROUP)], ids=["named-after-it", "by-entry-point"]
)
def test_a_plugin_that_states_none_is_taken_at_its_own_number_and_says_so(
    tmp_path: Path, name: str, groups: str
) -> None:
    pin = pin_of(tmp_path, **{PYPROJECT: PLUGIN.format(name=name, version="0.29.0rc1", groups=groups)})
    assert pin is not None
    assert pin.spec == "0.29.0"
    assert pin.note is not None
    assert "own number, 0.29.0" in pin.note


def test_another_project_s_number_says_nothing_about_an_engine(tmp_path: Path) -> None:
    assert pin_of(tmp_path, **{PYPROJECT: PLUGIN.format(name="other", version="0.29.0", groups="")}) is None


def test_entry_points_say_whose_plugin_a_project_is(tmp_path: Path) -> None:
    pin_of(tmp_path, **{PYPROJECT: PLUGIN.format(name="a", version="1.0", groups=GROUP)})
    found = project(open_any(tmp_path))
    assert (found.plugin_of, found.groups) == (("vllm",), ("vllm.platform_plugins",))


@pytest.mark.parametrize("text", ["project = 1\n", "\xff"])
def test_a_pyproject_without_requirements_states_nothing(tmp_path: Path, text: str) -> None:
    assert pin_of(tmp_path, **{PYPROJECT: text}) is None


@pytest.mark.parametrize("text", ["[project\ndependencies = []\n", "[project]\ndependencies = 3\n"])
def test_a_pyproject_that_cannot_be_read_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"pyproject\.toml cannot be read"):
        pin_of(tmp_path, **{PYPROJECT: text})
