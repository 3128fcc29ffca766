"""The sample controller with workers that wait for ever, as for a lock that is never released."""

import sys
import threading

from clientgo.meta import ObjectName
from controller.controller import Controller
from main import main


def hang(_: Controller, key: ObjectName) -> None:
    """Wait for ever, also after a stop."""
    print(f"hanging at {key}", file=sys.stderr, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    setattr(Controller, "sync", hang)  # noqa: B010  # a type checker rejects an assignment
    sys.exit(main(sys.argv[1:]))
