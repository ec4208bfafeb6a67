"""Regenerate patch files from a tree with git's own format-patch: the same bytes on any machine."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pinproof.errors import Conflict, InputError
from pinproof.git import git
from pinproof.patchset.change import contents_after
from pinproof.patchset.engine import apply_diff
from pinproof.patchset.patchfile import Patch
from pinproof.tree import Tree

# No config of the user's or the machine's reaches these calls (GIT_CONFIG_GLOBAL, git 2.32); what is
# left that a git version could decide differently is spelled out.
_NO_CONFIG = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
_FORMAT = (
    "-c", "diff.algorithm=myers", "-c", "diff.indentHeuristic=true", "-c", "core.attributesFile=/dev/null",
    "format-patch", "-1", "--stdout", "--zero-commit", "--full-index", "--no-signature", "--no-stat",
    "--no-renames", "--no-ext-diff", "--no-textconv", "--unified=3", "--subject-prefix=PATCH",
    "--no-numbered",
)  # fmt: skip

Contents = Mapping[str, "bytes | None"]


def export_series(series: Sequence[Patch], tree: Tree) -> dict[str, bytes]:
    """The bytes of every patch of the series as this tree gives them.

    Works with the patches in the tree or out of it. Edits made on top of applied patches go into
    the last patch that touches the file: that is how a patch is refreshed.

    Args:
        series: the patches in order.
        tree: the tree to read.

    Returns:
        Patch name to file bytes.

    Raises:
        Conflict: a patch is neither in the tree nor does it apply.
    """
    base, edits = _base_and_edits(series, tree)
    out: dict[str, bytes] = {}
    state: dict[str, bytes | None] = dict(base)
    for position, patch in enumerate(series):
        later = {path for other in series[position + 1 :] for path in other.paths()}
        after = dict(contents_after(tree.with_changes(state), patch))
        after.update({p: c for p, c in edits.items() if p in after and p not in later})
        before = {path: state.get(path, tree.read(path)) for path in after}
        out[patch.name] = format_patch(patch, before, after)
        state.update(after)
    return out


def _base_and_edits(
    series: Sequence[Patch], tree: Tree
) -> tuple[dict[str, bytes | None], dict[str, bytes | None]]:
    """The touched files without the series, and as edited where they are.

    A git tree whose files differ from its commit, and to which the series no longer applies, has the
    series in and perhaps edited: the commit is the base and the files are the edits. Any other tree
    has no edits, and patches that are in are taken out, last first.
    """
    now: dict[str, bytes | None] = {path: tree.read(path) for patch in series for path in patch.paths()}
    committed = _committed(tree, now)
    if committed is not None and committed != now and not _applies(series, tree, now):
        return _taken_out(series, tree, committed), now
    return _taken_out(series, tree, now), {}


def _applies(series: Sequence[Patch], tree: Tree, base: Contents) -> bool:
    state = dict(base)
    try:
        for patch in series:
            state.update(contents_after(tree.with_changes(state), patch))
    except Conflict:
        return False
    return True


def _taken_out(series: Sequence[Patch], tree: Tree, contents: Contents) -> dict[str, bytes | None]:
    """The contents without the patches that are in.

    Raises:
        Conflict: a patch is neither in nor applies; its hunk is named.
    """
    state = dict(contents)
    for patch in reversed(series):
        try:
            state.update(contents_after(tree.with_changes(state), patch, reverse=True))
        except Conflict:
            _refuse_neither(patch, tree.with_changes(state))
    return state


def _refuse_neither(patch: Patch, tree: Tree) -> None:
    """Raise Conflict unless the patch, which is not in the tree, applies to it."""
    try:
        contents_after(tree, patch)
    except Conflict as error:
        raise Conflict(
            f"{patch.name} is neither in {tree.name} nor does it apply: {error.message}",
            hint="to refresh a patch, edit a git tree that has it applied and do not commit the edit",
        ) from error


def _committed(tree: Tree, paths: Iterable[str]) -> dict[str, bytes | None] | None:
    if tree.kind != "git" or tree.root is None:
        return None
    shown = {path: git(["show", f"HEAD:{path}"], cwd=tree.root, check=False) for path in paths}
    return {path: done.stdout if done.returncode == 0 else None for path, done in shown.items()}


def format_patch(patch: Patch, before: Contents, after: Contents) -> bytes:
    """One patch file: the message of `patch` over the change from `before` to `after`.

    Raises:
        InputError: there is no change.
    """
    if before == after:
        raise InputError(f"{patch.name}: the tree shows no change for it")
    with tempfile.TemporaryDirectory(prefix="pinproof-export-") as name:
        repo = Path(name)
        git(["init", "-q", "--template=", "--object-format=sha1"], cwd=repo)
        _commit(repo, before, patch, "base")
        _commit(repo, after, patch, _message(patch))
        return git(_FORMAT, cwd=repo, env=_NO_CONFIG).stdout


def _commit(repo: Path, contents: Contents, patch: Patch, message: str) -> None:
    modes = {diff.path: diff.mode or "100644" for diff in patch.diffs}
    lines: list[bytes] = []
    for path, content in sorted(contents.items()):
        if content is None:
            lines.append(b"0 %s\t%s\0" % (b"0" * 40, path.encode()))
            continue
        blob = git(["hash-object", "-w", "--no-filters", "--stdin"], cwd=repo, stdin=content).stdout.strip()
        lines.append(b"%s %s\t%s\0" % (modes[path].encode(), blob, path.encode()))
    git(["update-index", "-z", "--index-info"], cwd=repo, stdin=b"".join(lines))
    author, _, email = patch.author.partition("<")
    env = {
        **_NO_CONFIG, "GIT_AUTHOR_NAME": author.strip(), "GIT_AUTHOR_EMAIL": email.rstrip("> "),
        "GIT_AUTHOR_DATE": patch.date, "GIT_COMMITTER_NAME": "pinproof",
        "GIT_COMMITTER_EMAIL": "export@pinproof.invalid",
    }  # fmt: skip
    command = ["commit", "-q", "--no-verify", "--allow-empty", "--cleanup=verbatim", "-F", "-"]
    git(command, cwd=repo, stdin=message.encode(), env=env)


def _message(patch: Patch) -> str:
    """Subject, prose and fields as a commit message."""
    fields = "\n".join(f"{name}: {value}" for name, values in patch.fields.items() for value in values)
    parts = [patch.subject, patch.prose, fields]
    return "\n\n".join(part for part in parts if part) + "\n"


def canonical(patch: Patch) -> bytes:
    """The patch as format-patch would write it, made without its tree.

    The files are rebuilt from the hunks with filler between; what depends on the real file, the blob
    ids and the text after the second @@, is taken from the patch.
    """
    before: dict[str, bytes | None] = {}
    after: dict[str, bytes | None] = {}
    for diff in patch.diffs:
        lines: list[bytes] = []
        for hunk in diff.hunks:
            filler = max(hunk.old_start, 1) - 1 - len(lines)
            lines += [b"filler line %d\n" % (len(lines) + n) for n in range(filler)]
            lines += hunk.old()
        if lines and diff.hunks[-1].lines[-1][:1] == b" " and lines[-1].endswith(b"\n"):
            lines += [b"last filler %d\n" % n for n in range(4)]
        before[diff.path] = None if diff.kind == "add" else b"".join(lines)
        after[diff.path] = apply_diff(before[diff.path], diff)
    return _with_real_marks(format_patch(patch, before, after), patch.raw)


_MARKS = re.compile(rb"^(?:index [0-9a-f]{40}\.\.[0-9a-f]{40}|@@ -[\d,]+ \+[\d,]+ @@.*)", re.MULTILINE)


def _with_real_marks(made: bytes, real: bytes) -> bytes:
    """`made` with the index lines and hunk sections of `real`, where their positions agree."""
    wanted = iter(_MARKS.findall(real))

    def take(match: re.Match[bytes]) -> bytes:
        theirs: bytes = next(wanted, match[0])
        if theirs[:2] != match[0][:2]:
            return match[0]
        same_place = theirs.startswith(b"index") or theirs.split(b"@@")[1] == match[0].split(b"@@")[1]
        return theirs if same_place else match[0]

    return _MARKS.sub(take, made)
