"""What a program tells of its end."""

import logging
from collections.abc import Callable

from clientgo.errors import ClientGoError
from clientgo.lifecycle import StillRunning

log = logging.getLogger(__name__)


def exit_code(main: Callable[[], object]) -> int:
    """Run `main`: 0 if it returns, 1 if cluster, network or configuration kept it from working; the log says how.

    What else it raises is a bug, and is raised.
    """
    try:
        main()
    except (ClientGoError, OSError, StillRunning) as error:
        log.error(str(error))
        return 1
    return 0
