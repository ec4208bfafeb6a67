from __future__ import annotations

import pytest
from pinproof.smoke.record import scrub


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Assertion error (/build/.deps/csrc/layout.hpp:67): x", "Assertion error (…/layout.hpp:67): x"),
        ('File "/home/me/vllm/model.py", line 3', 'File "…/model.py", line 3'),
        ("/usr/bin/python3 -m pip", "…/python3 -m pip"),
        ("vllm/models/kimi_k3/nvidia/model.py", "vllm/models/kimi_k3/nvidia/model.py"),
        ("2 / 3 and a/b", "2 / 3 and a/b"),
        ("see https://example.org/a/b.html", "see https://example.org/a/b.html"),
    ],
)
def test_folders_of_this_machine_are_left_out_and_all_else_is_kept(text: str, kept: str) -> None:
    assert scrub(text) == kept


def test_scrubbing_reaches_into_lists_and_mappings() -> None:
    assert scrub({"a": ["/x/y/z", 3, None], "b": {"c": "/p/q"}}) == {"a": ["…/z", 3, None], "b": {"c": "…/q"}}
