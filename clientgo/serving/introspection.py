"""Debug pages `/debug/queue`, `/debug/caches` and `/debug/stacks`: queues, keys in process, informers and threads.

The format is JSON by default, a table with `?format=table` or for clients that accept only text. Keys are object names,
which may be confidential: the routes are for this machine and for authorized clients.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from clientgo.cache.state import InformerState
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.internal.callbacks import text_of
from clientgo.serving.checks import Informer, Queue
from clientgo.serving.message import JSON, Response, ServingRequest
from clientgo.serving.routing import Access, Route
from clientgo.serving.stacks import stacks
from clientgo.workqueue.state import QueueState

SHOWN = 100
"""Number of keys shown for each part of a queue without `?limit=`: a queue may hold a hundred thousand."""

_PARTS = ("processing", "queued", "waiting")


def stacks_route() -> Route:
    """Return the route that shows the stacks of all threads."""

    def show(_: ServingRequest) -> Response:
        return Response(200, stacks())

    return Route(show, access=Access.PRIVATE)


def queue_route(queues: Iterable[Queue]) -> Route:
    """Return the route that shows the keys of each queue, with times and the number of retries.

    `?name=` selects a queue, `?limit=` sets the number of keys shown of each part; the counts include all keys. The
    time of `waiting` keys is the remaining one.
    """

    def show(request: ServingRequest) -> Response:
        limit = request.first("limit", str(SHOWN))
        if not (limit.isascii() and limit.isdigit() and len(limit) < 10):
            return Response(400, f"limit must be a whole number, not {limit!r}\n")
        name = request.query.get("name")
        states = [state for state in (queue.state() for queue in queues) if name is None or state.name in name]
        if _as_table(request):
            return Response(200, queues_table(states, int(limit)))
        return _json({"queues": [_queue(state, int(limit)) for state in states]})

    return Route(show, access=Access.PRIVATE)


def caches_route(informers: Iterable[Informer], *, clock: Clock = SYSTEM_CLOCK) -> Route:
    """Return the route that shows the state of each informer: objects, versions, lists, watches, last event."""

    def show(request: ServingRequest) -> Response:
        states = [informer.state() for informer in informers]
        if _as_table(request):
            return Response(200, informers_table(states, clock))
        return _json({"caches": [_informer(state, clock.now()) for state in states]})

    return Route(show, access=Access.PRIVATE)


def queues_table(states: Iterable[QueueState[Any]], limit: int = SHOWN) -> str:
    """Return a line for each key, and one for omitted keys."""
    rows: list[Sequence[object]] = []
    for state in states:
        retries = dict(state.retries)
        for part in _PARTS:
            keys = getattr(state, part)
            rows += [(state.name, part, key, seconds, retries.get(key, 0)) for key, seconds in keys[:limit]]
            if len(keys) > limit:
                rows.append((state.name, part, f"and {len(keys) - limit} more", None, None))
    return table(("QUEUE", "STATE", "KEY", "SECONDS", "RETRIES"), rows)


def informers_table(states: Iterable[InformerState], clock: Clock) -> str:
    """Return a line for each informer, and one for each failing object if there are any."""
    states, now = list(states), clock.now()
    summary = table(
        ("NAME", "KIND", "SYNCED", "OBJECTS", "VERSION", "LISTS", "WATCHES", "UNDECODABLE", "LAST EVENT", "ERROR"),
        (
            (
                *(state.name, state.kind, "yes" if state.synced else "no", state.objects, state.resource_version),
                *(state.lists, state.watches, state.undecodable, _ago(now, state.last_event), state.last_error),
            )
            for state in states
        ),
    )
    failing = [
        (state.name, failure.hook, failure.name, failure.error) for state in states for failure in state.failures
    ]
    return f"{summary}\n{table(('NAME', 'FAILS IN', 'OBJECT', 'ERROR'), failing)}" if failing else summary


def _queue(state: QueueState[Any], limit: int) -> Mapping[str, Any]:
    retries = dict(state.retries)
    description: dict[str, Any] = {
        part: [
            {"key": text_of(key), "seconds": round(seconds, 3), "retries": retries.get(key, 0)}
            for key, seconds in getattr(state, part)[:limit]
        ]
        for part in _PARTS
    }
    counts = {part: len(getattr(state, part)) for part in (*_PARTS, "retries")}
    return {"name": state.name, "shuttingDown": state.shutting_down, "counts": counts, **description}


def _informer(state: InformerState, now: float) -> Mapping[str, Any]:
    return {
        "name": state.name,
        "kind": state.kind,
        "synced": state.synced,
        "objects": state.objects,
        "resourceVersion": state.resource_version,
        "lists": state.lists,
        "watches": state.watches,
        "undecodable": state.undecodable,
        "failing": state.failing,
        "failures": [
            {"hook": failure.hook, "object": str(failure.name), "error": failure.error} for failure in state.failures
        ],
        "notificationsWaiting": state.waiting,
        "secondsSinceLastEvent": None if state.last_event is None else round(now - state.last_event, 3),
        "secondsWatching": None if state.watching_since is None else round(now - state.watching_since, 3),
        "lastError": state.last_error,
    }


def _as_table(request: ServingRequest) -> bool:
    chosen = request.first("format")
    if chosen:
        return chosen == "table"
    accept = request.headers.get("accept", "")
    return "text/plain" in accept and JSON not in accept


def _json(value: Mapping[str, Any]) -> Response:
    return Response(200, msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n", JSON)


def _ago(now: float, at: float | None) -> str:
    return "never" if at is None else f"{now - at:.1f} s ago"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return left-aligned columns with three spaces between, as `kubectl get` prints them, one line for each row."""
    lines = [list(head), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "".join(
        "   ".join(value.ljust(width) for value, width in zip(line, widths, strict=True)).rstrip() + "\n"
        for line in lines
    )


def _cell(value: object) -> str:
    if value is None or value == "":
        return "-"
    text = f"{value:.1f}" if isinstance(value, float) else text_of(value)
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
