"""The drift watch, end to end: an index where things come out, a GitHub that takes the issue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import msgspec
import pytest
from pinproof.cli import main
from pinproof.drift.findings import Findings
from pinproof.drift.github import Repository
from pinproof.drift.issue import LONGEST, MARK, body, title
from pinproof.drift.publish import BRANCH, STATE_PATH
from pinproof.drift.publish import publish as report
from pinproof.drift.state import State, decode_state, encode_state
from pinproof.errors import CannotCheck, InputError
from pinproof.patchset.patchfile import Patch

from tests.actions.github_server import TOKEN, FakeGitHub, github
from tests.index_server import Index, index, wheel
from tests.trees import FORK, SITU, make_tree

__all__ = ["github", "index"]

CALLER = b"import flashinfer\n\n\ndef f(q):\n    return flashinfer.decode(q, scale=1.0)\n"


def engine_wheel(tmp: Path, patch: Patch, version: str, *, fixed: bool, pin: str) -> bytes:
    """A vLLM wheel with the real hunk, a vendored library, one call of flashinfer and its pin."""
    root = make_tree(tmp / f"vllm-{version}", patch, fixed=fixed, declares=SITU if fixed else FORK)
    (root / "vllm/attention.py").write_bytes(CALLER)
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*.py")}
    info = f"Metadata-Version: 2.4\nName: vllm\nVersion: {version}\nRequires-Dist: flashinfer-python=={pin}\n"
    return wheel({**files, f"vllm-{version}.dist-info/METADATA": info.encode()})


def library_wheel(parameters: str) -> bytes:
    return wheel({"flashinfer/__init__.py": f"def decode({parameters}):\n    pass\n".encode()})


@pytest.fixture
def world(index: Index, tmp_path: Path, patch: Patch, monkeypatch: pytest.MonkeyPatch) -> Index:
    """vLLM 0.27.0 and 0.28.0, flashinfer 1.0 and 1.1; the newest flashinfer no longer takes `scale`."""
    for version, fixed in (("0.27.0", False), ("0.28.0", True)):
        content = engine_wheel(tmp_path, patch, version, fixed=fixed, pin="1.0")
        index.add("vllm", f"vllm-{version}-py3-none-any.whl", content)
    index.add("flashinfer-python", "flashinfer_python-1.0-py3-none-any.whl", library_wheel("q, scale=None"))
    index.add(
        "flashinfer-python", "flashinfer_python-1.1-py3-none-any.whl", library_wheel("q, sm_scale=None")
    )
    monkeypatch.chdir(tmp_path)
    return index


def save(path: Path, version: str, library: str) -> Path:
    path.write_bytes(
        encode_state(State(engine="vllm", version=version, libraries={"flashinfer-python": library}))
    )
    return path


def look(state: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, Findings]:
    capsys.readouterr()
    status = main(["drift", "--state", str(state), "--json", *more])
    return status, msgspec.json.decode(capsys.readouterr().out, type=Findings)


def test_nothing_new_is_silent_and_fine(
    world: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, findings = look(save(tmp_path / "s.json", "0.28.0", "1.1"), capsys)
    assert (status, findings.changed, findings.alarming) == (0, False, False)
    assert not any("/files/vllm/" in line and "attention" in line for line in world.requests)


def test_a_new_engine_release_is_judged_and_checked(
    world: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, findings = look(save(tmp_path / "s.json", "0.27.0", "1.1"), capsys)
    (release,) = findings.releases
    assert (release.release, release.verdicts[0].verdict) == ("vllm==0.28.0", "applied")
    assert (release.broken, findings.libraries) == ([], [])
    assert findings.state.version == "0.28.0"


def test_a_new_library_release_shows_the_call_that_a_bump_would_break(
    world: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, findings = look(save(tmp_path / "s.json", "0.28.0", "1.0"), capsys)
    (bumped,) = findings.libraries
    assert (status, findings.alarming) == (1, True)
    assert [(call.place, call.drift) for call in bumped.broken] == [
        ("vllm/attention.py:5", "unexpected-keyword scale")
    ]
    assert bumped.command == "pinproof contract --release vllm==0.28.0 --with flashinfer-python==1.1"
    assert findings.state.libraries == {"flashinfer-python": "1.1"}


def test_a_release_that_is_pinned_already_is_no_bump(
    world: Index, tmp_path: Path, patch: Patch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = engine_wheel(tmp_path / "later", patch, "0.29.0", fixed=True, pin="1.1")
    world.add("vllm", "vllm-0.29.0-py3-none-any.whl", content)
    _, findings = look(save(tmp_path / "s.json", "0.28.0", "1.0"), capsys)
    assert findings.libraries == []
    assert [call.place for call in findings.releases[0].broken] == ["vllm/attention.py:5"]
    assert [(m.before, m.after) for m in findings.releases[0].moved] == [("1.0", "1.1")]


def test_save_remembers_and_the_next_look_is_silent(
    world: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = save(tmp_path / "s.json", "0.27.0", "1.0")
    look(state, capsys, "--save")
    assert not look(state, capsys)[1].changed


def test_with_the_index_down_it_cannot_check_and_nothing_is_saved(
    world: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = save(tmp_path / "s.json", "0.27.0", "1.0")
    before = state.read_bytes()
    world.down = True
    assert main(["drift", "--state", str(state), "--save"]) == 5
    assert state.read_bytes() == before


def publish(findings: Findings, tmp_path: Path) -> int:
    file = tmp_path / "drift.json"
    file.write_bytes(msgspec.json.encode(findings))
    return main(["drift", "--repo", "owner/name", "--publish", str(file)])


def test_a_report_opens_one_issue_and_saves_the_state_on_its_branch(
    world: Index, github: FakeGitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, findings = look(save(tmp_path / "s.json", "0.27.0", "1.0"), capsys)
    assert publish(findings, tmp_path) == 0
    (issue,) = github.issues
    assert issue["title"] == "Drift watch: vllm 0.28.0, flashinfer-python 1.1"
    assert "`pinproof contract --release vllm==0.28.0 --with flashinfer-python==1.1`" in issue["body"]
    saved = decode_state(github.files[BRANCH][STATE_PATH], "saved")
    assert saved == findings.state
    assert STATE_PATH not in github.files["main"]
    assert capsys.readouterr().out == "https://github.example/owner/name/issues/1\n"


def test_the_saved_state_is_what_the_next_look_starts_from(
    world: Index, github: FakeGitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = save(tmp_path / "s.json", "0.27.0", "1.0")
    _, first = look(state, capsys, "--repo", "owner/name")
    publish(first, tmp_path)
    capsys.readouterr()
    assert not look(state, capsys, "--repo", "owner/name")[1].changed


def test_reporting_the_same_look_twice_changes_nothing(
    world: Index, github: FakeGitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, findings = look(save(tmp_path / "s.json", "0.27.0", "1.0"), capsys)
    publish(findings, tmp_path)
    before = json.dumps(github.issues)
    publish(findings, tmp_path)
    assert (json.dumps(github.issues), github.comments) == (before, [])


def test_a_later_look_goes_on_top_of_the_same_issue_and_tells_those_who_watch(
    world: Index, github: FakeGitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, findings = look(save(tmp_path / "s.json", "0.27.0", "1.1"), capsys)
    publish(findings, tmp_path)
    github.issues[0]["body"] = "A person's note.\n\n" + github.issues[0]["body"]
    _, later = look(save(tmp_path / "s.json", "0.28.0", "1.0"), capsys)
    publish(later, tmp_path)
    text = github.issues[0]["body"]
    assert len(github.issues) == len(github.comments) == 1
    assert text.startswith("A person's note.")
    assert text.index("### flashinfer-python 1.1") < text.index("### vllm==0.28.0")


def test_an_issue_that_someone_else_marked_is_never_edited(
    world: Index, github: FakeGitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = {"number": 1, "state": "open", "user": {"login": "mallory"}, "title": "x", "body": MARK}
    github.issues.append(dict(theirs))
    _, findings = look(save(tmp_path / "s.json", "0.27.0", "1.0"), capsys)
    publish(findings, tmp_path)
    assert (github.issues[0], len(github.issues)) == (theirs, 2)


def test_a_refusal_names_the_right_that_is_missing_and_never_the_token(
    world: Index, github: FakeGitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    github.refuse["POST /issues"] = 403
    _, findings = look(save(tmp_path / "s.json", "0.27.0", "1.0"), capsys)
    assert publish(findings, tmp_path) == 5
    shown = capsys.readouterr()
    assert "issues: write" in shown.err
    assert github.tokens == {TOKEN}
    assert TOKEN not in shown.err + shown.out
    assert BRANCH not in github.files, "the state must not move on before the issue is there"


def test_what_an_earlier_job_left_is_read_as_data(
    github: FakeGitHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "drift.json"
    file.write_text('{"schema": "pinproof.drift/1", "state": {"engine": "../../x"}}')
    assert main(["drift", "--repo", "owner/name", "--publish", str(file)]) == 2
    assert github.requests == []


@pytest.mark.parametrize("name", ["owner", "owner/name/x", "owner/..", "https://x/y", "o wner/name", "-a/b"])
def test_a_repository_name_that_is_none_is_refused(
    github: FakeGitHub, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["drift", f"--repo={name}", "--state", str(save(tmp_path / "s.json", "0.28.0", "1.1"))]) == 2
    assert github.requests == []


def hostile(text: str) -> Findings:
    """Findings whose every outside text is `text`."""
    release = {
        "release": text, "verdicts": [{"patch": text, "verdict": text, "sentence": text}],
        "moved": [{"library": text, "before": text, "after": None}],
        "broken": [{"place": text, "callee": text, "drift": text}],
        "unchecked": {text: text}, "command": text,
    }  # fmt: skip
    state = {"engine": "vllm", "version": "1", "libraries": {}}
    raw = {"state": state, "releases": [release], "libraries": [], "unread": [text], "unseen": {text: text}}
    return msgspec.convert(raw, Findings)


@pytest.mark.parametrize("text", ["@everyone", "<img src=x>", "[a](http://x)", "a`b", "x\n# y", "#12", "a|b"])
def test_outside_text_stays_text_in_the_issue(text: str) -> None:
    from markdown_it import MarkdownIt

    html = MarkdownIt("commonmark", {"html": False}).enable("table").render(body(hostile(text)))
    assert "<img" not in html
    assert "<a " not in html
    assert "<h1>" not in html
    assert "@everyone" not in html.replace("<code>@everyone</code>", "")


def test_a_body_stays_below_what_github_takes() -> None:
    text = body(hostile("x" * 500), "")
    for number in range(80):
        text = body(msgspec.structs.replace(hostile("x" * 500), unread=[str(number)]), text)
    assert len(text) < LONGEST + 200
    assert "cut off" in text
    assert len(title(hostile("x"))) < 100


@pytest.mark.parametrize(
    "raw",
    [b"", b"{}", b"[1", b'{"engine": "vllm", "version": "1", "libraries": {"a/b": "1"}}', b'{"a":' * 9000],
)
def test_a_state_that_is_none_is_refused(raw: bytes) -> None:
    with pytest.raises(InputError, match="not a state of the watch"):
        decode_state(raw, "s.json")


@pytest.mark.parametrize("answer", ["x", 5, ["x"], [{"user": "x"}], [{"number": None, "body": 5}]])
def test_an_answer_of_another_shape_is_one_line_and_no_crash(answer: object) -> None:
    class Odd:
        name = "o/r"

        def call(self, *_: object, **__: object) -> object:
            return answer

    with pytest.raises(CannotCheck, match="not what its API describes"):
        report(cast(Repository, Odd()), hostile("x"))
