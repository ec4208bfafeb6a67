"""Upstream and fork are told apart by where they really go, and upstream is never pushed to."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.errors import Refused
from pinproof.submit.remotes import (
    Remote,
    fetch_base,
    fork_remote,
    place,
    remote_branch,
    remotes,
    upstream_remote,
)

from tests.submit.conftest import Hub, git

UPSTREAM = "vllm-project/vllm"


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/vllm-project/vllm",
        "https://github.com/vllm-project/vllm.git",
        "https://x-access-token:ghp_secret@github.com/vllm-project/vllm.git",
        "git@github.com:vllm-project/vllm.git",
        "ssh://git@github.com/vllm-project/vllm.git",
        "ssh://git@ssh.github.com:443/vllm-project/vllm.git",
        "https://GitHub.com/vLLM-project/vllm/",
    ],
)
def test_all_spellings_of_a_url_are_one_place_without_credentials(url: str) -> None:
    assert place(url) == "github.com/vllm-project/vllm"


def test_a_local_url_is_its_resolved_path(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert place(f"file://{tmp_path}/link") == place(str(tmp_path))


def test_upstream_and_fork_are_found(hub: Hub) -> None:
    found = remotes(hub.clone)
    upstream = upstream_remote(found, UPSTREAM)
    fork = fork_remote(found, upstream)
    assert (upstream.name, fork.name, fork.owner) == ("upstream", "fork", "test")


def test_a_clone_without_upstream_is_told_how_to_add_it(hub: Hub) -> None:
    git(hub.clone, "remote", "remove", "upstream")
    with pytest.raises(Refused, match="no remote of this clone is vllm-project/vllm") as caught:
        upstream_remote(remotes(hub.clone), UPSTREAM)
    assert "git remote add upstream" in (caught.value.hint or "")


def test_two_forks_must_be_told_apart_by_the_person(hub: Hub, tmp_path: Path) -> None:
    git(hub.clone, "remote", "add", "other", str(tmp_path / "hub/else/vllm.git"))
    found = remotes(hub.clone)
    upstream = upstream_remote(found, UPSTREAM)
    with pytest.raises(Refused, match="which remote is your fork"):
        fork_remote(found, upstream)
    assert fork_remote(found, upstream, "other").owner == "else"


@pytest.mark.parametrize(
    "pushes_to", ["https://github.com/vllm-project/vllm", "gh:vllm-project/vllm.git", "{upstream}"]
)
def test_a_fork_that_pushes_to_upstream_is_refused(hub: Hub, pushes_to: str) -> None:
    url = pushes_to.format(upstream=hub.upstream)
    git(hub.clone, "remote", "set-url", "--push", "fork", url)
    found = remotes(hub.clone)
    with pytest.raises(Refused, match="pushes to upstream"):
        fork_remote(found, upstream_remote(found, UPSTREAM), "fork")


def test_a_second_push_url_that_is_upstream_is_refused_too(hub: Hub) -> None:
    git(hub.clone, "remote", "set-url", "--push", "--add", "fork", str(hub.fork))
    git(hub.clone, "remote", "set-url", "--push", "--add", "fork", str(hub.upstream))
    found = remotes(hub.clone)
    with pytest.raises(Refused, match="pushes to upstream"):
        fork_remote(found, upstream_remote(found, UPSTREAM), "fork")


def test_a_url_rewritten_to_upstream_is_seen_through(hub: Hub) -> None:
    git(hub.clone, "config", f"url.{hub.upstream}.pushInsteadOf", str(hub.fork))
    found = remotes(hub.clone)
    with pytest.raises(Refused, match="which remote is your fork"):
        fork_remote(found, upstream_remote(found, UPSTREAM))


def test_the_base_is_fetched_without_moving_the_persons_tracking_branch(hub: Hub) -> None:
    before = git(hub.clone, "rev-parse", "upstream/main")
    moved = hub.advance("README.md", "new")
    upstream = upstream_remote(remotes(hub.clone), UPSTREAM)
    assert fetch_base(hub.clone, upstream, "main") == moved
    assert git(hub.clone, "rev-parse", "upstream/main") == before


def test_an_unreachable_upstream_is_refused_with_the_offline_way(hub: Hub) -> None:
    upstream = upstream_remote(remotes(hub.clone), UPSTREAM)
    hub.upstream.rename(hub.upstream.with_name("gone"))
    with pytest.raises(Refused, match="cannot fetch main") as caught:
        fetch_base(hub.clone, upstream, "main")
    assert "--base upstream/main" in (caught.value.hint or "")


def test_a_program_named_by_the_clones_configuration_does_not_run(hub: Hub, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    git(hub.clone, "config", "remote.upstream.uploadpack", f"touch {marker}; git-upload-pack")
    upstream = upstream_remote(remotes(hub.clone), UPSTREAM)
    assert fetch_base(hub.clone, upstream, "main")
    assert not marker.exists()


def test_a_branch_is_seen_on_the_remote_or_not(hub: Hub) -> None:
    fork = next(remote for remote in remotes(hub.clone) if remote.name == "fork")
    assert remote_branch(hub.clone, fork, "main") == git(hub.fork, "rev-parse", "main")
    assert remote_branch(hub.clone, fork, "none") is None


def test_a_remote_whose_name_is_an_option_of_git_is_passed_over(hub: Hub, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    name = f"--upload-pack=touch${{IFS}}{marker};:"
    with (hub.clone / ".git/config").open("a") as config:
        config.write(f'[remote "{name}"]\n\turl = https://github.com/{UPSTREAM}\n')
    assert {remote.name for remote in remotes(hub.clone)} == {"upstream", "fork"}
    # And were it to come through by another way, it would still be no option.
    evil = Remote(name, f"github.com/{UPSTREAM}", ())
    with pytest.raises(Refused):
        fetch_base(hub.clone, evil, "main")
    with pytest.raises(Refused):
        remote_branch(hub.clone, evil, "main")
    assert not marker.exists()
