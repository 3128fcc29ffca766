"""Fault injection: errors, delays, broken connections and clock skew, when a test asks for them.

A `Fault` selects requests and says what happens to them. Which of several requests fail is determined by counting, not
at random: a share of a quarter affects every fourth, so that every run is the same.

Over HTTP, if enabled: `GET /faults` lists the faults, `POST /faults` adds one (the fields of `Fault` in camel case),
`DELETE /faults` and `DELETE /faults/<number>` remove them, `PUT /faults/clock` takes `{"skewSeconds": 3600}`,
`PUT /faults/disk` `{"full": true}`, `POST /faults/compact` drops the history, and `POST /faults/disconnect` closes
every connection, a moment after the response.
"""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from clientgo.clock import Clock
from clientgo_apiserver.api.status import ApiFailure, PageNotFound, bad_request, method_not_allowed
from clientgo_apiserver.http.messages import HTTPRequest, HTTPResponse, json_response, parse_path
from clientgo_apiserver.storage.store import Store

_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


Run = Callable[[Callable[[], object]], object]


class Fault(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A fault and the requests it affects.

    It affects requests with this `method` (`WATCH` for watches), `resource` (plural), `subresource`, `namespace` and
    `name`; empty values match all. The first `skip` of them are spared; then a `share` of them is affected, `times`
    times (0: until the fault is removed).

    `delay` is in seconds, before the request is handled. `code` replaces the response with an error, with `retry_after`
    seconds if set. `drop` closes the connection without a response, before the request is handled or after it took
    effect. `cut` closes a watch in the middle of that frame (1 is the first), `silent` sends no frame of a watch.
    """

    method: str = ""
    resource: str = ""
    subresource: str | None = None
    namespace: str = ""
    name: str = ""
    skip: int = 0
    share: float = 1.0
    times: int = 0
    delay: float = 0.0
    code: int = 0
    reason: str = ""
    message: str = ""
    retry_after: int | None = None
    drop: Literal["", "before", "after"] = ""
    cut: int = 0
    silent: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ValueError(f"invalid share {self.share}: expected more than 0 and at most 1")
        if min(self.skip, self.times, self.delay, self.cut, self.retry_after or 0) < 0:
            raise ValueError("skip, times, delay, cut and retry_after must not be negative")
        if self.code and not 400 <= self.code <= 599:
            raise ValueError(f"invalid code {self.code}: expected an HTTP error, 400 to 599")
        if self.drop not in ("", "before", "after"):
            raise ValueError(f"invalid drop {self.drop!r}: expected before or after")

    def applies_to(self, request: HTTPRequest) -> bool:
        """Return whether the fault selects this request."""
        if request.path.startswith("/faults"):
            return False  # so that faults can be removed
        target = parse_path(request.path)
        watching = target is not None and request.method == "GET" and (target.watch or request.query.flag("watch"))
        if self.method.upper() not in ("", "WATCH" if watching else request.method):
            return False
        if target is None:
            return not (self.resource or self.subresource or self.namespace or self.name)
        return (
            self.resource in ("", target.plural)
            and self.subresource in (None, target.subresource)
            and self.namespace in ("", target.namespace)
            and self.name in ("", target.name)
        )

    def answer(self) -> HTTPResponse:
        """Return the error response; `code` is set."""
        text = self.message or f"injected fault: {self.code}"
        details = {"retryAfterSeconds": self.retry_after} if self.retry_after is not None else None
        failure = ApiFailure(self.code, self.reason or _REASONS.get(self.code, "Unknown"), text, details=details)
        response = json_response(failure.body, self.code)
        if self.retry_after is not None:
            response.headers.append(("Retry-After", str(self.retry_after)))
        return response


class ActiveFault:
    """An added fault; `hits` counts the requests it has affected."""

    def __init__(self, number: int, fault: Fault) -> None:
        self.number = number
        self.fault = fault
        self.seen = 0
        self.hits = 0

    def __repr__(self) -> str:
        return f"<ActiveFault {self.number}: {self.fault}, {self.hits} hits>"

    def matches(self, request: HTTPRequest) -> bool:
        """Return whether the fault affects this request, and count it."""
        fault = self.fault
        if (fault.times and self.hits >= fault.times) or not fault.applies_to(request):
            return False
        self.seen += 1
        counted = self.seen - fault.skip
        # Affected when the sum of the shares passes the next integer.
        if counted <= 0 or int(counted * fault.share) == int((counted - 1) * fault.share):
            return False
        self.hits += 1
        return True


class SkewedClock:
    """Clock whose time of day can be skewed; delays are not affected."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.skew = 0.0
        self.now = clock.now
        self.wait = clock.wait
        self.sleep = clock.sleep
        self.wait_for = clock.wait_for
        self.poll = clock.poll

    def time(self) -> float:
        """Seconds since the epoch plus `skew`."""
        return self._clock.time() + self.skew


class Faults:
    """Faults of one server; thread-safe. A change applies from the next request."""

    def __init__(self, clock: Clock) -> None:
        self.clock = SkewedClock(clock)
        self._active: tuple[ActiveFault, ...] = ()
        self._count = 0
        self._store: Store | None = None

    def __repr__(self) -> str:
        return f"<Faults {len(self._active)} active, skew {self.clock.skew}>"

    def add(self, fault: Fault) -> ActiveFault:
        """Add a fault; several faults may affect one request."""
        self._count += 1
        active = ActiveFault(self._count, fault)
        self._active = (*self._active, active)
        return active

    def remove(self, active: ActiveFault) -> None:
        """Remove a fault; it may be removed already."""
        self._active = tuple(other for other in self._active if other is not active)

    def clear(self) -> None:
        """Remove all faults, the clock skew and the full disk; dropped history stays dropped."""
        self._active = ()
        self.clock.skew = 0.0
        if self._store is not None:
            self._store.full = False

    def skew(self, seconds: float) -> None:
        """Skew the server's time of day by that many seconds."""
        self.clock.skew = seconds

    def compact(self) -> None:
        """Drop the history: older versions are answered with 410 Expired. The server must be running."""
        self._run(self._running().compact)

    def fill_disk(self, *, full: bool = True) -> None:
        """Simulate a full disk, or end it: writes fail with 500, reads succeed."""
        self._running().full = full

    def disconnect(self) -> None:
        """Close every connection abruptly."""
        self._run(self._disconnect)

    def bind(
        self, store: Store, disconnect: Callable[[], object], run: Callable[[Callable[[], object]], object]
    ) -> None:
        """Connect to the running server: its store, how connections are closed, and how calls run on its loop."""
        self._store, self._disconnect, self._run = store, disconnect, run

    def _running(self) -> Store:
        assert self._store is not None, "the server has not been started"
        return self._store

    def matching(self, request: HTTPRequest) -> list[Fault]:
        """Return the faults that affect this request."""
        return [fault.fault for fault in self._active if fault.matches(request)]

    def answer(self, later: Run, request: HTTPRequest) -> HTTPResponse:
        """Answer a request below `/faults`, on the server's loop; `later` calls back after the response.

        Raises:
            ApiFailure: 400 or 405.
            PageNotFound: no such path, or no such fault.
        """
        name = request.path.strip("/").removeprefix(NAME).strip("/")
        body = _body(request) if request.method in ("POST", "PUT") and name in ("", "clock", "disk") else {}
        route = f"{request.method} {name}"
        if route == "POST ":
            return json_response(_fault_json(self.add(_fault(body))), 201)
        if request.method == "DELETE":
            return json_response(self._removed(name))
        if route == "PUT clock":
            self.clock.skew = _member(body, "skewSeconds", (int, float), "a number")
        elif route == "PUT disk":
            self._running().full = _member(body, "full", (bool,), "true or false")
        elif route == "POST compact":
            self._running().compact()
        elif route == "POST disconnect":
            later(self._disconnect)
        elif route != "GET ":
            raise PageNotFound if name else method_not_allowed()
        return json_response(body if name else {"items": [_fault_json(fault) for fault in self._active]})

    def _removed(self, name: str) -> dict[str, Any]:
        if not name:
            self.clear()
            return {"items": []}
        for fault in self._active:
            if name == str(fault.number):
                self.remove(fault)
                return _fault_json(fault)
        raise PageNotFound


NAME = "faults"


def _body(request: HTTPRequest) -> dict[str, Any]:
    try:
        return msgspec.json.decode(request.body, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise bad_request(f"the body must be a JSON object: {error}") from error


def _member(body: dict[str, Any], field: str, types: tuple[type, ...], expected: str) -> Any:
    value = body.get(field)
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise bad_request(f"{field} must be {expected}")
    return value


def _fault(body: dict[str, Any]) -> Fault:
    members = [field.encode_name for field in msgspec.structs.fields(Fault)]
    unknown = sorted(set(body) - set(members))
    if unknown:
        raise bad_request(f"unknown field {unknown[0]!r} of a fault: expected one of {', '.join(sorted(members))}")
    try:
        return msgspec.convert(body, Fault)
    except (msgspec.ValidationError, ValueError) as error:
        raise bad_request(f"invalid fault: {error}") from error


def _fault_json(active: ActiveFault) -> dict[str, Any]:
    """Return the fault as JSON, without default values."""
    return {"number": active.number, "hits": active.hits, **msgspec.to_builtins(active.fault)}
