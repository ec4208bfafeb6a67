"""What to tell a person when the network is not there, or is not to be used."""

from __future__ import annotations

from pinproof.errors import CannotCheck

TIMEOUT_S = 30.0
OFFLINE_HINT = (
    "check the network, and the index settings of pip and uv, or give --index-url; "
    "what is cached keeps working"
)
_ONCE_HINT = "run the same command once without --offline; what it reads is kept in the cache"


def why(error: BaseException) -> str:
    """The shortest true account of a network error: the innermost exception's class and message."""
    inner = error
    while (deeper := inner.__cause__ or inner.__context__) is not None:
        inner = deeper
    return f"{type(error).__name__}: {inner}"[:200]


def trouble(
    what: str, error: BaseException, *, account: str = "cannot reach", hint: str = OFFLINE_HINT
) -> CannotCheck:
    """The error to raise when `what` did not arrive: in offline mode, what is missing from the cache."""
    from pinproof.index.session import Offline

    if isinstance(error, Offline):
        return CannotCheck(f"offline: {what} is not in the cache ({error})", hint=_ONCE_HINT)
    return CannotCheck(f"{account} {what}: {why(error)}", hint=hint)


def need_network(what: str) -> None:
    """Stop where `what` would have to be asked of another host and that is not wanted.

    Raises:
        CannotCheck: offline mode.
    """
    from pinproof.index.settings import offline

    if offline():
        raise CannotCheck(f"offline: {what}", hint=_ONCE_HINT)
