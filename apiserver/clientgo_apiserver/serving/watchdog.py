"""Requests in progress, and a watchdog that reports what blocks the event loop.

Everything but long steps runs on the loop, so one that does not end stops all clients: the log must say which one.
"""

import asyncio
import sys
import threading
import traceback

from clientgo.clock import Clock
from clientgo.log import get_logger
from clientgo_apiserver.api.status import PageNotFound
from clientgo_apiserver.http.messages import HTTPRequest, HTTPResponse, json_response
from clientgo_apiserver.http.rendering import indent

log = get_logger(__name__)

PATH = "debug"
"""First segment of the page's path, `/debug/requests`."""

BLOCKED_SECONDS = 1.0
"""Seconds without an answer of the event loop after which it counts as blocked."""

_NEWEST = 5


class RunningRequests:
    """Requests in progress, in the order of their arrival; changed on the event loop only."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began: dict[int, tuple[HTTPRequest, float]] = {}

    def add(self, request: HTTPRequest) -> None:
        """Count a request as running; two methods, because a context manager takes a tenth of a GET's time."""
        self._began[id(request)] = request, self._clock.now()

    def remove(self, request: HTTPRequest) -> None:
        """Count it no longer."""
        del self._began[id(request)]

    def newest(self) -> list[str]:
        """Return method and path of the requests that arrived last; from any thread."""
        entries = list(self._began.values())[-_NEWEST:]
        return [f"{request.method} {request.path}" for request, _ in reversed(entries)]

    def answer(self, request: HTTPRequest) -> HTTPResponse:
        """Answer a GET of `/debug/requests`: what runs, the longest first."""
        if request.path.rstrip("/") != f"/{PATH}/requests":
            raise PageNotFound
        now = self._clock.now()
        entries = [
            {"method": each.method, "path": each.path, "user": each.user.name, "seconds": round(now - began, 3)}
            for each, began in self._began.values()
        ]
        response = json_response({"requests": entries})
        indent(response)
        return response


class Watchdog:
    """Thread that asks the event loop for a sign of life, and logs once what it runs when there is none."""

    def __init__(self, loop: asyncio.AbstractEventLoop, requests: RunningRequests, clock: Clock) -> None:
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._requests = requests
        self._clock = clock

    def run(self, stop: threading.Event) -> None:
        """Watch the loop until `stop` is set."""
        while not stop.is_set():
            answered = threading.Event()
            try:
                self._loop.call_soon_threadsafe(answered.set)
            except RuntimeError:  # the loop is closed
                return
            if not self._clock.wait_for(answered, BLOCKED_SECONDS) and not stop.is_set():
                self._report()
                while not stop.is_set() and not self._clock.wait_for(answered, BLOCKED_SECONDS):
                    continue
            self._clock.sleep(stop, BLOCKED_SECONDS / 2)

    def _report(self) -> None:
        frame = sys._current_frames().get(self._loop_thread)
        stack = "".join(traceback.format_stack(frame, limit=20)) if frame is not None else ""
        fields = {"seconds": BLOCKED_SECONDS, "requests": self._requests.newest()}
        log.warning(f"the event loop is blocked; all clients wait\n{stack}", extra=fields)
