"""Where the program starts, as `pinproof` and as `python -m pinproof`: no traceback for any Ctrl-C."""

import signal
import sys

_interrupt = signal.getsignal(signal.SIGINT)
if _interrupt is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # while modules are imported, a plain end will do


def run() -> int:
    """Run the command of this process.

    Returns:
        The exit code.
    """
    from pinproof.cli import main
    from pinproof.signals import raise_on_termination

    raise_on_termination()
    signal.signal(signal.SIGINT, _interrupt)
    try:
        return main()
    except KeyboardInterrupt:
        return 130
    finally:
        if _interrupt is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(run())
