"""The commit message and the mail that `git am` takes: our header fields out, the person's trailers in."""

from __future__ import annotations

import re
from datetime import datetime
from email.header import Header
from email.utils import format_datetime
from pathlib import Path

from pinproof.errors import Refused
from pinproof.git import git
from pinproof.patchset.patchfile import Patch
from pinproof.submit.policy import Policy
from pinproof.submit.records import Person, ReviewRecord, moment

_ADDRESS = re.compile(r"(.+?) <([^<>@\s]+@[^<>@\s]+)>")


def person_from_git(root: Path | None) -> Person:
    """Who is at work, as git is configured: the DCO's name and e-mail.

    Raises:
        Refused: git knows no name or no usable e-mail.
    """
    import msgspec

    def ask(key: str) -> str:
        return git(["config", "--get", key], cwd=root or Path.cwd(), check=False).stdout.decode().strip()

    try:
        return msgspec.convert({"name": ask("user.name"), "email": ask("user.email")}, Person)
    except msgspec.ValidationError as error:
        raise Refused(
            "git does not know who you are, and a sign-off needs a name and an e-mail",
            hint='git config --global user.name "Your Name"; git config --global user.email you@example.org',
        ) from error


def commit_message(patch: Patch, review: ReviewRecord, policy: Policy) -> str:
    """Title, prose and trailers of the commit, as the DCO and the policy want them.

    The person who reviewed signs off and is the author; a different author of the patch file is
    credited as co-author, and assistants by the policy's trailer.
    """
    trailers = []
    author = _ADDRESS.fullmatch(patch.author)
    if author is not None and author[2] != review.person.email and not author[2].endswith(".invalid"):
        trailers.append(f"Co-authored-by: {patch.author}")
    trailers += [f"{policy.human.assistance_trailer}: {name}" for name in review.assistance.assistants]
    trailers.append(f"Signed-off-by: {review.person.name} <{review.person.email}>")
    paragraphs = [patch.subject, patch.prose, "\n".join(trailers)]
    return "\n\n".join(part for part in paragraphs if part) + "\n"


def mail(patch: Patch, review: ReviewRecord, policy: Policy) -> bytes:
    """The commit as one mail for `git am --keep --keep-cr`; the same bytes for the same review."""
    title, _, body = commit_message(patch, review, policy).partition("\n\n")
    date = format_datetime(_date(review))
    head = (
        f"From {'0' * 40} Mon Sep 17 00:00:00 2001\n"
        f"From: {Header(review.person.name, 'utf-8').encode()} <{review.person.email}>\n"
        f"Date: {date}\n"
        f"Subject: {Header(title, 'utf-8', maxlinelen=900).encode()}\n"
        "MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n"
        f"\n{body}\n---\n\n"
    )
    return head.encode() + patch.raw[patch.raw.index(b"\ndiff --git ") + 1 :]


def _date(review: ReviewRecord) -> datetime:
    return moment(review.date, "review")


def sign_off_fault(message: str, author_email: str) -> str | None:
    """What the DCO check would say about a commit; None when it would pass.

    Rule: a Signed-off-by trailer whose e-mail is the author's (docs/contributing, "DCO").
    """
    signed = re.findall(r"^Signed-off-by: .+ <([^<>]+)>$", message, re.MULTILINE)
    if not signed:
        return "it has no Signed-off-by"
    if author_email not in signed:
        return f"signed off by {signed[-1]}, but its author is {author_email}"
    return None
