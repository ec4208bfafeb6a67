"""A tree's hook list is read from its own config, and a broken config is refused in one line."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pinproof.errors import InputError
from pinproof.gates.precommit.config import parse_config

SHA = "745eface02aef23e168a8afb6b5737818efbea95"


def one_repo(rev: str, hooks: str = "[{id: a}]", top: str = "") -> bytes:
    return f"{top}\nrepos:\n- repo: https://example.org/o/n\n  rev: {rev}\n  hooks: {hooks}\n".encode()


def test_hooks_come_in_order_with_their_repository_and_alias() -> None:
    config = parse_config(
        b"repos:\n- repo: https://example.org/o/n\n  rev: v1.2\n  hooks: [{id: a}, {id: a, alias: b}]\n"
        b"- repo: local\n  hooks: [{id: c, name: c, language: system, entry: 'true'}]\n"
    )
    assert [(h.index, h.id, h.key, h.remote) for h in config.hooks] == [
        (0, "a", "a", True), (1, "a", "b", True), (2, "c", "c", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rev", "version"),
    [
        ("v0.14.0", "0.14.0"),
        ("0.11.1", "0.11.1"),
        (f"{SHA} # v0.11.0.1", "0.11.0.1"),
        (f"{SHA}  # frozen: v6.0.0", "6.0.0"),
        (SHA, None),
        ("main", None),
    ],
)
def test_the_release_is_read_from_the_tag_or_from_the_comment_beside_a_commit(
    rev: str, version: str | None
) -> None:
    assert parse_config(one_repo(rev)).hooks[0].version == version


def test_a_local_hook_without_stages_takes_the_default_ones_and_a_remote_hook_leaves_them_open() -> None:
    config = parse_config(
        b"default_stages: [commit, manual]\nrepos:\n"
        b"- repo: local\n  hooks: [{id: a}, {id: b, stages: [push]}]\n"
        b"- repo: https://example.org/o/n\n  rev: v1\n  hooks: [{id: c}]\n"
    )
    assert [config.stages(hook) for hook in config.hooks] == [("pre-commit", "manual"), ("pre-push",), None]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"repos: [", "is no YAML"),
        (b"\0", "is no YAML"),
        (b"- a list", "expected a mapping"),
        (b"repos: 3", "repos"),
        (b"repos: [{repo: local}]", "hooks"),
        (b"repos: [{repo: local, hooks: [{name: no id}]}]", "id"),
        (b"repos: [{repo: local, hooks: [{id: a, stages: manual}]}]", "stages"),
        (b"exclude: 4\nrepos: []", "exclude"),
        (b"repos: !!python/object/apply:os.system ['true']", "is no YAML"),
    ],
)
def test_a_config_that_pre_commit_could_not_take_is_refused(raw: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        parse_config(raw)
    assert "\n" not in caught.value.message


def test_aliases_that_expand_without_bound_are_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(InputError, match="expands to over"):
        parse_config("\n".join([*lines, "repos: []"]).encode())


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
def test_no_bytes_do_worse_than_an_input_error(raw: bytes) -> None:
    with contextlib.suppress(InputError):
        parse_config(raw)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(st.fixed_dictionaries({"repos": _VALUES}, optional={"default_stages": _VALUES, "files": _VALUES}))
def test_no_mapping_does_worse_than_an_input_error(data: dict[str, object]) -> None:
    import yaml

    try:
        config = parse_config(yaml.safe_dump(data).encode())
    except InputError:
        return
    assert all(hook.id for hook in config.hooks)
