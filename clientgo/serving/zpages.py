"""`/statusz` and `/flagz`: what a program is, how it does and how it was started, on a page for people.

The form is that of Kubernetes' own z-pages: a title, a warning that no program should read on, then plain lines.
"""

import logging
import platform
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.log import REDACTED, current_level, set_level
from clientgo.log.credentials import is_secret_name, redact
from clientgo.serving.checks import Informer, Queue
from clientgo.serving.introspection import informers_table, table
from clientgo.serving.message import Response, ServingRequest
from clientgo.serving.routing import Access, Route

WARNING = (
    "Warning: This page is for people. It is no interface: no program should read it, "
    "and its form may change with any version."
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
    """Shows when the program started (which is now), what it is, its informers and its queues.

    `paths` gives what else is served; `facts` are further lines, each asked for when the page is (`Leader: True`).
    """
    started, began = datetime.fromtimestamp(clock.time(), UTC), clock.now()

    def show(_: ServingRequest) -> Response:
        lines = {
            "Started": f"{started:%a %b} {started.day:2} {started:%H:%M:%S} UTC {started.year}",
            "Up": _up(clock.now() - began),
            "Python version": platform.python_version(),
            "Binary version": version,
            **{name: ask() for name, ask in (facts or {}).items()},
            "Paths": " ".join(sorted(paths())),
        }
        parts = [
            _page(component, "statusz", (f"{name}: {value}" for name, value in lines.items() if value != "")),
            informers_table([informer.state() for informer in informers], clock),
            _depths(queues),
        ]
        return Response(200, "\n".join(parts))

    return Route(show, access=Access.PRIVATE)


def flagz_route(component: str, flags: Mapping[str, object]) -> Route:
    """Shows the flags the program runs with, by name; one whose name or value looks like a credential is hidden."""

    def show(_: ServingRequest) -> Response:
        shown = {name: REDACTED if is_secret_name(name) else redact(_as_flag(value)) for name, value in flags.items()}
        return Response(200, _page(component, "flagz", (f"{name}={shown[name]}" for name in sorted(shown))))

    return Route(show, access=Access.PRIVATE)


def _as_flag(value: object) -> str:
    """As it would be written on a command line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):  # a named tuple has words of its own
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
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60} hr {minutes % 60:02} min {rest:02} sec"


log = logging.getLogger(__name__)


def log_level_route() -> Route:
    """GET says the level; PUT sets the one its body names, and answers 400 if there is none of that name."""

    def serve(request: ServingRequest) -> Response:
        if request.method != "PUT":
            return Response(200, f"{current_level()}\n")
        former = current_level()
        try:
            set_level(request.body.decode("utf-8", "replace").strip())
        except ValueError as error:
            return Response(400, f"{error}\n")
        # A warning, so that it is there whatever the level has become.
        log.warning("log level changed", extra={"from": former, "to": current_level(), "peer": request.peer})
        return Response(200, f"successfully set the log level to {current_level()}\n")

    return Route(serve, methods=("GET", "PUT"), access=Access.PRIVATE)
