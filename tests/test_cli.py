"""The command line as a person meets it: help, errors in one line, exit codes, pipes, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pinproof import __version__
from pinproof.cli import main
from pinproof.commands.registry import EVERYDAY, PLUMBING
from pinproof.patchset.patchfile import Patch

from tests.index_server import Index, index, sdist
from tests.trees import FORK, MODEL, SITU, make_tree, model_file

__all__ = ["index"]

REPO = Path(__file__).parent.parent
COMMANDS = [*EVERYDAY, *PLUMBING]


def pinproof(*args: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pinproof", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPO, **options)  # type: ignore[call-overload,no-any-return]


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_help_lists_every_command_in_its_group_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    everyday, plumbing = text.split("plumbing:")
    assert all(f"\n  {name} " in everyday for name in EVERYDAY)
    assert all(f"\n  {name} " in plumbing for name in PLUMBING)
    assert "Exit codes: 0 done" in text


def test_no_argument_shows_the_help_as_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage: pinproof" in capsys.readouterr().out


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"pinproof {__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_helps(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert f"usage: pinproof {name}" in text
    assert "--json" in text or name in ("review", "completion", "schema")  # it asks a person, hunk by hunk


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_option_is_a_usage_error(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([name, "--no-such-option"])
    assert stopped.value.code == 2
    assert f"pinproof {name}: error: " in capsys.readouterr().err


def test_a_misspelt_command_suggests_the_near_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verdcit"]) == 2
    assert "did you mean 'verdict'?" in capsys.readouterr().err
    assert main(["\x1b[31mzzz"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_starting_up_imports_nothing_heavy() -> None:
    code = "import sys; from pinproof.cli import main; main(['--version']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for heavy in ("rich", "requests", "msgspec", "argparse", "jinja2", "torch", "subprocess"):
        assert f"'{heavy}'" not in done.stdout


def trees(tmp_path: Path, patch: Patch) -> dict[str, str]:
    """One tree per verdict."""
    made = {
        "needed": make_tree(tmp_path / "needed", patch, fixed=False, declares=SITU),
        "applied": make_tree(tmp_path / "applied", patch, fixed=True, declares=SITU),
        "not-needed": make_tree(tmp_path / "not-needed", patch, fixed=False, declares=FORK),
        "conflict": make_tree(tmp_path / "conflict", patch, fixed=True, declares=FORK),
        "absent": make_tree(tmp_path / "absent", patch, fixed=True, declares=SITU),
    }
    (made["absent"] / MODEL).unlink()
    return {name: str(root) for name, root in made.items()}


@pytest.mark.parametrize(
    ("state", "verdict", "apply", "revert"),
    [
        ("needed", 0, 0, 3),
        ("applied", 0, 0, 0),
        ("not-needed", 3, 3, 3),
        ("conflict", 4, 4, 0),
        ("absent", 3, 3, 3),
    ],
)
def test_exit_codes_follow_the_verdict(
    tmp_path: Path, patch: Patch, state: str, verdict: int, apply: int, revert: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("pinproof.patchset.timemachine.closest_release", lambda *_: "0.28.0")
    tree = trees(tmp_path, patch)[state]
    assert main(["verdict", "0001", tree]) == verdict
    assert main(["apply", "--dry-run", "0001", tree]) == apply
    assert main(["apply", "--revert", "--dry-run", "0001", tree]) == revert


def test_ready_with_gates_not_run_is_5_and_a_refused_patch_3(tmp_path: Path, patch: Patch) -> None:
    made = trees(tmp_path, patch)
    assert main(["ready", "--dry-run", "0001", made["needed"]]) == 5
    assert main(["ready", "0001", made["not-needed"]]) == 3


def test_disagreeing_pins_are_1(tmp_path: Path, patch: Patch, capsys: pytest.CaptureFixture[str]) -> None:
    root = Path(trees(tmp_path, patch)["needed"])
    assert main(["pins", str(root)]) == 0
    for name, ref in (("tools/install_deepgemm.sh", "DEEPGEMM_GIT_REF=aaa\n"),
                      ("cmake/external_projects/deepgemm.cmake", "GIT_TAG bbb\n")):  # fmt: skip
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(ref)
    assert main(["pins", str(root)]) == 1
    out = capsys.readouterr().out
    assert "cmake/external_projects/deepgemm.cmake:1 says bbb but tools/install_deepgemm.sh:1 says aaa" in out


def test_the_network_down_is_5(index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index.down = True
    assert main(["fetch", "vllm==1.0", str(tmp_path / "a")]) == 5
    message, hint = lines(capsys)
    assert message.startswith("pinproof fetch: cannot reach the package index for vllm")
    assert hint.startswith("  -> check the network")


@pytest.mark.parametrize(
    "arguments",
    [
        ["verdict", "TREE"], ["verdict", "--releases", "1.0..1.1"], ["apply", "--dry-run", "TREE"],
        ["apply", "TREE"],
        ["apply", "--revert", "TREE"], ["ready", "--dry-run", "TREE"], ["pins", "TREE"], ["lint"],
        ["export", "--check", "TREE"], ["fetch", "vllm==1.0", "NEW"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_json_of_every_command_parses_and_names_its_schema(
    arguments: list[str], broken_tree: Path, index: Index, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.index_server import wheel

    for version in ("1.0", "1.1"):
        index.add("vllm", f"vllm-{version}-py3-none-any.whl", wheel({"vllm/__init__.py": b""}))
    index.add("vllm", "vllm-1.0.tar.gz", sdist({"vllm-1.0/vllm/__init__.py": b""}))
    names = {"TREE": str(broken_tree), "NEW": str(broken_tree.parent / "new")}
    if "--revert" in arguments:
        main(["apply", str(broken_tree)])
        capsys.readouterr()
    assert main([*(names.get(a, a) for a in arguments), "--json"]) in (0, 1, 5)
    assert json.loads(capsys.readouterr().out)["schema"] == f"pinproof.{arguments[0]}/1"


def test_a_path_whose_bytes_are_no_utf8_works_everywhere(tmp_path: Path, patch: Patch) -> None:
    root = Path(os.fsdecode(os.fsencode(tmp_path) + b"/tr\xffee"))
    make_tree(root, patch, fixed=False, declares=SITU)
    for arguments in (["verdict"], ["apply"], ["pins"], ["apply", "--revert"]):
        for more in ([], ["--json"]) if arguments != ["apply"] else ([],):
            done = pinproof(*arguments, *more, os.fsdecode(os.fsencode(root)))
            assert "Traceback" not in done.stderr
            assert done.returncode in (0, 3)
            if more:
                assert json.loads(done.stdout)
    assert (root / MODEL).read_bytes() == model_file(patch, fixed=False)


def test_a_terminal_without_unicode_gets_escapes(tmp_path: Path, patch: Patch) -> None:
    root = make_tree(tmp_path / "bäum", patch, fixed=False, declares=SITU)
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = pinproof("apply", str(root), env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert "b\\xe4um" in done.stdout


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("series", b"\xff\xfe\n", "is not UTF-8"),
        ("series", b"", "lists no patch"),
        ("series", b"../../etc/passwd\n", "is not a patch name"),
        ("series", b"0001-a.patch\n0001-a.patch\n", "listed twice"),
        ("series", b"0002-gone.patch\n", "does not exist"),
        ("0001-a.patch", b"", "does not begin as `git format-patch` output"),
        ("0001-a.patch", b"\0" * 100, "does not begin as"),
        ("0001-a.patch", b"x" * (9 << 20), "larger than 8 MiB"),
    ],
)
def test_a_bad_patch_folder_is_one_line(
    broken_tree: Path, patch: Patch, capsys: pytest.CaptureFixture[str], name: str, content: bytes, says: str
) -> None:
    folder = broken_tree.parent / "patches"
    folder.mkdir()
    (folder / "series").write_bytes(b"0001-a.patch\n")
    (folder / "0001-a.patch").write_bytes(patch.raw)
    (folder / name).write_bytes(content)
    assert main(["apply", "--patches", str(folder), str(broken_tree)]) == 2
    first, *rest = lines(capsys)
    assert first.startswith("pinproof apply: ")
    assert says in first
    assert all(line.startswith("  -> ") for line in rest)
    assert (broken_tree / MODEL).read_bytes() == model_file(patch, fixed=False)


@pytest.mark.parametrize("place", ["/dev/zero", "/dev/null", "FIFO", "FOLDER"])
def test_a_patch_that_is_no_plain_file_is_not_read(
    broken_tree: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    made = broken_tree.parent / "made.patch"
    if place == "FIFO":
        os.mkfifo(made)
    elif place == "FOLDER":
        made.mkdir()
    assert main(["verdict", place if place.startswith("/") else str(made), str(broken_tree)]) == 2
    assert "is not a patch file" in capsys.readouterr().err


def test_a_pipe_in_place_of_the_metadata_does_not_hang(broken_tree: Path) -> None:
    os.mkfifo(broken_tree / "PKG-INFO")
    assert pinproof("pins", str(broken_tree), timeout=20).returncode == 0


def test_a_reader_that_goes_away_is_no_error(broken_tree: Path) -> None:
    for arguments in (
        ["--help"],
        ["apply", "--dry-run", str(broken_tree)],
        ["verdict", "--json", str(broken_tree)],
    ):
        reading, writing = os.pipe()
        os.close(reading)
        child = subprocess.run(
            [sys.executable, "-m", "pinproof", *arguments],
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
        )
        os.close(writing)
        assert child.stderr == b""
        assert child.returncode == 141


def test_ctrl_c_is_130_and_says_that_nothing_is_half_done(
    broken_tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for place in ("importlib.import_module", "pinproof.patchset.apply.plan_apply"):
        with monkeypatch.context() as patched:
            patched.setattr(place, interrupted)
            assert main(["apply", str(broken_tree)]) == 130
        assert "interrupted" in capsys.readouterr().err


def test_ctrl_c_in_a_real_download_leaves_nothing(index: Index, tmp_path: Path) -> None:
    index.add("vllm", "vllm-1.0.tar.gz", sdist({"vllm-1.0/vllm/__init__.py": b""}))
    index.hang = True
    child = subprocess.Popen(
        [sys.executable, "-m", "pinproof", "fetch", "vllm==1.0", str(tmp_path / "a")],
        stderr=subprocess.PIPE, text=True, cwd=REPO,
    )  # fmt: skip
    deadline = time.monotonic() + 20
    while not any(line.startswith("/files/") for line in index.requests) and time.monotonic() < deadline:
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=20)
    assert child.returncode == 130
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["pinproof-cache"]


def test_two_runs_at_once_do_not_mix(broken_tree: Path, patch: Patch) -> None:
    for _ in range(3):
        command = [sys.executable, "-m", "pinproof", "apply"]
        fixed = (broken_tree / MODEL).read_bytes() == model_file(patch, fixed=True)
        command += ["--revert"] if fixed else []
        both = [
            subprocess.Popen([*command, str(broken_tree)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for _ in range(2)
        ]
        ends = [(child.communicate()[1], child.returncode) for child in both]
        assert any(code == 0 for _, code in ends)
        assert all(b"Traceback" not in err and code in (0, 3) for err, code in ends)
        assert (broken_tree / MODEL).read_bytes() == model_file(patch, fixed=not fixed)
