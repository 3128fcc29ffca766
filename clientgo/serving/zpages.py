"""Z-pages of a program: `/statusz` (state), `/flagz` (flags) and `/debug/flags/v` (log level).

`/statusz` and `/flagz` have the form of Kubernetes' own: a title, a warning not to parse the page, then plain lines.
The log level is read and changed as in Kubernetes' components; the body is klog's number or the name of a level:

    curl -X PUT -d 4 localhost:8080/debug/flags/v
"""

import platform
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import CallbackFailed
from clientgo.internal.callbacks import run_callback
from clientgo.log import REDACTED, current_level, get_logger, set_level
from clientgo.log.credentials import is_secret_name, redact
from clientgo.serving.checks import Informer, Queue
from clientgo.serving.introspection import informers_table, table
from clientgo.serving.message import Response, ServingRequest
from clientgo.serving.routing import Access, Route

WARNING = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees "
    "and is for debugging purposes only."
)


def statusz_route(
    component: str,
    *,
    version: str,
    informers: Iterable[Informer] = (),
    queues: Iterable[Queue] = (),
    paths: Callable[[], Iterable[str]] = tuple,
    facts: Mapping[str, Callable[[], object]] | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> Route:
    """Return the route that shows start time, version, informers and queues of a program that starts now.

    `paths` returns the other paths of the server; `facts` are additional lines, evaluated for each request (`Leader:
    True`).
    """
    started, began = datetime.fromtimestamp(clock.time(), UTC), clock.now()

    def show(_: ServingRequest) -> Response:
        lines = {
            "Started": f"{started:%a %b} {started.day:2} {started:%H:%M:%S} UTC {started.year}",
            "Up": _up(clock.now() - began),
            "Python version": platform.python_version(),
            "Binary version": version,
            **texts_of(facts or {}),
            "Paths": " ".join(sorted(paths())),
        }
        sections = [
            _page(component, "statusz", (f"{name}: {value}" for name, value in lines.items() if value != "")),
            informers_table([informer.state() for informer in informers], clock),
            _depths(queues),
        ]
        return Response(200, "\n".join(sections))

    return Route(show, access=Access.PRIVATE)


def texts_of(facts: Mapping[str, Callable[[], object]]) -> dict[str, str]:
    """Return the text of each fact now; one that fails does not prevent the others."""
    return {name: _text_of(ask) for name, ask in dict(facts).items()}


def _text_of(ask: Callable[[], object]) -> str:
    try:
        return run_callback(lambda: str(ask()))
    except CallbackFailed as error:
        return f"unknown: {error}"


def flagz_route(component: str, flags: Mapping[str, object]) -> Route:
    """Return the route that shows the program's flags by name, without values that look like credentials."""

    def show(_: ServingRequest) -> Response:
        values = {name: REDACTED if is_secret_name(name) else redact(_as_flag(value)) for name, value in flags.items()}
        return Response(200, _page(component, "flagz", (f"{name}={values[name]}" for name in sorted(values))))

    return Route(show, access=Access.PRIVATE)


def _as_flag(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):  # named tuples have their own format
        return ",".join(map(_as_flag, value))
    return str(value)


def _page(component: str, title: str, lines: Iterable[str]) -> str:
    return "\n".join(["", f"{component} {title}", WARNING, "", *lines, ""])


def _depths(queues: Iterable[Queue]) -> str:
    states = [queue.state() for queue in queues]
    rows = (
        (state.name, len(state.queued), len(state.processing), len(state.waiting), len(state.retries))
        for state in states
    )
    return table(("QUEUE", "QUEUED", "PROCESSING", "WAITING", "RETRIED"), rows)


def _up(seconds: float) -> str:
    minutes, seconds_of_minute = divmod(int(seconds), 60)
    return f"{minutes // 60} hr {minutes % 60:02} min {seconds_of_minute:02} sec"


log = get_logger(__name__)


def log_level_route() -> Route:
    """Return the route of the log level: GET shows it, PUT sets it, with 400 for an unknown level."""

    def serve(request: ServingRequest) -> Response:
        if request.method != "PUT":
            return Response(200, f"{current_level()}\n")
        former = current_level()
        try:
            set_level(request.body.decode("utf-8", "replace").strip())
        except ValueError as error:
            return Response(400, f"{error}\n")
        # A warning, so that it is logged at every level.
        log.warning("log level changed", extra={"from": former, "to": current_level(), "peer": request.peer})
        return Response(200, f"successfully set the log level to {current_level()}\n")

    return Route(serve, methods=("GET", "PUT"), access=Access.PRIVATE)
