"""The watchdog reports what blocks the event loop, and a page lists the requests in progress."""

import asyncio
import json
import logging
import threading
import urllib.request

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo_apiserver.http.messages import HTTPRequest
from clientgo_apiserver.server import ApiServer
from clientgo_apiserver.serving.watchdog import RunningRequests, Watchdog


def test_blocked_loop_is_reported_once_with_its_requests_and_stack(caplog: pytest.LogCaptureFixture) -> None:
    requests, reported = RunningRequests(FakeClock()), threading.Event()

    def notice(_: logging.LogRecord) -> bool:
        reported.set()
        return True

    caplog.handler.addFilter(notice)

    async def block_the_loop() -> None:
        requests.add(HTTPRequest("PATCH", "/api/v1/pods"))
        with Group() as group:
            watchdog = Watchdog(asyncio.get_running_loop(), requests, SYSTEM_CLOCK)
            group.start(watchdog.run, group.stop_event, name="watchdog")
            assert reported.wait(20)
            group.stop()

    asyncio.run(block_the_loop())
    [record] = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "event loop is blocked" in record.getMessage()
    assert "block_the_loop" in record.getMessage()
    assert vars(record)["requests"] == ["PATCH /api/v1/pods"]


@pytest.mark.integration
def test_page_lists_the_requests_in_progress() -> None:
    with (
        ApiServer() as server,
        urllib.request.urlopen(f"{server.url}/api/v1/pods?watch=1", timeout=10),
        urllib.request.urlopen(f"{server.url}/debug/requests", timeout=10) as page,
    ):
        entries = json.load(page)["requests"]
    assert [entry["path"] for entry in entries] == ["/api/v1/pods", "/debug/requests"]
