"""The sample controller's program: flags, logs, signals; then `controller.program`, which is all the rest."""

import gc
import logging
import sys
from collections.abc import Sequence

from clientgo.errors import ClientGoError
from clientgo.lifecycle import StillRunning
from clientgo.log import set_level, setup
from clientgo.signals import stop_on_signals
from controller.options import parse

log = logging.getLogger("sample-controller")


def main(arguments: Sequence[str]) -> int:
    """Run until a signal; returns the exit code."""
    options = parse(arguments)
    gc.disable()  # what is loaded now stays: looking through it for garbage, again and again, is part of the start
    # Loaded here: whoever asks for help, or errs in a flag, is answered before a tenth of a second has gone by.
    from controller.program import start  # noqa: PLC0415

    gc.enable()
    setup(level=options.log_level, style=options.log_format)
    if options.verbosity is not None:
        set_level(options.verbosity)
    try:
        start(options, stop_on_signals())
    except (ClientGoError, OSError, StillRunning) as error:
        log.error(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
