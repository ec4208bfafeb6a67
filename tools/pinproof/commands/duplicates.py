"""Search GitHub for a pull request that already does what a patch does.

Looks at every open pull request and at those merged or closed since a year before the patch, ranks them
by shared lines, issue, code names, error message, place and text, and gives each a verdict with its
reason. Titles and texts come from GitHub's API, the diffs by git from refs/pull/N/head. What is fetched is
kept, so that the next scan asks for the news only. The result is kept as evidence beside the patch.

A token is taken from GITHUB_TOKEN, GH_TOKEN or `gh auth token`. Without one the open pull requests are
listed within the API's anonymous limit, and git's history tells the merged and closed ones.

Exit codes: 0 nothing stands against the patch, 1 a pull request does the same, 5 not everything could
be seen.

examples:
  pinproof duplicates                       scan for every patch of the series
  pinproof duplicates 0001 --query "situ_beta in:title"
  pinproof duplicates 0001 --diff 42844     both changes side by side
  pinproof duplicates 0001 --not-a-duplicate 42844 --because "the DeepSeek-V4 feature, another model"
"""

from __future__ import annotations

import argparse

from pinproof.commands.common import add_json, add_patches

UPSTREAM = "vllm-project/vllm"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "patch", nargs="?", metavar="PATCH", help="a patch (0001, its name or a path; default: all)"
    )
    parser.add_argument("--repo", default=UPSTREAM, metavar="OWNER/NAME", help="where to look (%(default)s)")
    parser.add_argument(
        "--query", action="append", default=[], metavar="TEXT", help="search for this as well"
    )
    parser.add_argument("--since", metavar="DAY", help="look at merged and closed ones from this day on "
                        "(default: a year before the patch)")  # fmt: skip
    parser.add_argument("--base", default="main", metavar="BRANCH",
                        help="the branch that the patch is meant for (%(default)s)")  # fmt: skip
    parser.add_argument("--diff", type=int, metavar="N", help="show the patch and #N side by side")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show all that came near, and the searches"
    )
    parser.add_argument("--offline", action="store_true", help="use the local index as it is; never passes")
    parser.add_argument(
        "--not-a-duplicate", type=int, metavar="N", help="write down why #N is not a duplicate"
    )
    parser.add_argument("--because", metavar="WHY", help="the reason, in your own words; it is published")
    parser.add_argument(
        "--markdown", action="store_true", help="print the paragraph for the pull request's body"
    )
    add_patches(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Scan, or write down a decision and scan again."""
    from pinproof.commands.recording import keep_results
    from pinproof.console import emit_json, say
    from pinproof.duplicates.report import markdown_paragraph, show
    from pinproof.duplicates.scan import duplicates_gate
    from pinproof.duplicates.subject import parse_day
    from pinproof.errors import InputError
    from pinproof.gate import exit_code
    from pinproof.patchset.series import find_patch, load_series, patch_dir

    if (args.not_a_duplicate is None) != (args.because is None):
        raise InputError("--not-a-duplicate N and --because WHY go together")
    if args.because is not None:
        return _decide(args)
    if args.diff is not None:
        return _compare(args)
    patches = [find_patch(args.patch, args.patches)] if args.patch else load_series(args.patches)
    folder = patch_dir(args.patches)
    since = parse_day(args.since) if args.since else None
    results = []
    for patch in patches:
        result = duplicates_gate(
            patch, args.repo, offline=args.offline, since=since, queries=args.query, folder=folder,
            base=args.base,
        )  # fmt: skip
        results.append(result)
        # A scan of another repository or of an old index says nothing about vLLM as it is now.
        if args.repo == UPSTREAM and not args.offline:
            keep_results(patch, None, [result], args.patches)
    if args.json:
        emit_json("pinproof.duplicates/1", {"results": results})
    for result in results if not args.json else []:
        say(markdown_paragraph(result.details)) if args.markdown else show(result, verbose=args.verbose)
    return int(exit_code(results))


def _compare(args: argparse.Namespace) -> int:
    """Show one patch and one pull request of the index side by side."""
    from pinproof.duplicates.scan import compare
    from pinproof.errors import InputError
    from pinproof.patchset.series import find_patch

    if not args.patch:
        raise InputError("which patch?", hint=f"pinproof duplicates 0001 --diff {args.diff}")
    compare(find_patch(args.patch, args.patches), args.repo, args.diff)
    return 0


def _decide(args: argparse.Namespace) -> int:
    """Store a human's reason for one patch and one pull request of the index."""
    from pinproof.console import say, typed
    from pinproof.duplicates import decisions
    from pinproof.duplicates.scan import looked_at
    from pinproof.duplicates.subject import describe
    from pinproof.errors import InputError
    from pinproof.patchset.series import find_patch, patch_dir

    if not args.patch:
        raise InputError("which patch?", hint="pinproof duplicates 0001 --not-a-duplicate N --because WHY")
    patch = find_patch(args.patch, args.patches)
    folder = patch_dir(args.patches)
    number = args.not_a_duplicate
    found, head = looked_at(args.repo, number)
    if not found:
        raise InputError(
            f"no scan has seen #{number} of {args.repo}", hint=f"pinproof duplicates {args.patch}"
        )
    decision = decisions.Decision(
        patch=patch.name, change=describe(patch, args.repo).diff.change_id or patch.sha256, repo=args.repo,
        number=number, head=head, because=decisions.check_reason(args.because), by=decisions.who(folder),
        date=decisions.today(),
    )  # fmt: skip
    decisions.record(folder, decision)
    say(f"{patch.name}: #{number} is not a duplicate ({folder / decisions.FILE})")
    say(f"  -> {typed(f'pinproof duplicates {args.patch}')}")
    return 0
