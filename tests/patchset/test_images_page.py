"""The Dockerfiles, the init container and the Ansible task of docs/images.md, run as far as a shell can."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from pinproof.patchset.patchfile import Patch

from tests.conftest import REPO
from tests.trees import SITU, make_tree

PAGE = (REPO / "docs/images.md").read_text()
BLOCKS = re.findall(r"```(dockerfile|yaml)\n(.*?)```", PAGE, re.DOTALL)
DOCKERFILES = [text for kind, text in BLOCKS if kind == "dockerfile"]
MANIFESTS = [yaml.safe_load(text) for kind, text in BLOCKS if kind == "yaml"]


def runs(dockerfile: str) -> list[str]:
    """The commands of its RUN lines, continued lines joined."""
    return re.findall(r"^RUN (.*)$", dockerfile.replace("\\\n", " "), re.MULTILINE)


@pytest.fixture
def image(tmp_path: Path, patch: Patch) -> dict[str, str]:
    """An "image": an environment with vLLM; installers that have nothing to fetch; the real pinproof."""
    env = tmp_path / "opt/venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(env)], check=True)
    site = next((env / "lib").glob("python*/site-packages"))
    make_tree(site, patch, fixed=False, declares=SITU)
    programs = tmp_path / "bin"
    programs.mkdir()
    pinproof = f'{sys.executable} -m pinproof "$@"'
    scripts = {
        "pinproof": pinproof,
        "uvx": f'[ "$1" = pinproof@0.1.0 ] || exit 9; shift; {pinproof}',
        "uv": "exit 0",
        "python3": f'if [ "$1 $2" = "-m venv" ]; then mkdir -p "$3/bin"; cp {programs}/pinproof "$3/bin/"; '
        f'printf "#!/bin/sh\\n" >"$3/bin/pip"; chmod +x "$3/bin/pip"; else exec {env}/bin/python "$@"; fi',
    }
    for name, text in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    own = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    return {
        **own,
        "PATH": f"{programs}:/usr/bin:/bin",
        "CONDA_PREFIX": str(env),
        "SITE": str(site),
        "OPT": str(env),
    }


def shell(command: str, image: dict[str, str], tmp_path: Path) -> subprocess.CompletedProcess[str]:
    text = command.replace("/tmp/", f"{tmp_path}/").replace("/opt/venv", image["OPT"])
    text = text.replace("/opt/vllm", image["OPT"])
    return subprocess.run(
        ["sh", "-c", text], capture_output=True, text=True, check=False, env=image, cwd=tmp_path
    )


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=["uv", "pip", "conda", "multi-stage"])
def test_each_dockerfile_puts_the_fix_in_and_can_be_built_again(
    dockerfile: str, image: dict[str, str], tmp_path: Path, patch: Patch
) -> None:
    target = Path(image["SITE"]) / patch.diffs[0].path
    for _ in range(2):
        for command in runs(dockerfile):
            done = shell(command, image, tmp_path)
            assert done.returncode == 0, done.stderr
        assert b"situ_linear_beta=" in target.read_bytes()
    assert not (tmp_path / "pinproof").exists(), "nothing of pinproof is left in the image"


def test_the_init_container_holds_the_pod_until_the_fix_is_in(image: dict[str, str], tmp_path: Path) -> None:
    container = MANIFESTS[0]["initContainers"][0]
    probe = container["args"][0]
    broken = shell(probe, image, tmp_path)
    assert broken.returncode == 1
    assert '"needed"' in (tmp_path / "verdict.json").read_text()
    assert shell(runs(DOCKERFILES[0])[0], image, tmp_path).returncode == 0
    assert shell(probe, image, tmp_path).returncode == 0


def test_the_ansible_task_changes_once(image: dict[str, str], tmp_path: Path) -> None:
    task = MANIFESTS[1][0]
    first = shell(task["ansible.builtin.command"], image, tmp_path)
    second = shell(task["ansible.builtin.command"], image, tmp_path)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert len(json.loads(first.stdout)["files"]) > 0
    assert json.loads(second.stdout)["files"] == []
