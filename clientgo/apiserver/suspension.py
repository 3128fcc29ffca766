"""Suspension of requests that need external calls (webhooks), without blocking the server.

Handlers run on the server's loop and never block. One that needs a call raises `Paused`; the calls run in threads,
their results are stored, and the handler runs again from the start, where it finds them. So a handler must not have
changed anything before it pauses, and must decide again from the stored objects: if an object has changed meanwhile,
the webhook is called again, as a real server does when it retries an update.

Making everything a coroutine was rejected: every read that may have to convert would be one, for the few that do.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from clientgo.errors import Restorable

_MAX_CONCURRENT = 64


@dataclass(frozen=True, slots=True)
class ExternalCall:
    """An external call: `run` returns the result and never raises; `store` saves it for the handler."""

    run: Callable[[], Any]
    store: Callable[[Any], object]


class Paused(Restorable, Exception):
    """The handler needs the results of these calls."""

    def __init__(self, calls: Sequence[ExternalCall]) -> None:
        super().__init__(f"{len(calls)} calls are pending")
        self.calls = calls


@dataclass(frozen=True, slots=True)
class Suspended:
    """A suspended request: once the results of its calls are stored, `resume` continues it."""

    calls: Sequence[ExternalCall]
    resume: Callable[[], Any]

    def wait(self) -> Any:
        """Run the calls in this thread, one after the other, and resume."""
        for call in self.calls:
            call.store(call.run())
        return self.resume()


class CallExecutor:
    """Runs external calls in its own threads, so that a slow webhook delays only requests that need webhooks."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None

    async def settled(self, answer: Any) -> Any:
        """Return the response once all calls it needs are done."""
        while isinstance(answer, Suspended):
            await self.run_calls(answer.calls)
            answer = answer.resume()
        return answer

    async def run_calls(self, calls: Iterable[ExternalCall]) -> None:
        """Run all calls concurrently and store their results."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_MAX_CONCURRENT, thread_name_prefix="webhook")
        loop = asyncio.get_running_loop()
        pending = list(calls)
        outcomes = await asyncio.gather(*(loop.run_in_executor(self._threads, call.run) for call in pending))
        for call, outcome in zip(pending, outcomes, strict=True):
            call.store(outcome)

    def close(self) -> None:
        """Cancel pending calls; their requests get no response."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
