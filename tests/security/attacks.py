"""The attacks of docs/security.md, each on the real code, each with a way to take its defence away.

An attack returns whether it did harm. `CASES` pairs it with the change that removes the defence, so that a
test can show both: harmless with it, harmful without. Nothing here needs a network or leaves its folder.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import os
import re
import shutil
import socket
import subprocess
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
import requests
from pinproof import console, fetch, git, pins, runner, tree, wheelfiles
from pinproof.contract.check import check_tree
from pinproof.contract.sources import fetching
from pinproof.duplicates import report
from pinproof.errors import PinproofError
from pinproof.gate import GateResult
from pinproof.index import session
from pinproof.patchset import journal, patchfile
from pinproof.patchset.series import find_patch
from pinproof.releases import Distribution
from pinproof.submit import evidence, importing, records
from pinproof.submit.policy import load_policy

from tests.conftest import REPO
from tests.index_server import Index, serve
from tests.trees import MODEL, SITU, make_tree

PROSE = (
    "A change that is made up for a test and does nothing that anyone would ever want.\n\n"
    "Origin: other, https://example.org/1\nUpstream-Status: Pending\nAffects: x 1\n"
    "Remove-When: never, it is a test\nLast-Update: 2026-11-30\n"
)
HEAD = (
    b"From " + b"0" * 40 + b" Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\n"
    b"Date: Mon, 30 Nov 2026 00:00:00 +0000\nSubject: [PATCH] [Misc] A test\n\n" + PROSE.encode() + b"---\n"
)  # fmt: skip
Monkey = pytest.MonkeyPatch
Attack = Callable[[Path, Monkey], bool]


@dataclass(frozen=True)
class Case:
    """One attack, its defence's removal, and the line of docs/security.md that it belongs to."""

    threat: str
    attack: Attack
    remove: Callable[[Monkey], None]


def patch_text(path: str, old: bytes | None, new: bytes) -> bytes:
    """A patch of the right form that turns one file's single line into another (None: adds the file)."""
    return HEAD + diff_text(path, old, new)


def diff_text(path: str, old: bytes | None, new: bytes) -> bytes:
    """The part of a patch that is about one file."""
    kind = b"new file mode 100644\n" if old is None else b""
    before = b"/dev/null" if old is None else b"a/" + path.encode()
    hunk = b"@@ -0,0 +1 @@\n+" + new if old is None else b"@@ -1 +1 @@\n-" + old + b"+" + new
    return (
        b"diff --git a/" + path.encode() + b" b/" + path.encode() + b"\n" + kind
        + b"index " + b"0" * 40 + b".." + b"1" * 40 + (b" 100644\n" if old is not None else b"\n")
        + b"--- " + before + b"\n+++ b/" + path.encode() + b"\n" + hunk
    )  # fmt: skip


def small_tree(root: Path) -> Path:
    (root / "vllm").mkdir(parents=True)
    (root / "vllm/__init__.py").write_bytes(b"")
    return root


def apply(root: Path, patch: bytes) -> None:
    """`pinproof apply` with this patch on this tree; refusals are the point and pass."""
    from pinproof.cli import main

    file = root.parent / "0009-evil.patch"
    file.write_bytes(patch)
    main(["apply", "--force", str(file), str(root)])  # the patch states no contract


def patch_climbs_out(tmp: Path, monkeypatch: Monkey) -> bool:
    """A patch that names ../escaped."""
    apply(small_tree(tmp / "tree"), patch_text("../escaped", None, b"x\n"))
    return (tmp / "escaped").exists()


def patch_follows_link(tmp: Path, monkeypatch: Monkey) -> bool:
    """A patch that changes a file through a folder of the tree that is a link to elsewhere."""
    victim = tmp / "home/rc"
    victim.parent.mkdir()
    victim.write_bytes(b"mine\n")
    root = small_tree(tmp / "tree")
    (root / "vllm/link").symlink_to(victim.parent)
    apply(root, patch_text("vllm/link/rc", b"mine\n", b"theirs\n"))
    return victim.read_bytes() != b"mine\n"


def tree_links_to_secret(tmp: Path, monkeypatch: Monkey) -> bool:
    """A file of the tree that is a link to a file outside, whose text would end up in output."""
    (tmp / "secret").write_bytes(b"a secret")
    root = small_tree(tmp / "tree")
    (root / "vllm/version.py").symlink_to(tmp / "secret")
    return tree.open_tree(root).read("vllm/version.py") is not None


def archive_climbs_out(tmp: Path, monkeypatch: Monkey) -> bool:
    """An sdist with a member ../escaped."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name in ("vllm-1.0/PKG-INFO", "../escaped"):
            info = tarfile.TarInfo(name)
            info.size = 1
            tar.addfile(info, io.BytesIO(b"x"))
    (tmp / "evil.tar.gz").write_bytes(out.getvalue())
    (tmp / "into").mkdir()
    _quietly(lambda: fetch.unpack_sdist(tmp / "evil.tar.gz", tmp / "into", "evil.tar.gz"))
    return (tmp / "escaped").exists()


def archive_never_ends(tmp: Path, monkeypatch: Monkey) -> bool:
    """An sdist of a few kilobytes that unpacks to more than any sdist holds (here: to 64 MiB)."""
    monkeypatch.setattr(fetch, "_LARGEST", min(fetch._LARGEST, 16 << 20))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        info = tarfile.TarInfo("vllm-1.0/zeros")
        info.size = 64 << 20
        tar.addfile(info, io.BytesIO(bytes(info.size)))
    (tmp / "bomb.tar.gz").write_bytes(out.getvalue())
    (tmp / "into").mkdir()
    _quietly(lambda: fetch.unpack_sdist(tmp / "bomb.tar.gz", tmp / "into", "bomb.tar.gz"))
    return any(path.stat().st_size > 16 << 20 for path in (tmp / "into").rglob("zeros"))


def wheel_is_a_bomb(tmp: Path, monkeypatch: Monkey) -> bool:
    """A wheel whose member unpacks to 80 MiB out of 80 KiB."""
    return _read_member(tmp, bytes(80 << 20), claimed=None, monkeypatch=monkeypatch) > 64 << 20


def wheel_lies_about_size(tmp: Path, monkeypatch: Monkey) -> bool:
    """A wheel whose member claims ten bytes and unpacks to 80 MiB."""
    return _read_member(tmp, bytes(80 << 20), claimed=10, monkeypatch=monkeypatch) > 10


def wheel_climbs_out(tmp: Path, monkeypatch: Monkey) -> bool:
    """A wheel with a member ../../../escaped-wheel, read by that name."""
    content = _zip({"../../../escaped-wheel": b"x", "vllm/__init__.py": b""})
    with _served(monkeypatch, content) as files:
        _quietly(lambda: files.prefetch(list(files.paths())))
    return any(path.name == "escaped-wheel" for path in tmp.parent.rglob("*"))


def member_is_swapped(tmp: Path, monkeypatch: Monkey) -> bool:
    """A file server that sends another member than the one the wheel's RECORD names."""
    record = record_of({"vllm/a.py": b"honest = 1\n"})
    content = _zip({"vllm/a.py": b"hostile = 1\n", "vllm-1.0.dist-info/RECORD": record})
    return _reads(monkeypatch, content, hashlib.sha256(content).hexdigest())


def wheel_is_another(tmp: Path, monkeypatch: Monkey) -> bool:
    """A file server that sends another wheel, RECORD and all, than the one the index means."""
    monkeypatch.setenv("PINPROOF_VERIFY", "1")
    record = record_of({"vllm/a.py": b"hostile = 1\n"})
    content = _zip({"vllm/a.py": b"hostile = 1\n", "vllm-1.0.dist-info/RECORD": record})
    return _reads(monkeypatch, content, hashlib.sha256(b"the honest wheel").hexdigest())


def record_of(files: dict[str, bytes]) -> bytes:
    """A RECORD over these files."""
    lines = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    return "".join(lines).encode()


def _reads(monkeypatch: Monkey, content: bytes, sha256: str) -> bool:
    """Whether the hostile member is read out of the wheel that is served."""
    with _served(monkeypatch, content, sha256) as files:
        try:
            return b"hostile" in (files.read("vllm/a.py") or b"")
        except PinproofError:
            return False


def page_never_ends(tmp: Path, monkeypatch: Monkey) -> bool:
    """An index page that goes on past any size."""
    monkeypatch.setattr("pinproof.index.session.LARGEST_PAGE", 1 << 16)
    with serve(Index(page=b" " * (1 << 18))) as index:
        index.add("evil", "x.whl", b"")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        try:
            return len(session.IndexSession().get(f"{index.url}/simple/evil/", timeout=5).content) > 1 << 16
        except requests.RequestException:
            return False


def page_trickles(tmp: Path, monkeypatch: Monkey) -> bool:
    """An index page that arrives so slowly that no read of it ever times out."""
    monkeypatch.setattr("pinproof.index.session.ANSWER_S", 0.5)
    began = time.monotonic()
    with _trickling() as url, contextlib.suppress(requests.RequestException):
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        session.IndexSession().get(url, timeout=5)
    return time.monotonic() - began > 1.5


@contextlib.contextmanager
def _trickling() -> Iterator[str]:
    """A server that sends a byte every 50 ms, for two seconds."""

    def answer(server: socket.socket) -> None:
        with contextlib.suppress(OSError), server.accept()[0] as caller:
            caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n")
            for _ in range(40):
                time.sleep(0.05)
                caller.sendall(b" ")

    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = threading.Thread(target=answer, args=(server,))
        sender.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        sender.join()


def commit_differs(tmp: Path, monkeypatch: Monkey) -> bool:
    """A person's own excludes file and default hash, under which `fetch` must make the same commit."""
    ids = []
    for name in ("plain", "set"):
        root = small_tree(tmp / name)
        (root / "vllm/a.log").write_bytes(b"x")
        fetch.commit_all(root, "vllm 1.0")
        ids.append(
            subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True).stdout
        )
        config = tmp / "gitconfig"
        config.write_text(f"[core]\n\texcludesFile = {tmp}/excludes\n[user]\n\tname = a\n\temail = a@b.c\n")
        (tmp / "excludes").write_text("*.log\n")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
        monkeypatch.setenv("GIT_DEFAULT_HASH", "sha256")
    return ids[0] != ids[1]


def git_filter_runs(tmp: Path, monkeypatch: Monkey) -> bool:
    """.gitattributes and .git/config that name a program for every file git reads."""
    return _hostile_repository(tmp, '[filter "x"]\n\tclean = "touch CANARY; cat"\n', "*.py filter=x\n")


def git_filter_with_an_equals_sign_runs(tmp: Path, monkeypatch: Monkey) -> bool:
    """The same with a name that a `-c NAME=VALUE` override cannot spell."""
    return _hostile_repository(tmp, '[filter "a=b"]\n\tclean = "touch CANARY; cat"\n', "*.py filter=a=b\n")


def git_filter_of_a_worktree_runs(tmp: Path, monkeypatch: Monkey) -> bool:
    """The same, in the config file of the single worktree."""
    config = "[extensions]\n\tworktreeConfig = true\n"
    worktree = '[filter "x"]\n\tclean = "touch CANARY; cat"\n'
    return _hostile_repository(tmp, config, "*.py filter=x\n", worktree=worktree)


def git_filter_of_an_included_file_runs(tmp: Path, monkeypatch: Monkey) -> bool:
    """The same, in a file that the config includes."""
    (tmp / "more").write_text(f'[filter "x"]\n\tclean = "touch {tmp}/canary; cat"\n')
    return _hostile_repository(tmp, f"[include]\n\tpath = {tmp}/more\n", "*.py filter=x\n")


def git_fsmonitor_runs(tmp: Path, monkeypatch: Monkey) -> bool:
    """core.fsmonitor, a program that git asks which files changed."""
    return _hostile_repository(tmp, '[core]\n\tfsmonitor = "touch CANARY; false"\n', "")


def git_hook_runs(tmp: Path, monkeypatch: Monkey) -> bool:
    """A hook in the checkout's own .git/hooks."""
    return _hostile_repository(tmp, "", "", hook="post-index-change")


def git_works_elsewhere(tmp: Path, monkeypatch: Monkey) -> bool:
    """core.worktree, which makes git look at and change another folder than the tree's."""
    victim = tmp / "victim/vllm"
    victim.mkdir(parents=True)
    (victim / "a.py").write_bytes(b"old\n")
    root = repository(tmp / "tree")
    with (root / ".git/config").open("a") as config:
        config.write(f"[core]\n\tworktree = {tmp}/victim\n")
    before = (root / ".git/index").read_bytes()
    apply(root, patch_text("vllm/a.py", b"old\n", b"new\n"))
    return (root / ".git/index").read_bytes() != before or (root / "vllm/a.py").read_bytes() != b"old\n"


def text_moves_the_cursor(tmp: Path, monkeypatch: Monkey) -> bool:
    """A patch's name that holds terminal escapes, as a pull request's title may."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        console.say("a title\x1b]0;owned\x07\x1b[2J \u202egnp.exe")
    return any(char in out.getvalue() for char in "\x1b\x07\u202e")


def title_moves_the_cursor(tmp: Path, monkeypatch: Monkey) -> bool:
    """A pull request whose title holds them, in the list of possible duplicates."""
    hit = {"number": 1, "kind": "pr", "state": "open", "score": 9.0, "verdict": "related", "declared": False,
           "blocks": True, "draft": False,
           "title": "fix\x1b]52;c;cm0gLXJmIH4=\x07 \u202e", "reason": "\x1b[8m", "because": None}  # fmt: skip
    seen = {"open": 1, "open_total": 1, "merged": 0, "closed_unmerged": 0, "since": "2026-11-30",
            "cut_file_lists": 0}  # fmt: skip
    details = {"patch": "p", "repo": "o/r", "gaps": [], "inspected": seen, "compared": 0, "queries": [],
               "hits": [hit]}  # fmt: skip
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        report.show(GateResult(gate="duplicates", outcome="pass", summary="s", details=details))
    return any(char in out.getvalue() for char in "\x1b\x07\u202e")


def title_writes_a_command(tmp: Path, monkeypatch: Monkey) -> bool:
    """A pull request whose title starts a line of its own in a table, and that line is a runner's command."""
    return _commands(
        monkeypatch, lambda: console.table(("title",), [("fix\u2028::error::evil ##[add-mask]x",)])
    )


def summary_writes_a_command(tmp: Path, monkeypatch: Monkey) -> bool:
    """A record made on an untrusted machine, whose summary goes on after a newline."""
    return _commands(monkeypatch, lambda: console.say("smoke: pass: fine\n \u00a0::stop-commands::x"))


def _commands(monkeypatch: Monkey, work: Callable[[], None]) -> bool:
    """Whether what is printed holds a command, as the runner reads lines."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    out = io.StringIO()
    with contextlib.redirect_stdout(out), runner.guarded_output():
        work()
    lines = re.split(r"\r\n|\r|\n", out.getvalue())
    return any(line.strip().startswith("::") or "##[" in line for line in lines)


def pin_names_another_host(tmp: Path, monkeypatch: Monkey) -> bool:
    """A tree that pins a library at a commit in a repository of the attacker's, on a port that listens."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"https://127.0.0.1:{server.getsockname()[1]}/DeepGEMM.git"
        root = make_tree(tmp / "tree", _real_patch(), fixed=False, declares=SITU)
        shutil.rmtree(root / "vllm/third_party")
        (root / "cmake/external_projects").mkdir(parents=True)
        (root / "cmake/external_projects/deepgemm.cmake").write_text(
            f'set(REPO "{url}")\nGIT_REPOSITORY ${{REPO}}\nGIT_TAG {"ab" * 20}\n'
        )
        server.settimeout(0.1)
        asked, done = threading.Event(), threading.Event()
        waiter = threading.Thread(target=_wait_for_a_caller, args=(server, asked, done))
        waiter.start()
        _quietly(lambda: check_tree(tree.open_tree(root), callee="deep_gemm.fp8_fp4_mega_moe"))
        done.set()
        waiter.join()
    return asked.is_set()


def record_was_edited(tmp: Path, monkeypatch: Monkey) -> bool:
    """A record whose summary was rewritten by hand."""
    return _taken_in(
        tmp, _record(tmp, outcome="pass").replace(b'"summary": "s"', b'"summary": "all is well"')
    )


def record_contradicts_itself(tmp: Path, monkeypatch: Monkey) -> bool:
    """A record that says pass over details that tell of a failure, sealed anew."""
    made = records.sealed(
        msgspec.structs.replace(
            msgspec.json.decode(_record(tmp, outcome="fail"), type=records.EvidenceRecord), outcome="pass"
        )
    )
    return _taken_in(tmp, records.encode(made))


def expression_explodes(tmp: Path, monkeypatch: Monkey) -> bool:
    """Files whose text makes a regular expression search in square time: over 1 s of CPU for 16 kB each."""
    root = small_tree(tmp / "tree")
    for path in ("cmake/external_projects/a.cmake", "requirements/cuda.txt", "docker/Dockerfile", "PKG-INFO"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        text = ["\n", " ", "\t", "set(", 'set(A "', "GIT_TAG ", "${", "ARG A", "Requires-Dist: ", "a=", "["]
        (root / path).write_text("".join(f"{piece * (16_000 // len(piece))}\n" for piece in text))
    began = time.process_time()
    pins.read_pins(tree.open_tree(root))
    for piece in (b"---\n", b"X-", b"\n", b" ", b"Origin: ", b"[PATCH]"):
        raw = patch_text("a.py", b"a\n", b"b\n").replace(b"\n---\n", b"\n" + piece * 8_000 + b"\n---\n", 1)
        _quietly(lambda raw=raw: patchfile.parse_patch(raw, "x.patch"))  # type: ignore[misc]
    return time.process_time() - began > 1.0


def _quietly(work: Callable[[], Any]) -> None:
    try:
        work()
    except PinproofError:
        return


def _real_patch() -> patchfile.Patch:
    return find_patch("0001", REPO / "patches/vllm")


def _wait_for_a_caller(server: socket.socket, asked: threading.Event, done: threading.Event) -> None:
    while not (asked.is_set() or done.is_set()):
        with contextlib.suppress(TimeoutError):
            server.accept()[0].close()
            asked.set()


def _record(tmp: Path, *, outcome: Literal["pass", "fail"]) -> bytes:
    """An honest record of the compile gate on a small tree."""
    root = make_tree(tmp / "tree", _real_patch(), fixed=False, declares=SITU)
    fault = {"path": MODEL, "line": 1, "message": "no"}
    details = {"files": [MODEL], "checked": ["3.10"], "faults": [fault] if outcome == "fail" else []}
    result = GateResult(gate="compile", outcome=outcome, summary="s", details=details)
    return records.encode(evidence.record(_real_patch(), tree.open_tree(root), result))


def _taken_in(tmp: Path, raw: bytes) -> bool:
    """Whether `pinproof evidence add` would take the record for a pass."""
    try:
        made = importing.import_record(
            raw, "smoke.json", _real_patch(), tree.open_tree(tmp / "tree"), load_policy(),
            datetime.now(timezone.utc),
        )  # fmt: skip
    except PinproofError:
        return False
    return made.outcome == "pass"


def _zip(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


@contextlib.contextmanager
def _served(
    monkeypatch: Monkey, content: bytes, sha256: str | None = None
) -> Iterator[wheelfiles.WheelFiles]:
    """The wheel on an index of this machine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    name = "evil-1.0-py3-none-any.whl"
    with serve(Index()) as index:
        served = index.add("evil", name, content)
        yield wheelfiles.WheelFiles(
            Distribution(name, "1.0", f"{index.url}/files/evil/{name}", sha256 or served.digest())
        )


def _read_member(tmp: Path, content: bytes, *, claimed: int | None, monkeypatch: Monkey) -> int:
    """How many bytes reading the member gives; 0 when it is refused."""
    raw = _zip({"vllm/bomb.py": content})
    if claimed is not None:
        size = len(content).to_bytes(4, "little")
        raw = raw.replace(size, claimed.to_bytes(4, "little"))
    with _served(monkeypatch, raw) as files:
        try:
            return len(files.read("vllm/bomb.py") or b"")
        except PinproofError:
            return 0


def repository(root: Path) -> Path:
    small_tree(root)
    (root / "vllm/a.py").write_bytes(b"old\n")
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    return root


def _hostile_repository(
    tmp: Path, config: str, attributes: str, *, worktree: str = "", hook: str = ""
) -> bool:
    """Apply a patch to a checkout that brings its own git settings; whether one of its programs ran."""
    canary = tmp / "canary"
    root = repository(tmp / "tree")
    (root / ".gitattributes").write_text(attributes)
    with (root / ".git/config").open("a") as file:
        file.write(config.replace("CANARY", str(canary)))
    if worktree:
        (root / ".git/config.worktree").write_text(worktree.replace("CANARY", str(canary)))
    if hook:
        script = root / ".git/hooks" / hook
        script.parent.mkdir(exist_ok=True)
        script.write_text(f"#!/bin/sh\ntouch {canary}\n")
        script.chmod(0o755)
    canary.unlink(missing_ok=True)
    os.utime(root / "vllm/a.py", (1, 1))  # git must read the file again
    apply(root, patch_text("vllm/a.py", b"old\n", b"new\n"))
    return canary.exists()


def _no_path_check(monkeypatch: Monkey) -> None:
    for module in (tree, patchfile, journal):
        monkeypatch.setattr(module, "check_relative", lambda path: path)
    _links_are_followed(monkeypatch)


def _links_are_followed(monkeypatch: Monkey) -> None:
    def read(self: tree.DiskFiles, path: str) -> bytes | None:
        full = self.root / path
        return full.read_bytes() if full.is_file() else None

    monkeypatch.setattr(tree.DiskFiles, "read", read)
    monkeypatch.setattr(journal, "_target", lambda root, path: root / path)


def _archives_are_trusted(monkeypatch: Monkey) -> None:
    filters = {**tarfile._NAMED_FILTERS, "data": tarfile.fully_trusted_filter}  # type: ignore[attr-defined]
    monkeypatch.setattr(tarfile, "_NAMED_FILTERS", filters)


def _no_limit(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(fetch, "_checked", lambda tar, name: tar.getmembers())
    monkeypatch.setattr(wheelfiles, "_LARGEST_MEMBER", 1 << 40)


def _members_are_trusted(monkeypatch: Monkey) -> None:
    import zlib

    def member(data: bytes, info: zipfile.ZipInfo, start: int, wheel: str) -> bytes:
        body = info.header_offset - start + 30 + len(info.orig_filename)
        return zlib.decompressobj(-15).decompress(data[body:])

    monkeypatch.setattr(wheelfiles, "_member", member)


def _records_are_ignored(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(wheelfiles, "check_member", lambda *given, **options: None)


def _wheels_are_not_hashed(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(wheelfiles, "is_asked_for", lambda: False)


def _answers_are_endless(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(session, "keep_body", lambda reply, largest: reply.content)


def _no_deadline(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(session, "deadline", lambda seconds, host: contextlib.nullcontext())


def _settings_are_theirs(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(fetch, "_NOBODYS", {})
    monkeypatch.setattr(fetch, "_SAME_EVERYWHERE", ())


def _git_settings_hold(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(git, "_NO_CODE", ())


def _git_drivers_hold(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(git, "_no_drivers", lambda cwd, env: env)


def _worktree_is_believed(monkeypatch: Monkey) -> None:
    from pinproof.patchset import apply as module

    monkeypatch.setattr(module, "check_worktree", lambda root: root / ".git")


def _any_host_is_asked(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(fetching, "_refuse_other_hosts", lambda pin: None)


def _seals_are_believed(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(records, "_digest", lambda made: made.seal)


def _outcomes_are_believed(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(importing, "check_outcome", lambda made: None)


def _expressions_search_freely(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(
        "pinproof.pins.read._CMAKE_SET", re.compile(r'^\s*set\(\s*(\w+)\s+"([^"\n]*)"', re.MULTILINE)
    )


def _commands_pass(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(runner, "guarded_output", contextlib.nullcontext)


def _text_is_trusted(monkeypatch: Monkey) -> None:
    monkeypatch.setattr(console, "clean", lambda text: text)
    monkeypatch.setattr(report, "clean", lambda text: text)
    monkeypatch.setattr("rich.text.strip_control_codes", lambda text: text)  # a second line of defence


CASES = (
    Case("a patch escapes the tree", patch_climbs_out, _no_path_check),
    Case("a patch escapes the tree", patch_follows_link, _links_are_followed),
    Case("a tree's link leads outside", tree_links_to_secret, _links_are_followed),
    Case("an archive escapes its folder", archive_climbs_out, _archives_are_trusted),
    Case("a bomb", archive_never_ends, _no_limit),
    Case("a bomb", wheel_is_a_bomb, _no_limit),
    Case("a bomb", wheel_lies_about_size, _members_are_trusted),
    Case("a wheel's members are swapped", member_is_swapped, _records_are_ignored),
    Case("a wheel's members are swapped", wheel_is_another, _wheels_are_not_hashed),
    Case("a server sends without end", page_never_ends, _answers_are_endless),
    Case("a server sends without end", page_trickles, _no_deadline),
    Case("fetch makes another commit elsewhere", commit_differs, _settings_are_theirs),
    Case("a checkout's git settings run programs", git_filter_runs, _git_drivers_hold),
    Case("a checkout's git settings run programs", git_filter_with_an_equals_sign_runs, _git_drivers_hold),
    Case("a checkout's git settings run programs", git_filter_of_a_worktree_runs, _git_drivers_hold),
    Case("a checkout's git settings run programs", git_filter_of_an_included_file_runs, _git_drivers_hold),
    Case("a checkout's git settings run programs", git_fsmonitor_runs, _git_settings_hold),
    Case("a checkout's git settings run programs", git_hook_runs, _git_settings_hold),
    Case("git works on another folder", git_works_elsewhere, _worktree_is_believed),
    Case("outside text drives the terminal", text_moves_the_cursor, _text_is_trusted),
    Case("outside text drives the terminal", title_moves_the_cursor, _text_is_trusted),
    Case("outside text commands the runner", title_writes_a_command, _commands_pass),
    Case("outside text commands the runner", summary_writes_a_command, _commands_pass),
    Case("a pin points to another host", pin_names_another_host, _any_host_is_asked),
    Case("evidence is forged", record_was_edited, _seals_are_believed),
    Case("evidence is forged", record_contradicts_itself, _outcomes_are_believed),
    Case("an expression explodes", expression_explodes, _expressions_search_freely),
)  # fmt: skip
