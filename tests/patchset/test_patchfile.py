"""A patch file is read completely, or refused with what is wrong."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pinproof.errors import InputError, PinproofError
from pinproof.patchset.patchfile import Patch, parse_patch, split_fields


def altered(patch: Patch, old: bytes, new: bytes) -> bytes:
    assert old in patch.raw
    return patch.raw.replace(old, new)


def test_the_real_patch_is_read_whole(patch: Patch) -> None:
    assert patch.subject == "[Bugfix][Model] Fix the Kimi-K3 MegaMoE SiTU keyword names"
    assert patch.field("Upstream-Status") == "Backport [v0.28.0]"
    assert patch.paths() == ("vllm/models/kimi_k3/nvidia/model.py",)
    (hunk,) = patch.diffs[0].hunks
    changed = [line.split(b"=")[0].strip() for line in hunk.lines if line[:1] != b" "]
    assert changed == [b"-            activation_beta", b"-            activation_linear_beta",
                       b"+            situ_beta", b"+            situ_linear_beta"]  # fmt: skip


HOSTILE = [
    (b"vllm/models/kimi_k3/nvidia/model.py", b"../x.py", "unsafe path"),
    (b"vllm/models/kimi_k3/nvidia/model.py", b"/etc/passwd", "unsafe path"),
    (b"vllm/models/kimi_k3/nvidia/model.py", b".git/config", "unsafe path"),
    (b"vllm/models/kimi_k3/nvidia/model.py", b"a/.GIT/hooks/x", "unsafe path"),
    (b" 100644\n", b" 120000\n", "a link or a submodule"),
    (b" 100644\n", b" 160000\n", "a link or a submodule"),
    (b"index d7", b"old mode 100644\nnew mode 100755\nindex d7", "changes a file's mode"),
    (b"index d7", b"rename from a\nrename to b\nindex d7", "renames a file"),
    (b"index d7", b"similarity index 90%\nindex d7", "renames a file"),
    (b"index d7", b"GIT binary patch\nindex d7", "binary diff"),
    (b" b/vllm/models", b" b/vllm/other", "renames"),
    (b"@@ -486,8", b"@@ -486,9", "cut short or miscounted"),
    (b"@@ -486,8 +486,8", b"@@ -x,8 +486,8", "malformed hunk header"),
    (b"From 0000", b"Frm 0000", "does not begin"),
    (b"Subject:", b"Topic:", "has no Subject: header"),
    (b"Kimi-K3 call", b"Kimi\0K3 call", "NUL"),
    (b"Kimi-K3 call", b"Kimi\xff\xfeK3 call", "not UTF-8"),
]


@pytest.mark.parametrize(("old", "new", "says"), HOSTILE)
def test_a_hostile_or_damaged_patch_is_refused_with_the_reason(
    patch: Patch, old: bytes, new: bytes, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        parse_patch(altered(patch, old, new), "x.patch")


def test_every_truncation_is_refused(patch: Patch) -> None:
    whole = len(patch.raw)
    for length in range(0, whole, 7):
        with pytest.raises(InputError):
            parse_patch(patch.raw[:length], "x.patch")


@given(st.binary(max_size=400), st.integers(0, 2500))
def test_any_bytes_give_a_patch_or_a_clear_error(noise: bytes, at: int) -> None:
    from pinproof.patchset.series import find_patch

    raw = find_patch("0001").raw
    for data in (
        noise,
        raw[:at] + noise + raw[at:],
        b"From " + b"0" * 40 + b" Mon Sep 17 00:00:00 2001\n" + noise,
    ):
        try:
            parse_patch(data, "x.patch")
        except PinproofError as error:
            assert "\n" not in error.message  # noqa: PT017


names = st.from_regex(re.compile(r"[A-Z][a-z]{1,8}(-[A-Z][a-z]{1,8})?"), fullmatch=True)
values = st.from_regex(re.compile(r"[!-~]([ -~]{0,40}[!-~])?"), fullmatch=True)


@given(st.lists(st.tuples(names, values), min_size=1, max_size=6))
def test_fields_written_are_fields_read(pairs: list[tuple[str, str]]) -> None:
    block = "\n".join(f"{name}: {value}" for name, value in pairs)
    prose, fields, problems = split_fields(f"Why it is so.\n\n{block}")
    assert prose == "Why it is so."
    assert not problems
    assert [(n, v) for n in fields for v in fields[n]] == sorted(
        pairs, key=lambda p: list(fields).index(p[0])
    )


def test_a_line_among_the_fields_that_is_none_is_kept_as_a_problem() -> None:
    _, fields, problems = split_fields("Prose.\n\nOrigin: upstream\nno field here")
    assert fields == {"Origin": ["upstream"]}
    assert problems == ("no field here",)
