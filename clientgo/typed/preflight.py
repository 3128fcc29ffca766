"""Preflight checks of the API server: each kind that a program needs must be served, and the program may list it.

Transient errors are logged once and retried; configuration errors end with a one-line message.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from clientgo.backoff import Backoff
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import (
    ApiError,
    ClientGoError,
    ConfigError,
    ConnectionFailed,
    Forbidden,
    InvalidResponse,
    NotFound,
    Unauthorized,
)
from clientgo.log import get_logger
from clientgo.meta.schema.since import lacking
from clientgo.stop.stopping import ends_with
from clientgo.typed.discovery import ServerVersion
from clientgo.version import KUBERNETES, minor_of

log = get_logger(__name__)

RETRY_BACKOFF = Backoff(duration=0.5, factor=1.5, jitter=0.2, cap=10.0)


class RequiredResource(msgspec.Struct, frozen=True):
    """A kind that must be served and listable: its resource and a request that lists it.

    The hints tell the user what to do if the server does not serve it (`install`), or forbids the list (`grant`).
    """

    resource: str
    request: Callable[[], object]
    install: str = "install its CustomResourceDefinition"
    grant: str = "grant it to the user"


def wait_until_ready(
    server: str, requirements: Sequence[RequiredResource], stop: threading.Event, *, clock: Clock = SYSTEM_CLOCK
) -> bool:
    """Repeat the requests until all succeed; return False if `stop` is set earlier.

    Raises:
        ConfigError: the server rejects the credentials or forbids the list; a retry would not help.
    """
    logged = ""
    attempt = 0
    while not stop.is_set():
        with ends_with(stop):
            problem = _first_problem(server, requirements)
        if stop.is_set():
            break
        if not problem:
            if logged:
                log.info("the API server is ready", extra={"server": server})
            return True
        if problem != logged:
            log.warning(problem)
            logged = problem
        clock.sleep(stop, RETRY_BACKOFF.delay(attempt))
        attempt += 1
    return False


def warn_of_dropped_fields(version: Callable[[], ServerVersion], folder: Path) -> None:
    """Log in one line the built-in types and fields that an older server would drop, of those that programs use.

    The programs are the Python files of a folder; `version` requests the server's version.
    """
    try:
        served = version()
    except ClientGoError as error:  # a server that does not tell its version may serve everything else
        log.debug("the API server's version is not known", extra={"err": error})
        return
    if served.minor_number >= minor_of(KUBERNETES):
        return
    sources = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))}
    if dropped := lacking(served.minor_number, sources):
        facts = {"version": served.git_version, "fields": dropped}
        log.warning("the API server drops fields that the program sets", extra=facts)


def _first_problem(server: str, requirements: Sequence[RequiredResource]) -> str:
    for requirement in requirements:
        try:
            requirement.request()
        except Unauthorized as error:
            raise ConfigError(
                f"the API server at {server} does not accept these credentials ({error}): "
                "check the user of the kubeconfig's context, or log in again"
            ) from error
        except Forbidden as error:
            raise ConfigError(
                f"the API server at {server} forbids to list {requirement.resource} ({error}): {requirement.grant}"
            ) from error
        except ClientGoError as error:
            return _problem(server, requirement, error)
    return ""


def _problem(server: str, requirement: RequiredResource, error: ClientGoError) -> str:
    what = requirement.resource
    if isinstance(error, InvalidResponse):
        return f"{server} does not answer as an API server ({error}); will keep trying"
    if isinstance(error, ConnectionFailed):
        return f"the API server at {server} cannot be reached ({error}); will keep trying"
    if isinstance(error, NotFound):
        return f"the API server at {server} does not know {what} yet: {requirement.install}; will keep looking"
    code = f" {error.code}" if isinstance(error, ApiError) else ""
    return f"the API server at {server} cannot list {what} (answered{code}: {error}); will keep trying"
