"""One run of the gate in every form, and what GitLab, Jenkins and a job's summary then show."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from pinproof.cli import main
from pinproof.contract.model import Report
from pinproof.contract.output import gitlab, jobsummary, junit
from pinproof.contract.output.findings import Finding
from pinproof.contract.output.policy import Outcome
from pinproof.patchset.patchfile import Patch

from tests.trees import MODEL, SITU, make_tree

FINDING = Finding(
    id="0123456789", code="KC101", kind="unexpected-keyword", file="vllm/a.py", line=7, col=1,
    callee="lib.f", library="lib", message="lib.f() takes no keyword 'x'", declared="lib 1, lib/a.py:3",
    nearest=("y",), guard=None, how="", confidence="always",
)  # fmt: skip


def changed(**fields: object) -> Finding:
    import msgspec

    return msgspec.structs.replace(FINDING, **fields)


@pytest.fixture
def broken(tmp_path: Path, patch: Patch, monkeypatch: pytest.MonkeyPatch) -> Path:
    tree = make_tree(tmp_path / "engine", patch, fixed=False, declares=SITU)
    monkeypatch.chdir(tmp_path)
    return tree


def test_one_run_writes_every_form(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forms = {"json": "a.json", "sarif": "a.sarif", "gitlab": "gl.json", "junit": "a.xml", "markdown": "a.md"}
    options = [f"--output={form}={name}" for form, name in forms.items()]
    assert main(["contract", "engine", "--github", *options]) == 1
    assert capsys.readouterr().out.startswith(f"::error file=engine/{MODEL},line=")
    assert json.loads(Path("a.json").read_bytes())["schema"] == "pinproof.contract/1"
    assert json.loads(Path("a.sarif").read_bytes())["version"] == "2.1.0"
    (issue,) = json.loads(Path("gl.json").read_bytes())
    assert issue["location"]["path"] == f"engine/{MODEL}"
    assert ET.parse("a.xml").getroot().get("failures") == "1"
    assert "**1 failing call.**" in Path("a.md").read_text()


@pytest.mark.parametrize("form", ["gitlab", "junit", "markdown"])
def test_each_form_goes_to_standard_output_too(
    form: str, broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["contract", "engine", f"--{form}"]) == 1
    printed = capsys.readouterr().out
    assert main(["contract", "engine", f"--output={form}=file"]) == 1
    assert Path("file").read_text() == printed


@pytest.mark.parametrize("option", ["xml=a", "json", "json=", "=a"])
def test_an_output_that_is_none_is_refused_before_any_work(option: str, broken: Path) -> None:
    assert main(["contract", "engine", "--output", option]) == 2


def test_findings_of_a_baseline_do_not_fail_and_new_ones_do(
    broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["contract", "engine", "--output", "json=base.json"]) == 1
    assert main(["contract", "engine", "--baseline", "base.json"]) == 0
    assert "1 known from the baseline" in capsys.readouterr().out
    model = broken / MODEL
    model.write_text("\n\n" + model.read_text().replace("activation_beta=", "other_beta="))
    assert main(["contract", "engine", "--baseline", "base.json"]) == 1


@pytest.mark.parametrize("text", ["", "[]", '{"schema": "other/1", "findings": []}'])
def test_a_baseline_that_is_none_is_no_pass(text: str, broken: Path) -> None:
    Path("base.json").write_text(text)
    assert main(["contract", "engine", "--baseline", "base.json"]) == 2
    assert main(["contract", "engine", "--baseline", "missing.json"]) == 2


def test_gitlab_has_what_its_documentation_requires_and_no_fingerprint_twice() -> None:
    issues = gitlab.report([FINDING, FINDING, changed(id="b", guard="hasattr")])
    assert [issue["fingerprint"] for issue in issues] == ["0123456789", "0123456789-2", "b"]
    assert [issue["severity"] for issue in issues] == ["critical", "critical", "info"]
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["location"] == {"path": "vllm/a.py", "lines": {"begin": 7}}


def test_junit_counts_and_hostile_text_stays_text() -> None:
    hostile = changed(message="]]><script>\x00\x1b[31m\ufffe'\"&", guard=None)
    text = junit.document(
        Report(tree="t", calls=[], libraries=[], unchecked=[]), [hostile, changed(guard="hasattr")]
    )
    root = ET.fromstring(text)
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("2", "1", "1")
    (failure,) = root.iter("failure")
    assert failure.get("message", "").startswith("]]><script>\ufffd\ufffd[31m\ufffd'\"&")


def test_a_summary_says_how_many_more_there_are_and_holds_no_outside_markup() -> None:
    many = [changed(message="<img src=x> @everyone | [a](b)")] * 60
    report = Report(tree="t", calls=[], libraries=[], unchecked=[])
    text = jobsummary.document(report, Outcome(shown=tuple(many)))
    assert "10 more are in the log." in text
    assert "<img" not in text
    row = next(line for line in text.splitlines() if "vllm/a.py:7" in line)
    assert row.replace("\\|", "").count("|") == 4
