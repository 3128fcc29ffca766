"""Is the cluster ready for the controller? Asked once before it starts, so that what is wrong is said in one sentence.

What can heal is waited for and said once; what only the user can mend ends the program.
"""

import logging
import threading
from collections.abc import Callable, Sequence

from clientgo.backoff import Backoff
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ApiError, ClientGoError, ConfigError, ConnectionFailed, Forbidden, NotFound, Unauthorized

log = logging.getLogger(__name__)

PATIENCE = Backoff(duration=0.5, factor=1.5, jitter=0.2, cap=10.0)

Check = tuple[str, Callable[[], object]]
"""What is looked at, in words, and the request that looks."""


def wait_until_ready(
    server: str, checks: Sequence[Check], stop: threading.Event, *, clock: Clock = SYSTEM_CLOCK
) -> bool:
    """Ask until every check passes; False if `stop` was set before.

    Raises:
        ConfigError: the server refuses these credentials; trying again would not help.
    """
    said = ""
    attempt = 0
    while not stop.is_set():
        trouble = _first_trouble(server, checks)
        if not trouble:
            if said:
                log.info("the API server is ready", extra={"server": server})
            return True
        if trouble != said:
            log.warning(trouble)
            said = trouble
        clock.sleep(stop, PATIENCE.delay(attempt))
        attempt += 1
    return False


def _first_trouble(server: str, checks: Sequence[Check]) -> str:
    for what, ask in checks:
        try:
            ask()
        except Unauthorized as error:
            raise ConfigError(
                f"the API server at {server} does not accept these credentials ({error}): "
                "check the user of the kubeconfig's context, or log in again"
            ) from error
        except Forbidden as error:
            raise ConfigError(
                f"the API server at {server} forbids to list {what} ({error}): "
                "grant it with kubectl apply -k artifacts/rbac, or use --namespace"
            ) from error
        except ClientGoError as error:
            return _in_words(server, what, error)
    return ""


def _in_words(server: str, what: str, error: ClientGoError) -> str:
    if isinstance(error, ConnectionFailed):
        return f"the API server at {server} can't be reached ({error}); will keep trying"
    if isinstance(error, NotFound):
        return (
            f"the API server at {server} does not know {what} yet: "
            "install the CRD with kubectl apply -k artifacts/crd; will keep looking"
        )
    code = f" {error.code}" if isinstance(error, ApiError) else ""
    return f"the API server at {server} can't list {what} (answered{code}: {error}); will keep trying"
