"""Server whose event loop measures its turns: `python -m apiserver.benchmarks.turns` has the flags of the server.

`/debug/requests` answers with the processor time of the longest turn since it was asked last, in milliseconds. A turn
is measured from one call of a timer to the next, which are a millisecond apart: it is at most that much too long. Other
load of the machine does not affect it.
"""

import asyncio
import sys
import threading
import time

from clientgo_apiserver import server
from clientgo_apiserver.__main__ import run
from clientgo_apiserver.http.messages import HTTPRequest, HTTPResponse, json_response
from clientgo_apiserver.serving import app
from clientgo_apiserver.serving.watchdog import RunningRequests, Watchdog

_PAUSE = 0.001


class Turns:
    """Processor time of the turns of an event loop."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._before = 0.0

    def measure(self, loop: asyncio.AbstractEventLoop) -> None:
        """Measure the time since the last call, on the loop, and call again in a millisecond."""
        now = time.thread_time()
        if self._before:
            self.longest = max(self.longest, now - self._before)
        self._before = now
        loop.call_later(_PAUSE, self.measure, loop)

    def answer(self, _: HTTPRequest) -> HTTPResponse:
        """Answer with the longest turn, and begin again."""
        milliseconds, self.longest = 1000 * self.longest, 0.0
        return json_response({"longest": milliseconds})


class MeasuredRequests(RunningRequests):
    """Requests whose page has the longest turn instead."""

    turns = Turns()

    def answer(self, request: HTTPRequest) -> HTTPResponse:
        """Answer with the longest turn."""
        return self.turns.answer(request)


class MeasuringWatchdog(Watchdog):
    """Watchdog that starts the measuring."""

    def run(self, stop: threading.Event) -> None:
        """Start measuring, and watch."""
        self._loop.call_soon_threadsafe(MeasuredRequests.turns.measure, self._loop)
        super().run(stop)


if __name__ == "__main__":
    vars(app)["RunningRequests"] = MeasuredRequests
    vars(server)["Watchdog"] = MeasuringWatchdog
    sys.exit(run())
