"""No path of the machine, no token and no megabyte of output gets into a record."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest
from pinproof.gate import GateResult
from pinproof.patchset.patchfile import Patch
from pinproof.submit.evidence import record
from pinproof.submit.records import encode
from pinproof.submit.scrub import scrubbed, trimmed, without_tokens
from pinproof.tree import Tree


@pytest.mark.parametrize(
    "token",
    ["ghp_" + "a1" * 18, "github_pat_" + "a_1" * 12, "ghs_" + "x" * 36, "hf_" + "b" * 30],
)
def test_access_tokens_are_removed(token: str) -> None:
    assert without_tokens(f"x {token} y") == "x [removed] y"


def test_the_credentials_of_a_url_and_a_bearer_header_are_removed() -> None:
    assert without_tokens("https://ada:s3cret@github.com/a/b") == "https://[removed]@github.com/a/b"
    assert without_tokens("Authorization: Bearer abcdefghijklmnop1234") == "Authorization: Bearer [removed]"


def test_paths_of_the_machine_are_named_by_what_they_are(tree: Tree) -> None:
    found = scrubbed({f"{tree.root}/k": [f"{tree.root}/vllm/a.py:3", f"{sys.prefix}/bin/python", 3]}, tree)
    assert found == {"TREE/k": ["TREE/vllm/a.py:3", "PYTHON/bin/python", 3]}


def test_a_folder_whose_name_only_begins_alike_is_left_alone(tree: Tree, tmp_path: Path) -> None:
    assert scrubbed(f"{tree.root}-2/x", tree).endswith("tree-2/x")


def test_a_long_text_is_cut_in_the_middle_and_referenced_by_its_hash() -> None:
    log = "begin" + "x" * 10_000 + "end"
    details, logs = trimmed({"hooks": [{"output": log}], "n": 1})
    text = details["hooks"][0]["output"]
    assert text.startswith("begin")
    assert text.endswith("end")
    assert len(text) < 4200
    assert [(entry.at, entry.size, entry.sha256) for entry in logs] == [
        ("/hooks/0/output", 10_008, hashlib.sha256(log.encode()).hexdigest())
    ]


def test_short_details_stay_as_they_are() -> None:
    assert trimmed({"a": ["x", None, 1.5]}) == ({"a": ["x", None, 1.5]}, [])


def test_a_token_in_a_gates_output_is_in_no_record(patch: Patch, tree: Tree) -> None:
    token = "ghp_" + "a1" * 18
    result = GateResult(
        gate="smoke", outcome="error", summary=f"failed with {token}", reason=f"401 for {token}",
        details={"rungs": [{"log": f"Authorization: token {token}"}]},
    )  # fmt: skip
    assert token.encode() not in encode(record(patch, tree, result))
