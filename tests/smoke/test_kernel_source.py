from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pinproof.errors import CannotCheck, InputError
from pinproof.smoke.probes.kimi_k3_megamoe import kernel_source as ks
from pinproof.smoke.probes.kimi_k3_megamoe.library import LIBRARY
from pinproof.tree import Tree, open_tree

KERNEL = """
template <
    uint32_t kHidden, float kSiTUBeta,
    float kSiTULinearBeta,
    bool kHasShared = (kHidden > 0),
    uint32_t kMore = kHidden * 2
>
CUTLASS_GLOBAL __launch_bounds__(kThreads, 1) void
sm100_fp8_fp4_mega_moe_impl(void* y) {
    DG_STATIC_ASSERT(kSiTUBeta > 0 and kSiTULinearBeta > 0, "Invalid SiTU beta");
    struct SharedStorage {
        struct Inner { int a; };
        uint32_t counts[kHidden];
    };
    constexpr uint32_t n = 1;
}
"""
STRINGS = [
    "not use_situ or not activation_clamp_opt.has_value()",
    "activation_clamp >= 0",
    "situ_beta",
    "activation == \"swiglu\"",
]  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A built tree: the kernel's header and an extension with some strings."""
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm/__init__.py").touch()
    header = tmp_path / ks.INCLUDE / ks.PLAIN
    header.parent.mkdir(parents=True)
    header.write_text(KERNEL)
    binary = b"\x7fELF\0" + b"\0".join(text.encode() for text in STRINGS) + b"\0\xff\xfe"
    (tmp_path / LIBRARY / "_C.cpython-312-x86_64-linux-gnu.so").write_bytes(binary)
    return open_tree(tmp_path)


def test_parameters_without_a_default_are_found_in_order() -> None:
    name, parameters = ks.declaration(KERNEL)
    assert name == "sm100_fp8_fp4_mega_moe_impl"
    assert parameters == [
        ("uint32_t", "kHidden"), ("float", "kSiTUBeta"), ("float", "kSiTULinearBeta"),
    ]  # fmt: skip


def test_a_source_without_the_kernel_is_refused() -> None:
    with pytest.raises(InputError, match="declares no sm100_fp8_fp4_mega_moe"):
        ks.declaration("template <int a> void other();")


@given(st.text(max_size=400))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(InputError):
        assert all(name for _, name in ks.declaration(text)[1])


def test_the_size_note_follows_the_struct_and_changes_nothing_else() -> None:
    noted = ks.with_size_note(KERNEL)
    added = [line for line in noted.splitlines() if line not in KERNEL.splitlines()]
    assert len(added) == 1
    assert "sizeof(SharedStorage)" in added[0]
    assert noted.replace(added[0] + "\n", "") == KERNEL
    after = noted.split("uint32_t counts[kHidden];\n    };\n")[1]
    assert after.startswith(added[0])


def test_a_tree_with_headers_is_used_as_it_is(tree: Tree) -> None:
    assert ks.headers(tree) == tree.disk_root() / ks.INCLUDE


def test_a_kernel_of_its_own_for_situ_is_preferred(tree: Tree) -> None:
    include = ks.headers(tree)
    assert ks.kernel_path(include) == ks.PLAIN
    (include / ks.SITU).touch()
    assert ks.kernel_path(include) == ks.SITU


def test_value_contracts_are_read_out_of_the_extension(tree: Tree) -> None:
    assert ks.host_contracts(tree) == [
        "activation_clamp >= 0",
        "not use_situ or not activation_clamp_opt.has_value()",
    ]


def test_a_tree_that_vendors_no_kernel_and_names_no_release_cannot_be_compiled(tmp_path: Path) -> None:
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm/__init__.py").touch()
    with pytest.raises(CannotCheck, match="vendors no sm100_fp8_fp4_mega_moe"):
        ks.headers(open_tree(tmp_path))
