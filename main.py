"""Entry point of the sample controller: flags, log and signals, then `controller.program`."""

import gc
import signal

if __name__ == "__main__":
    gc.disable()  # modules stay: collections during the imports would only delay the start
    # Before all other imports: until stop_on_signals takes over, Ctrl-C ends the process at once, as SIGTERM does.
    # Python's own handler raises KeyboardInterrupt in the middle of an import, which may swallow it or crash.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import sys
from collections.abc import Sequence

from clientgo.commandline import setup_logging
from controller.options import parse


def main(arguments: Sequence[str]) -> int:
    """Run until a signal, and return the exit code."""
    options = parse(arguments)
    # Loaded here, so that --help and invalid flags answer within a tenth of a second.
    from clientgo.lifecycle import exit_code  # noqa: PLC0415
    from clientgo.signals import stop_on_signals  # noqa: PLC0415
    from controller.program import start  # noqa: PLC0415

    gc.enable()
    setup_logging(options)
    return exit_code(lambda: start(options, stop_on_signals()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
