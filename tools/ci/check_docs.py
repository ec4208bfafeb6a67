"""Check the documentation: links and anchors lead somewhere, commands shown exist with their options.

    python tools/ci/check_docs.py [FOLDER]

Prints one line a fault as FILE:LINE: WHAT and exits 1 when there is one.
"""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

_COMMAND = re.compile(r"^(?:\$ )?(?:pinproof ([a-z][a-z-]*)|(?:\./)?tools/([a-z-]+)\.sh)\b(.*)")
# A synopsis, a pipe, a comment: only what comes before is arguments.
_NOT_ARGUMENTS = re.compile(r"[\[\]|<>;&]|\$\(|\.\.\.| # ")


def main(arguments: list[str]) -> int:
    """Check every Markdown file that git tracks below the folder; 0 when all is well, 1 when not."""
    root = Path(arguments[0] if arguments else ".").resolve()
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.md"],
        cwd=root, capture_output=True, check=True, text=True,
    )  # fmt: skip
    files = [
        root / name for name in sorted(filter(None, listed.stdout.split("\0"))) if (root / name).exists()
    ]
    faults = [fault for file in files for fault in check_file(file, root)]
    for fault in faults:
        print(fault)
    print(f"{len(files)} pages, {len(faults)} faults")
    return 1 if faults else 0


def check_file(file: Path, root: Path) -> Iterator[str]:
    """What is wrong in one page, as `FILE:LINE: WHAT`."""
    tokens = _tokens(file)
    for token in tokens:
        line = token.map[0] + 1 if token.map else 1
        place = f"{file.relative_to(root)}:{line}"
        for target in _targets(token):
            if problem := _link_problem(file, target):
                yield f"{place}: {problem}"
        if token.type == "fence":
            yield from (f"{place}: {problem}" for problem in _command_problems(token.content, root))


def _tokens(file: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(file.read_text("utf-8"))


def _targets(token: Token) -> Iterator[str]:
    for child in token.children or []:
        target = child.attrs.get("href") or child.attrs.get("src")
        if isinstance(target, str):
            yield target


def _link_problem(file: Path, target: str) -> str | None:
    """Why a link leads nowhere; links to other sites are not followed."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return None if parts.scheme in ("https", "mailto") else f"link {target} is not https"
    page = file.parent / unquote(parts.path) if parts.path else file
    if not page.exists():
        return f"link to {target}, which does not exist"
    if parts.fragment and page.suffix == ".md" and parts.fragment not in _anchors(page):
        return f"link to {target}, but {page.name} has no such heading"
    return None


def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    tokens = _tokens(page)
    headings = [tokens[i + 1] for i, token in enumerate(tokens) if token.type == "heading_open"]
    texts = ("".join(child.content for child in heading.children or []) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in texts}


def _command_problems(code: str, root: Path) -> Iterator[str]:
    for line in code.splitlines():
        match = _COMMAND.match(line)
        if match is None:
            continue
        if match[1]:
            wanted = root / "tools/pinproof/commands" / f"{match[1].replace('-', '_')}.py"
        else:
            wanted = root / "tools" / f"{match[2]}.sh"
        if not wanted.is_file():
            yield f"shows `{match[0].removesuffix(match[3])}`, and there is no such command"
        else:
            yield from _option_problems(match[1] or match[2], match[3])


def _option_problems(name: str, arguments: str) -> Iterator[str]:
    """Options that a command shown does not have."""
    given = re.findall(r"(?<!\S)(--[a-z][a-z-]*|-[a-zA-Z])(?=[\s=]|$)", _NOT_ARGUMENTS.split(arguments)[0])
    known = _options(name)
    for option in given:
        if known and option not in known:
            yield f"shows `{name} {option}`, and {name} has no such option"


@lru_cache
def _options(name: str) -> frozenset[str]:
    """Every option of a command; none for a door without a command of its name."""
    try:
        command = importlib.import_module(f"pinproof.commands.{name.replace('-', '_')}")
    except ModuleNotFoundError:
        return frozenset()
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    own = (option for action in parser._actions for option in action.option_strings)
    return frozenset((*own, "--offline"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
