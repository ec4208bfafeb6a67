"""Run what vLLM's CI runs on the files a patch touches: compile them, then the tree's own pre-commit hooks.

The hooks come from the tree's .pre-commit-config.yaml and are run by the real pre-commit, in a copy of the
tree with the patch in; TREE itself is not written to (but for --fix). Hook repositories that cannot be
reached are replaced by the same tool at the same version from PyPI or npm, and the table says so. The hooks
are the tree's code: check only trees whose code you would run.

Results on a patch of the series are recorded beside it, in evidence/, where `pinproof submit` looks.

Exit codes: 0 passed; 1 a hook failed or a file does not compile; 4 the patch does not apply; 5 nothing
failed, but a hook that is for the touched files could not be run here.

  pinproof check 0001 vllm-0.28.0
  pinproof check --offline --json 0001 vllm-0.28.0
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pinproof.commands.common import add_json, add_patch_and_tree, patch_and_tree
from pinproof.commands.recording import keep_results
from pinproof.console import emit_json, note, say, table
from pinproof.errors import Conflict
from pinproof.gate import GateResult, exit_code
from pinproof.progress import progress

if TYPE_CHECKING:
    from pinproof.gates.precommit.gate import Tell
    from pinproof.patchset.patchfile import Patch
    from pinproof.tree import Tree

_HOOK_LIMIT_S = 900


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_patch_and_tree(parser)
    parser.add_argument(
        "--offline", action="store_true", help="replace every remote hook repository by its package"
    )
    parser.add_argument(
        "--fix", action="store_true", help="write what hooks rewrite into TREE (the patch must be applied)"
    )
    parser.add_argument(
        "--timeout", type=_seconds, default=_HOOK_LIMIT_S, metavar="SECONDS",
        help=f"how long one hook may take (default {_HOOK_LIMIT_S})",
    )  # fmt: skip
    add_json(parser)


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds")
    return value


def run(args: argparse.Namespace) -> int:
    patches, tree = patch_and_tree(args)
    one = len(args.targets) == 2
    found = {patch.name: _check(patch, tree, args, one) for patch in patches}
    for patch in patches:
        keep_results(patch, tree, found[patch.name], args.patches)
    if args.json:
        emit_json("pinproof.check/1", {"tree": tree.name, "patches": _builtins(found)})
    else:
        for name, results in found.items():
            say(f"{name} on {tree.name}")
            _show(results)
    return int(exit_code([result for results in found.values() for result in results]))


def _check(patch: Patch, tree: Tree, args: argparse.Namespace, only: bool) -> list[GateResult]:
    """Both gates on one patch; of a whole series, a patch that does not apply is not run."""
    from pinproof.gates.compile import compile_gate
    from pinproof.gates.patched import patched_files
    from pinproof.gates.precommit import precommit_gate

    try:
        after = {path: data for path, data in patched_files(tree, patch).items() if data is not None}
    except Conflict as error:
        if only:
            raise
        return [GateResult(gate="pre-commit", outcome="not-run", summary=error.message, reason=error.message,
                           clear=error.hint)]  # fmt: skip
    compiled = compile_gate(tree.with_changes(after), list(after))
    with _progress(patch.name) as tell:
        hooks = precommit_gate(
            tree, patch, offline=args.offline, fix=args.fix, hook_limit_s=args.timeout, tell=tell
        )
    return [compiled, hooks]


@contextlib.contextmanager
def _progress(name: str) -> Iterator[Tell]:
    """A bar that names the hook at work; where that is not a terminal, a line per hook."""
    from pinproof.console import stderr

    lines = not stderr().is_terminal
    with progress(f"hooks on {name}") as bar:

        def tell(event: str, hook: str, text: str) -> None:
            if event == "end":
                bar.advance()
            else:
                bar.describe(text or hook)
            if lines:
                note(f"  {hook or 'pre-commit'}: {text or 'running'}")

        yield tell


def _builtins(found: dict[str, list[GateResult]]) -> list[dict[str, Any]]:
    import msgspec

    return [
        {"patch": name, "gates": [msgspec.to_builtins(result) for result in results]}
        for name, results in found.items()
    ]


def _show(results: list[GateResult]) -> None:
    table(("gate", "result", "what"), [(r.gate, r.outcome, r.summary) for r in results])
    for result in results:
        if result.gate == "pre-commit" and result.details:
            say()
            _show_hooks(result.details)
        if result.clear and result.outcome not in ("pass", "not-run"):
            say(f"again: {result.clear}")
    say()


def _show_hooks(details: dict[str, Any]) -> None:
    hooks = details["hooks"]
    rows = [
        (hook["hook"], hook["stage"], hook["outcome"], f"{hook['duration_s']:.2f}",
         "; ".join(filter(None, (hook["reason"], hook["note"]))))
        for hook in hooks if hook["outcome"] != "skip"
    ]  # fmt: skip
    table(("hook", "stage", "result", "s", "note"), rows)
    idle: dict[str, list[str]] = {}
    for hook in hooks:
        if hook["outcome"] == "skip":
            idle.setdefault(hook["reason"], []).append(hook["hook"])
    say()
    for reason, names in idle.items():
        say(f"skipped ({len(names)}): {', '.join(names)}: {reason}")
    for hook in hooks:
        if hook["outcome"] == "fail":
            say(f"\n--- {hook['hook']} failed" + (", and rewrote files" if hook["modified"] else ""))
            say(hook["output"] or hook["reason"] or "")
    if details["diff"]:
        say(f"\n--- what the hooks rewrote ({'written' if details['fixed'] else 'not written; --fix does'})")
        say(details["diff"])
