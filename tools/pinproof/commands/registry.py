"""Which commands there are, and each one's parser; a module is imported only when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from types import ModuleType

EVERYDAY = {
    "ready": "run the main job and list every gate with what is still unmet",
    "apply": "apply the patches where they are needed; --revert undoes it",
    "contract": "check every call into the kernel libraries against the versions pinned",
    "seams": "check where a plugin overrides or patches its engine",
    "bump": "print the table of a plugin's move to a newer engine",
    "verdict": "say whether a patch is needed on a tree, and why",
    "check": "compile the touched files and run the tree's own pre-commit hooks on them",
    "duplicates": "search GitHub for a pull request that already does it",
    "review": "read a patch hunk by hunk and put your name to it",
    "submit": "turn a ready patch into a branch and a pull request",
    "status": "show each patch's state over the releases and upstream",
    "history": "show what a library function declares and its calls pass, release by release",
    "smoke": "prove a patch at run time, as far as this machine allows",
}
PLUMBING = {
    "fetch": "bring a release from PyPI as a git tree",
    "pins": "list what a tree pins, and where",
    "report": "make a static site of patches, findings and contracts over time",
    "drift": "look for new releases, and what they break",
    "lint": "check the series and the patches' headers",
    "explain": "say what a finding's code means and what to do",
    "export": "regenerate the patches from a tree, byte for byte",
    "evidence": "list, import and explain the records beside a patch",
    "checklist": "print the reviewer's checklist of a patch, filled in",
    "completion": "print completion for bash, zsh or fish, or write manual pages",
    "schema": "print the JSON Schema of a command's JSON",
    "snapshot": "record a library's signatures for offline use",
}


def load(name: str) -> ModuleType:
    """The module of a command."""
    import importlib

    return importlib.import_module(f"pinproof.commands.{name.replace('-', '_')}")


def parser_of(name: str, command: ModuleType) -> argparse.ArgumentParser:
    """The parser of a command: its own arguments, and those that every command has."""
    import argparse

    from pinproof.commands import network

    parser = argparse.ArgumentParser(
        prog=f"pinproof {name}",
        description=command.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_arguments(parser)
    network.add_arguments(parser)
    return parser


def whole_parser() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """Every command in one parser, and each by its name: for completion and manual pages."""
    import argparse

    names = {**EVERYDAY, **PLUMBING}
    whole = argparse.ArgumentParser(
        prog="pinproof", description="Prove vLLM patches against kernel libraries."
    )
    commands = whole.add_subparsers(metavar="COMMAND")
    found: dict[str, argparse.ArgumentParser] = {}
    for name, text in names.items():
        parser = parser_of(name, load(name))
        commands.add_parser(name, help=text, parents=[parser], add_help=False, description=parser.description)
        found[name] = parser
    return whole, found
