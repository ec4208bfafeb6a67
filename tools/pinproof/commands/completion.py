"""Print completion for a shell, or write the manual pages; both are made from the commands' own help.

pinproof completion bash > ~/.local/share/bash-completion/completions/pinproof
pinproof completion zsh > ~/.zfunc/_pinproof        (with ~/.zfunc in fpath)
pinproof completion fish > ~/.config/fish/completions/pinproof.fish
pinproof completion man ~/.local/share/man/man1
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pinproof.console import say
from pinproof.errors import CannotCheck, InputError

_SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("kind", choices=(*_SHELLS, "man"), help="the shell, or man for manual pages")
    parser.add_argument("dir", nargs="?", type=Path, metavar="DIR", help="where manual pages go")


def run(args: argparse.Namespace) -> int:
    """Print the script, or write the pages."""
    if (args.kind == "man") != (args.dir is not None):
        raise InputError("DIR goes with man, and man with DIR", hint="pinproof completion --help")
    if args.kind == "man":
        for page in _write_pages(args.dir):
            say(str(page))
        return 0
    import shtab

    from pinproof.commands.registry import whole_parser

    say(shtab.complete(whole_parser()[0], shell=args.kind))
    return 0


def _write_pages(folder: Path) -> list[Path]:
    """One page a command, and one that lists them."""
    try:
        from argparse_manpage.manpage import Manpage
    except ImportError as error:
        raise CannotCheck(
            "argparse-manpage, which makes manual pages, is not installed", hint="pip install 'pinproof[man]'"
        ) from error

    from pinproof import __version__
    from pinproof.commands.registry import whole_parser

    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    whole, commands = whole_parser()
    for name, parser in [("pinproof", whole), *((f"pinproof-{name}", one) for name, one in commands.items())]:
        parser._manpage = []  # type: ignore[attr-defined]
        page = Manpage(parser)
        page.manual, page.source = "pinproof", f"pinproof {__version__}"
        path = folder / f"{name}.1"
        path.write_text(str(page), encoding="utf-8")
        written.append(path)
    return written
