"""Faults on request: what a client must survive, at the moment its test chooses. Nothing is wrong unless asked for.

A `Fault` says which requests it strikes and what becomes of them. Which of several requests are struck follows from
counting, never from chance: a share of a quarter strikes every fourth, so that a test sees the same each time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from clientgo.apiserver.http.messages import Request, Response, json_response
from clientgo.apiserver.http.paths import parse_path
from clientgo.apiserver.http.status import ApiFailure
from clientgo.apiserver.storage.store import Store
from clientgo.clock import Clock

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What goes wrong with the requests that it strikes.

    It strikes requests of this `method` (`WATCH` for watches), `resource` (plural), `subresource`, `namespace` and
    `name`; what is empty strikes all. The first `skip` of them are spared; then a `share` of them is struck, `times`
    times (0: until it is removed).

    `delay` is seconds before the request is handled. `code` is an answer in place of the server's, with `retry_after`
    seconds where given. `drop` closes the connection without an answer, before the request is handled or after it has
    taken effect. `cut` closes a watch in the middle of that frame (1 is the first), `silent` sends none of a watch's.
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
            raise ValueError(f"share is {self.share}: more than 0 and at most 1 is wanted")
        if min(self.skip, self.times, self.delay, self.cut, self.retry_after or 0) < 0:
            raise ValueError("skip, times, delay, cut and retry_after can't be negative")
        if self.code and not 400 <= self.code <= 599:
            raise ValueError(f"code is {self.code}: an HTTP error, 400 to 599, is wanted")
        if self.drop not in ("", "before", "after"):
            raise ValueError(f"drop is {self.drop!r}: before or after is wanted")

    def meant(self, request: Request) -> bool:
        """Whether a request is one of those that may be struck."""
        if request.path.startswith("/faults"):
            return False  # so that it can be taken away
        target = parse_path(request.path)
        if target is None:
            return not (self.resource or self.subresource or self.namespace or self.name) and self._same_method(
                request.method
            )
        watching = request.method == "GET" and (target.watch or request.query.flag("watch"))
        return (
            self._same_method("WATCH" if watching else request.method)
            and self.resource in ("", target.plural)
            and self.subresource in (None, target.subresource)
            and self.namespace in ("", target.namespace)
            and self.name in ("", target.name)
        )

    def answer(self) -> Response:
        """The error to answer with; `code` is set."""
        text = self.message or f"the server answers {self.code}, as it was asked to for a test"
        details = {"retryAfterSeconds": self.retry_after} if self.retry_after is not None else None
        failure = ApiFailure(self.code, self.reason or _REASONS.get(self.code, "Unknown"), text, details=details)
        response = json_response(failure.body, self.code)
        if self.retry_after is not None:
            response.headers.append(("Retry-After", str(self.retry_after)))
        return response

    def _same_method(self, method: str) -> bool:
        return self.method.upper() in ("", method)


class Planted:
    """A fault in its place; `hits` is how many requests it has struck."""

    def __init__(self, number: int, fault: Fault) -> None:
        self.number = number
        self.fault = fault
        self.seen = 0
        self.hits = 0

    def __repr__(self) -> str:
        return f"<Planted {self.number}: {self.fault}, {self.hits} hits>"

    def strikes(self, request: Request) -> bool:
        """Whether this request is struck; counts it."""
        fault = self.fault
        if (fault.times and self.hits >= fault.times) or not fault.meant(request):
            return False
        self.seen += 1
        counted = self.seen - fault.skip
        # The shares of the requests so far add up to one more whole.
        if counted <= 0 or int(counted * fault.share) == int((counted - 1) * fault.share):
            return False
        self.hits += 1
        return True


class SkewedClock:
    """A clock whose time of day can be set wrong; delays are not affected."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.skew = 0.0
        self.now = clock.now
        self.wait = clock.wait
        self.sleep = clock.sleep
        self.wait_for = clock.wait_for

    def time(self) -> float:
        """Seconds since the epoch, wrong by `skew`."""
        return self._clock.time() + self.skew


@dataclass(frozen=True, slots=True)
class Reach:
    """What faults have of the running server, on its loop."""

    store: Store
    disconnect: Callable[[], object]

    def fill(self, *, full: bool) -> None:
        """Let the disk be full, or no longer."""
        self.store.full = full


class Faults:
    """The faults of one server, from any thread: a change counts from the next request on."""

    def __init__(self, clock: Clock) -> None:
        self.clock = SkewedClock(clock)
        self._planted: tuple[Planted, ...] = ()
        self._given = 0
        self._act: Callable[[Callable[[Reach], object]], object] | None = None

    def __repr__(self) -> str:
        return f"<Faults {len(self._planted)} planted, skew {self.clock.skew}>"

    def add(self, fault: Fault) -> Planted:
        """Let this fault strike from now on; of several that strike one request, each does its part."""
        self._given += 1
        planted = Planted(self._given, fault)
        self._planted = (*self._planted, planted)
        return planted

    def remove(self, planted: Planted) -> None:
        """Let it strike no more; it may be gone already."""
        self._planted = tuple(one for one in self._planted if one is not planted)

    def clear(self) -> None:
        """Let nothing go wrong any more, set the clock right, and empty the disk; what was forgotten stays so."""
        self.lift()
        if self._act is not None:
            self._act(lambda reach: reach.fill(full=False))

    def lift(self) -> None:
        """Let no request be struck any more, and set the clock right."""
        self._planted = ()
        self.clock.skew = 0.0

    def skew(self, seconds: float) -> None:
        """Set the server's time of day that far ahead (or behind) from now on."""
        self.clock.skew = seconds

    def compact(self) -> None:
        """Forget the history now: older versions are answered with 410 Expired. The server must be running."""
        self._do(lambda reach: reach.store.compact())

    def fill_disk(self, *, full: bool = True) -> None:
        """Let the server's disk be full from now on, or no longer: writes are answered with 500, reads as ever."""
        self._do(lambda reach: reach.fill(full=full))

    def disconnect(self) -> None:
        """Close every client's connection without a farewell, in the middle of whatever it is at."""
        self._do(lambda reach: reach.disconnect())

    def bind(self, act: Callable[[Callable[[Reach], object]], object]) -> None:
        """How something is done on the running server's loop."""
        self._act = act

    def _do(self, what: Callable[[Reach], object]) -> None:
        assert self._act is not None, "the server has not been started"
        self._act(what)

    def planted(self) -> tuple[Planted, ...]:
        """What is planted now."""
        return self._planted

    def strike(self, request: Request) -> list[Fault]:
        """What goes wrong with this request; nothing, as a rule."""
        return [one.fault for one in self._planted if one.strikes(request)]
