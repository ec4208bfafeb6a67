"""The body says what the evidence says, in upstream's sections; nothing from outside acts in it."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace
from pinproof.errors import Refused
from pinproof.gate import GateName, GateResult
from pinproof.patchset.patchfile import Patch
from pinproof.submit.body import render_body
from pinproof.submit.draft import Draft, load_draft
from pinproof.submit.evidence import record
from pinproof.submit.policy import Policy
from pinproof.submit.records import sealed
from pinproof.submit.skipping import make_skip
from pinproof.submit.store import Store, save
from pinproof.tree import Tree

from tests.submit.conftest import NOW, PERSON, TEMPLATE_033, review_of
from tests.submit.planted import HIT, HOOKS, planted, store_all

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
ERROR = "TypeError: fp8_fp4_mega_moe() got an unexpected keyword argument 'activation_beta'"


@pytest.fixture
def draft(patch: Patch, tree: Tree, policy: Policy, store: Store) -> Draft:
    store_all(store, patch, tree)
    save(store, patch, review_of(patch, tree, assistants=["Some Assistant"]))
    return load_draft(patch, tree, policy, store, NOW)


def with_result(draft: Draft, gate: GateName, result: GateResult) -> Draft:
    made = record(draft.patch, draft.base, result, NOW)
    return replace(draft, evidence={**draft.evidence, gate: made})


def headings(body: str) -> list[str]:
    return [line for line in body.splitlines() if line.startswith("#")]


def test_the_sections_are_those_of_the_template_in_order(draft: Draft) -> None:
    assert headings(render_body(draft)) == ["## Purpose", "## Test Plan", "## Test Result"]
    newer = draft.base.with_changes({".github/PULL_REQUEST_TEMPLATE.md": TEMPLATE_033.encode()})
    found = headings(render_body(replace(draft, base=newer)))
    assert found == ["## Overview", "## Claims", "## Validation", "## Details"]


def test_the_summary_is_two_lines_with_the_error_it_cures(draft: Draft) -> None:
    lines = render_body(draft).split("\n")
    assert lines[2] == "Fix the Kimi-K3 MegaMoE SiTU keyword names."
    assert lines[3] == f"Without it the call of `deep_gemm.fp8_fp4_mega_moe` dies with `{ERROR}`."
    assert lines[4] == ""


def test_the_root_cause_names_pin_signature_and_source_lines(draft: Draft) -> None:
    body = render_body(draft)
    assert "`8b1392b978f5a03c828dd1711090d7fb50958b8a (cmake/external_projects/deepgemm.cmake:1)`" in body
    call = (
        "| call before | `activation_beta`, `activation_linear_beta` | `vllm/models/kimi_k3/nvidia/model.py"
    )
    assert call in body
    assert (
        "| pinned signature | `situ_beta`, `situ_linear_beta` | `deep_gemm 8b1392b978f5, deep_gemm/" in body
    )
    assert (
        "| a version that takes it | `activation_beta`, `activation_linear_beta` | `deep_gemm e21c821f39a2"
        in body
    )
    assert "| call after | `situ_beta`, `situ_linear_beta` |" in body


def test_each_gate_has_its_row_with_before_and_after(draft: Draft) -> None:
    body = render_body(draft)
    before = "1 of 1 calls fail: unexpected-keyword `activation_beta`, `activation_linear_beta`"
    assert f"| {before} | 1 of 1 calls bind |" in body
    for name in ("compile", "pre-commit", "duplicates", "smoke"):
        assert f"| {name} | " in body


def test_skipped_hooks_are_named_with_their_reason(draft: Draft) -> None:
    body = render_body(draft)
    assert "Skipped, no touched file is for it: `clang-format`" in body
    assert "| `mypy-3.12` | manual | pass | - |" in body


def test_commands_to_repeat_the_proofs_are_in_the_test_plan(draft: Draft) -> None:
    plan = render_body(draft).split("## Test Plan")[1].split("## Test Result")[0]
    assert "python -m py_compile vllm/models/kimi_k3/nvidia/model.py\n" in plan
    assert "pre-commit run --hook-stage manual --files vllm/models/kimi_k3/nvidia/model.py\n" in plan


def test_what_could_not_be_proved_is_said_with_its_reason(draft: Draft) -> None:
    body = render_body(draft)
    assert "Not proved here:" in body
    assert "numbers on SM100, the only architecture it runs on (the machine has no GPU)" in body
    assert "- smoke: the kernel rung (skip: no CUDA GPU)" in body
    assert "packages for ruff-check" in body


def test_a_kernel_that_refused_the_gpu_is_not_told_as_one_that_ran(draft: Draft) -> None:
    details = draft.evidence["smoke"].details
    told, verdict = (
        "contract holds, the kernel refused SM90: x",
        "contract holds, kernel refused this architecture",
    )
    refused = {**details["rungs"][0], "rung": "kernel", "summary": told, "details": {"verdict": verdict}}
    made = replace(draft.evidence["smoke"], details={**details, "rungs": [details["rungs"][0], refused]})
    body = render_body(replace(draft, evidence={**draft.evidence, "smoke": sealed(made)}))
    assert f"- smoke: the kernel did not run on this GPU: {told}" in body


def test_a_skipped_gate_shows_as_skipped_never_as_passed(
    patch: Patch, tree: Tree, policy: Policy, store: Store
) -> None:
    store_all(store, patch, tree)
    store.path(patch, "smoke").unlink()
    save(store, patch, review_of(patch, tree))
    save(store, patch, make_skip("smoke", patch, tree, PERSON, "no machine with torch at hand", policy, NOW))
    body = render_body(load_draft(patch, tree, policy, store, NOW))
    assert "| smoke | - | - | skipped: no machine with torch at hand |" in body
    assert "- smoke: no machine with torch at hand (left out by Test Person)" in body


def test_ai_assistance_and_the_persons_review_are_disclosed(draft: Draft) -> None:
    body = render_body(draft)
    assert (
        "AI assistance was used (`Some Assistant`). Test Person read every changed line (1 hunk) "
        "on 2026-11-30" in body
    )
    alone = replace(draft, review=review_of(draft.patch, draft.base))
    assert "No AI assistance was used." in render_body(alone)


def test_the_duplicate_paragraph_lists_searches_and_hits(draft: Draft) -> None:
    body = render_body(draft)
    assert "**Duplicate-work check** (2026-11-30, `vllm-project/vllm`)" in body
    assert "#42844 (merged)" in body


def test_the_checklist_is_kept_and_ticked_by_what_holds(draft: Draft) -> None:
    tail = render_body(draft).split("\n---\n")[-1]
    assert tail.count("- [x]") == 3
    assert tail.count("- [ ]") == 1


def test_every_record_is_named_by_its_seal(draft: Draft) -> None:
    body = render_body(draft)
    for made in draft.evidence.values():
        assert f"`{made.seal[:12]}`" in body


def test_a_body_too_long_for_github_is_refused(draft: Draft) -> None:
    same = {"verdict": "same problem, other approach", "because": "z"}
    hits = [{**HIT, **same, "title": "x" * 80, "reason": "y" * 3000} for _ in range(40)]
    result = planted({})["duplicates"]
    many = with_result(draft, "duplicates", replace(result, details={**result.details, "hits": hits}))
    with pytest.raises(Refused, match="GitHub takes 65536"):
        render_body(many)


HOSTILE = (
    "</details><script>x</script> @vllm-project/maintainers closes #1 ![i](https://evil/i.png) **b** | c "
    "\x1b[2J"
)


@pytest.mark.parametrize("gate", ["contract", "compile", "pre-commit", "duplicates", "smoke"])
def test_hostile_text_in_any_gates_record_does_nothing_in_the_body(draft: Draft, gate: GateName) -> None:
    made = draft.evidence[gate]
    details = dict(made.details)
    if gate == "pre-commit":
        details["hooks"] = [{**HOOKS[0], "hook": HOSTILE, "note": HOSTILE}]
    elif gate == "duplicates":
        details["hits"] = [{**HIT, "title": HOSTILE, "reason": HOSTILE}]
    elif gate == "smoke":
        details["gpu"] = {"name": HOSTILE}
    elif gate == "contract":
        after = details["after"]
        call = after["calls"][0]
        place = {**call["signature"]["place"], "source": HOSTILE, "file": HOSTILE}
        signature = {**call["signature"], "place": place}
        calls = [{**call, "callee": HOSTILE, "keywords": [HOSTILE], "signature": signature}]
        details = {"before": {**details["before"], "calls": calls}, "after": {**after, "calls": calls}}
    hostile = sealed(replace(made, summary=HOSTILE, details=details))
    body = render_body(replace(draft, evidence={**draft.evidence, gate: hostile}))
    assert "\x1b" not in body
    found = [token for block in PARSER.parse(body) for token in (block, *(block.children or []))]
    html = [token.content.strip() for token in found if token.type in ("html_block", "html_inline")]
    assert not [piece for piece in html if "<script" in piece or "<img" in piece]
    assert not [token for token in found if token.type in ("image", "link_open")]
    assert not [token for token in found if token.type == "text" and "@" in token.content]
    assert sum("<details>" in piece for piece in html) == sum("</details>" in piece for piece in html)


def test_a_token_in_a_record_never_reaches_the_body(draft: Draft) -> None:
    made = sealed(replace(draft.evidence["compile"], summary="ghp_" + "a" * 36))
    body = render_body(replace(draft, evidence={**draft.evidence, "compile": made}))
    assert "ghp_" not in body


@pytest.mark.parametrize("outcome", ["fail", "skip"])
def test_no_box_rests_on_a_record_that_is_no_pass(draft: Draft, outcome: str) -> None:
    made = replace(draft.evidence["contract"], outcome=outcome, reason="why")
    tail = render_body(replace(draft, evidence={**draft.evidence, "contract": made})).split("\n---\n")[-1]
    assert tail.count("- [x]") == 1
