"""Patching what pip and uv installed: RECORD stays true, an upgrade is noticed, the way out is named."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import py_compile
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from pinproof.cli import main
from pinproof.patchset.installed import NOTE, updated_record
from pinproof.patchset.patchfile import Patch
from pinproof.paths import cache_dir

from tests.trees import FORK, MODEL, SITU, make_tree

BASE = str(sys._base_executable)  # type: ignore[attr-defined]
ROOT_ONLY = pytest.mark.skipif(os.getuid() != 0, reason="only root can run a command as another user")
NOBODY = 65534


def line(path: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(data)}"


def make_wheel(folder: Path, version: str, patch: Patch, *, fixed: bool, declares: tuple[str, ...]) -> Path:
    """A wheel of vLLM's shape with a true RECORD."""
    import zipfile

    root = make_tree(folder / f"source-{version}", patch, fixed=fixed, declares=declares)
    info = f"vllm-{version}.dist-info"
    files = {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*.py"))}
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n".encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = "".join(f"{line(path, data)}\n" for path, data in files.items()) + f"{info}/RECORD,,\n"
    wheel = folder / f"vllm-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, data in {**files, f"{info}/RECORD": record.encode()}.items():
            archive.writestr(path, data)
    return wheel


def install(tool: str, python: Path, *args: str) -> None:
    commands = {
        "uv": ["uv", "pip", "install", "-q", "--python", str(python), "--offline"],
        "pip": [BASE, "-I", "-m", "pip", "-q", "--python", str(python), "install"],
    }
    env = {**os.environ, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run([*commands[tool], "--no-deps", *args], check=True, env=env, capture_output=True)


@pytest.fixture(params=["uv", "pip"])
def tool(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name == "uv" and shutil.which("uv") is None:
        pytest.skip("uv is not installed")
    if name == "pip" and subprocess.run([BASE, "-I", "-m", "pip", "-V"], capture_output=True).returncode:
        pytest.skip("the base interpreter has no pip")
    return name


@pytest.fixture
def python(tmp_path: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    return tmp_path / "venv/bin/python"


def site(python: Path) -> Path:
    return next((python.parent.parent / "lib").glob("python*/site-packages"))


def test_record_is_true_after_apply_and_the_same_bytes_after_revert(
    tool: str, python: Path, patch: Patch, tmp_path: Path
) -> None:
    install(tool, python, str(make_wheel(tmp_path, "1.0", patch, fixed=False, declares=SITU)))
    record = site(python) / "vllm-1.0.dist-info/RECORD"
    before = record.read_bytes()
    assert main(["apply", "--installed", "--python", str(python)]) == 0
    assert line(MODEL, (site(python) / MODEL).read_bytes()) in record.read_text().splitlines()
    assert main(["apply", "--revert", "--installed", "--python", str(python)]) == 0
    assert record.read_bytes() == before
    assert not (site(python) / NOTE).exists()


def test_an_upgrade_takes_the_patch_away_and_the_next_run_says_so(
    tool: str, python: Path, patch: Patch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tool, python, str(make_wheel(tmp_path, "1.0", patch, fixed=False, declares=SITU)))
    assert main(["apply", "--installed", "--python", str(python)]) == 0
    install(tool, python, "--upgrade", str(make_wheel(tmp_path, "1.1", patch, fixed=False, declares=SITU)))
    assert [path.name for path in site(python).glob("vllm-*")] == ["vllm-1.1.dist-info"]
    capsys.readouterr()
    assert main(["verdict", "--installed", "--python", str(python)]) == 0
    out, err = capsys.readouterr()
    assert "needed" in out
    assert f"{patch.name}: applied here to vllm 1.0; since then vllm was changed to 1.1, which came" in err


@pytest.mark.parametrize(
    ("fixed", "declares", "verdict"),
    [(True, SITU, "applied"), (False, FORK, "not-needed"), (None, SITU, "absent"), (False, SITU, "needed")],
)
def test_if_needed_is_0_whatever_the_tree_wants(
    fixed: bool | None, declares: tuple[str, ...], verdict: str, tmp_path: Path, patch: Patch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    tree = make_tree(tmp_path / "tree", patch, fixed=bool(fixed), declares=declares)
    if fixed is None:
        (tree / MODEL).unlink()
    assert main(["apply", "0001", "--if-needed", "--json", str(tree)]) == 0
    (step,) = json.loads(capsys.readouterr().out)["steps"]
    assert (step["verdict"]["verdict"], step["action"] == "write") == (verdict, verdict == "needed")


def test_if_needed_is_still_4_on_a_conflict(tmp_path: Path, patch: Patch) -> None:
    tree = make_tree(tmp_path / "tree", patch, fixed=False, declares=SITU)
    text = (tree / MODEL).read_text()
    (tree / MODEL).write_text(text.replace("activation_beta=", "activation_beta =  "))
    before = (tree / MODEL).read_bytes()
    assert main(["apply", "--if-needed", str(tree)]) == 4
    assert (tree / MODEL).read_bytes() == before


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_the_lines_of_changed_files_change(end: str) -> None:
    rows = ['"a,b.py",sha256=x,1', "c.py,sha256=y,2", "__pycache__/c.cpython-311.pyc,,", "RECORD,,"]
    record = "".join(row + end for row in rows).encode()
    after = updated_record(record, {"a,b.py": b"new", "c.py": None, "d.py": b"added"}).decode()
    quoted = '"a,b.py"' + line("", b"new")
    assert after == "".join(row + end for row in [quoted, *rows[2:], line("d.py", b"added")])


@pytest.mark.parametrize("mode", ["UNCHECKED_HASH", "CHECKED_HASH", "TIMESTAMP"])
def test_no_compiled_file_hides_the_patch(mode: str, tmp_path: Path, patch: Patch) -> None:
    tree = make_tree(tmp_path / "tree", patch, fixed=False, declares=SITU)
    kind = py_compile.PycInvalidationMode[mode]
    compiled = Path(str(py_compile.compile(str(tree / MODEL), invalidation_mode=kind, doraise=True)))
    assert main(["apply", str(tree)]) == 0
    assert compiled.exists() == (mode != "UNCHECKED_HASH")


def test_an_interpreter_without_vllm_is_named(capsys: pytest.CaptureFixture[str], python: Path) -> None:
    assert main(["verdict", "--python", str(python)]) == 2
    assert f"{python} has no vllm" in capsys.readouterr().err
    assert main(["verdict", "--python", "/bin/false"]) == 2
    assert main(["verdict", "--python", "no-such-python"]) == 2


def test_nothing_of_vllm_is_imported_to_find_it(python: Path, tmp_path: Path) -> None:
    package = site(python) / "vllm"
    package.mkdir()
    (package / "__init__.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')\n")
    main(["verdict", "--python", str(python)])
    assert not (tmp_path / "imported").exists()


# The interpreter may lie where nobody else can read: all that is needed is imported first.
_DROP = """
import contextlib, io, os, pwd, sys
from pinproof.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    main([*sys.argv[1:], *(["--dry-run"] if sys.argv[1] == "apply" else [])])
os.environ.pop("PINPROOF_CACHE")
os.environ.update(HOME=os.environ["ITS_HOME"], TMPDIR=os.environ["ITS_TMP"])
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
sys.exit(main(sys.argv[1:]))
"""


def as_nobody(arguments: list[str], home: Path | str, temporary: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as a user who owns nothing but a temporary folder."""
    temporary.mkdir()
    temporary.chmod(0o777)
    patches = Path(os.environ["PINPROOF_PATCHES"])
    open_to_all(patches)
    for path in patches.iterdir():
        path.chmod(0o644)
    return subprocess.run(
        [sys.executable, "-c", _DROP, *arguments], capture_output=True, text=True, check=False,
        env={**os.environ, "ITS_HOME": str(home), "ITS_TMP": str(temporary)},
    )  # fmt: skip


def open_to_all(path: Path) -> None:
    """pytest's temporary folders are their owner's alone."""
    for folder in [path, *path.parents]:
        if folder.owner() == "root" and folder != Path("/") and folder != Path("/tmp"):
            folder.chmod(folder.stat().st_mode | 0o055)


@ROOT_ONLY
def test_a_tree_that_is_somebody_elses_names_the_folder_the_users_and_the_way_out(
    tmp_path: Path, patch: Patch
) -> None:
    tree = make_tree(tmp_path / "tree", patch, fixed=False, declares=SITU)
    open_to_all(tree)
    done = as_nobody(["apply", str(tree)], tmp_path / "temporary", tmp_path / "temporary")
    assert done.returncode == 2
    said = f"cannot write {tree}: it belongs to root (uid 0), and this runs as nobody (uid 65534)"
    assert said in done.stderr
    assert "docs/images.md" in done.stderr


@pytest.mark.parametrize("home", ["/proc", "/dev/null"])
def test_a_home_that_cannot_be_written_costs_one_line(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PINPROOF_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", home)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    expected = tmp_path / f"pinproof-cache-{os.getuid()}"
    assert cache_dir("a") == expected / "a"
    assert cache_dir("b") == expected / "b"
    said = capsys.readouterr().err
    assert said == (
        f"pinproof: cannot write {home}/.cache/pinproof; the cache is {expected} ($PINPROOF_CACHE sets it)\n"
    )


def test_a_cache_that_somebody_else_could_have_planted_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PINPROOF_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"pinproof-cache-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    cache_dir("a")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_cache_that_was_asked_for_and_cannot_be_written_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, patch: Patch
) -> None:
    tree = make_tree(tmp_path / "tree", patch, fixed=False, declares=SITU)
    monkeypatch.setenv("PINPROOF_CACHE", "/proc/none")
    assert main(["contract", str(tree)]) == 2
