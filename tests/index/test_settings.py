"""What pip and uv are told, from their variables and files, becomes one answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.index.said import place
from pinproof.index.settings import pypi, read

A, B, C = (f"https://{name}.example/simple" for name in "abc")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def env(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), "XDG_CONFIG_DIRS": str(home / "etc"), **more}


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def urls(home: Path, **more: str) -> list[list[str]]:
    return [[found.url for found in group] for group in read(env(home, **more)).groups]


def test_nothing_said_is_pypi(home: Path) -> None:
    said = read(env(home, PIP_CONFIG_FILE="/dev/null"))
    assert said.groups == ((pypi(),),)
    assert said.fingerprint() == ""


@pytest.mark.parametrize("name", ["PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"])
def test_each_variable_for_the_index_counts(home: Path, name: str) -> None:
    assert urls(home, **{name: A}) == [[A]]


@pytest.mark.parametrize("spelled", ["index-url", "index_url"])
@pytest.mark.parametrize("path", [".pip/pip.conf", ".config/pip/pip.conf", "etc/pip/pip.conf"])
def test_each_file_of_pip_counts(home: Path, path: str, spelled: str) -> None:
    write(home / path, f"[global]\n{spelled} = {A}\n")
    assert urls(home) == [[A]]


def test_pip_takes_the_users_file_over_the_machines_and_the_variable_over_both(home: Path) -> None:
    write(home / "etc/pip/pip.conf", f"[global]\nindex-url = {A}\nextra-index-url =\n    {B}\n    {C}\n")
    write(home / ".config/pip/pip.conf", f"[install]\nindex-url = {B}\n[global]\nindex-url = {C}\n")
    assert urls(home) == [[B, C]]  # B is the index now; as an extra it is there once
    assert urls(home, PIP_INDEX_URL=C, PIP_EXTRA_INDEX_URL=A) == [[C, A]]


def test_a_named_file_of_pip_goes_over_the_others_and_dev_null_means_none(home: Path) -> None:
    write(home / ".config/pip/pip.conf", f"[global]\nindex-url = {A}\n")
    named = write(home / "named.conf", f"[global]\nindex-url = {B}\n")
    assert urls(home, PIP_CONFIG_FILE=str(named)) == [[B]]
    assert urls(home, PIP_CONFIG_FILE="/dev/null") == [[pypi().url]]


@pytest.mark.parametrize(
    "text",
    [
        f'[[index]]\nurl = "{A}"\ndefault = true\n',
        f'index-url = "{A}"\n',
        f'[pip]\nindex-url = "{A}"\n',
        f'[[index]]\nurl = "{B}"\nexplicit = true\nname = "b"\n[[index]]\nurl = "{A}"\ndefault = true\n',
    ],
)
def test_each_way_to_say_it_in_uv_toml_counts(home: Path, text: str) -> None:
    write(home / ".config/uv/uv.toml", text)
    assert urls(home) == [[A]]
    assert urls(home, UV_NO_CONFIG="1") == [[pypi().url]]


def test_a_file_of_the_working_folder_is_not_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be the tree under check."""
    write(home / "tree/uv.toml", f'index-url = "{A}"\n')
    write(home / "tree/pyproject.toml", f'[tool.uv]\nindex-url = "{A}"\n')
    write(home / "tree/pip.conf", f"[global]\nindex-url = {A}\n")
    monkeypatch.chdir(home / "tree")
    assert urls(home) == [[pypi().url]]


def test_uvs_extra_indexes_are_asked_before_and_one_by_one_pips_together(home: Path) -> None:
    assert urls(home, UV_INDEX=f"corp={A} {B}", UV_DEFAULT_INDEX=C) == [[A], [B], [C]]
    assert urls(home, UV_INDEX=A, UV_DEFAULT_INDEX=C, UV_INDEX_STRATEGY="unsafe-best-match") == [[A, C]]
    assert urls(home, PIP_EXTRA_INDEX_URL=f"{A} {B}", PIP_INDEX_URL=C) == [[C, A, B]]


def test_pips_variable_goes_before_uvs_and_a_variable_before_a_file(home: Path) -> None:
    write(home / ".config/pip/pip.conf", f"[global]\nindex-url = {C}\n")
    assert urls(home, UV_DEFAULT_INDEX=B) == [[B]]
    assert urls(home, UV_DEFAULT_INDEX=B, PIP_INDEX_URL=A) == [[A]]


@pytest.mark.parametrize("name", ["PIP_NO_INDEX", "UV_NO_INDEX"])
def test_no_index_of_either_tool_leaves_only_find_links(home: Path, name: str) -> None:
    said = read(env(home, **{name: "1"}, PIP_FIND_LINKS=str(home), UV_FIND_LINKS=f"{A},{B}"))
    assert said.asked() == ()
    assert [found.url for found in said.find_links] == [home.as_uri(), A, B]


def test_a_named_index_has_its_login_in_variables_of_its_name(home: Path) -> None:
    more = {"UV_INDEX_MY_CORP_USERNAME": "me", "UV_INDEX_MY_CORP_PASSWORD": "secret"}
    ((first, *_), *_) = read(env(home, UV_INDEX=f"my-corp={A}", **more)).groups
    assert (first.url, first.user, first.password) == (A, "me", "secret")


def test_a_login_in_the_url_moves_out_of_it_and_is_never_shown() -> None:
    found = place("https://us%40er:p%2Fw@a.example:8443/simple")
    assert (found.url, found.user, found.password) == ("https://a.example:8443/simple", "us@er", "p/w")
    assert "p/w" not in repr(found)


def test_certificates_proxy_trust_and_keyring_are_read(home: Path) -> None:
    write(home / ".config/pip/pip.conf", "[global]\ncert = /c\nclient-cert = /k\nproxy = http://p:1\n")
    more = {"UV_INSECURE_HOST": "x y:8443", "PIP_TRUSTED_HOST": "z", "UV_KEYRING_PROVIDER": "subprocess"}
    said = read(env(home, **more))
    assert (said.cert, said.client_cert, said.proxy) == ("/c", "/k", "http://p:1")
    assert (set(said.trusted), said.keyring) == ({"x", "y:8443", "z"}, "subprocess")
    assert read(env(home, SSL_CERT_FILE="/s", SSL_CLIENT_CERT="/t")).cert == "/s"


@pytest.mark.parametrize(("name", "value"), [("PINPROOF_OFFLINE", "1"), ("UV_OFFLINE", "true")])
def test_offline_is_ours_or_uvs(home: Path, name: str, value: str) -> None:
    assert read(env(home, **{name: value})).offline
    assert not read(env(home, **{name: "0"})).offline


@pytest.mark.parametrize("text", ["[global\nindex-url", "\xff", "[global]\nindex-url = %(x)s\n"])
def test_a_broken_file_never_stops_a_run(home: Path, text: str) -> None:
    write(home / ".config/pip/pip.conf", text)
    write(home / ".config/uv/uv.toml", text)
    read(env(home))


def test_what_one_index_said_is_not_remembered_for_another(home: Path) -> None:
    prints = {read(env(home, PIP_INDEX_URL=url)).fingerprint() for url in (A, B, pypi().url)}
    assert len(prints) == 3
    assert "" in prints
