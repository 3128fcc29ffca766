"""Entry point of the sample controller: flags, then `controller.program`."""

import gc

gc.disable()  # until the program starts: collections while modules load take a thirtieth of the start

import sys
import threading
from collections.abc import Sequence

from controller.options import Options, parse


def main(arguments: Sequence[str]) -> int:
    """Run until a signal, and return the exit code."""
    options = parse(arguments)
    # Loaded here, as in `start`, so that --help and invalid flags answer within a tenth of a second.
    from clientgo.program import run_program  # noqa: PLC0415

    return run_program(start, options)


def start(options: Options, stop: threading.Event) -> None:
    """Run the controller until `stop` is set."""
    from controller.program import start  # noqa: PLC0415

    start(options, stop)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
