"""What a server may send, and for how long: no answer is endless, and none trickles for ever."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

import requests

# An answer begins, and a page ends, within this; a page of 10,000 files has 4 MB.
ANSWER_S = 60.0
LARGEST_PAGE = 16 << 20
# The slowest line that is waited for, in bytes a second.
_SLOWEST = 32 << 10
_CHUNK = 16 << 10


class TooSlow(requests.Timeout):
    """A server took longer than any answer may."""


class TooLarge(requests.exceptions.ContentDecodingError):
    """A server sent more than was asked for, or more than any such answer holds."""


def time_for(size: int) -> float:
    """How long so many bytes may take, in seconds."""
    return ANSWER_S + size / _SLOWEST


@contextlib.contextmanager
def deadline(seconds: float, host: str) -> Iterator[None]:
    """End whatever waits for the network meanwhile, a name look-up or a trickle of bytes too.

    Only in the main thread; elsewhere each single read has its time-out alone.

    Args:
        seconds: for all of it.
        host: whom to name.

    Raises:
        TooSlow: the time is up.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise TooSlow(f"{host} did not finish its answer within {seconds:.0f} s")

    outer = signal.getitimer(signal.ITIMER_REAL)[0]
    if 0 < outer <= seconds:  # a deadline further out ends first
        yield
        return
    began = time.monotonic()
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, max(outer - (time.monotonic() - began), 0.001) if outer else 0)
        signal.signal(signal.SIGALRM, before)


def keep_body(reply: requests.Response, largest: int) -> bytes:
    """Read a streamed answer whole, as requests would have, up to a limit of unpacked bytes.

    Raises:
        TooLarge: it is longer.
        requests.RequestException: it breaks off.
    """
    found = bytearray()
    for chunk in reply.iter_content(_CHUNK):
        found += chunk
        if len(found) > largest:
            reply.close()
            raise TooLarge(f"an answer of more than {largest} bytes")
    reply._content = bytes(found)  # what requests does in Response.content
    return bytes(found)
