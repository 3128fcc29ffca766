"""Handlers and checks that block: limited, named, and no obstacle to other requests."""

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest

from clientgo.serving import Check, Response, Route, ServingRequest, probe_routes
from clientgo.serving.loop import MAX_STUCK
from clientgo.testing.eventually import eventually
from tests.serving.serving_client import ask, raw, serving

pytestmark = pytest.mark.integration

SECONDS = 0.2
READYZ = b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
def release() -> Iterator[threading.Event]:
    released = threading.Event()
    yield released
    released.set()


def blocking(release: threading.Event) -> Check:
    def check() -> None:
        release.wait(20)

    return check


def waiting(_: threading.Event) -> Check:
    async def check() -> None:
        await asyncio.sleep(20)

    return check


@pytest.mark.parametrize("create", [blocking, waiting])
def test_check_that_does_not_return_fails_its_probe_and_is_named(
    create: Callable[[threading.Event], Check], release: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    routes = probe_routes({"database": create(release), "other": lambda: None}, path="/readyz", seconds=SECONDS)
    with serving({**routes, **probe_routes({})}) as server:
        for _ in range(3):
            response = ask(server, "/readyz")
            assert (response.status, "[-]database failed" in response.body) == (500, True)
        assert ask(server, "/healthz").status == 200
        release.set()
    failing = [vars(record) for record in caplog.records if record.msg == "check failing"]
    assert [(facts["check"], facts["reason"]) for facts in failing] == [("database", "not finished within 0.2 s")]


def test_check_is_cancelled_once_its_client_has_left() -> None:
    began, cancelled = threading.Event(), threading.Event()

    async def check() -> None:
        began.set()
        try:
            await asyncio.sleep(20)
        finally:
            cancelled.set()

    with serving(probe_routes({"database": check}, path="/readyz", seconds=60.0)) as server:
        with raw(server) as client:
            client.sendall(READYZ)
            assert began.wait(10)
        assert cancelled.wait(10)


def test_calls_that_outlive_their_limit_are_bounded_and_others_are_handled(release: threading.Event) -> None:
    calls = list[ServingRequest]()

    def block(request: ServingRequest) -> Response:
        calls.append(request)
        release.wait(20)
        return Response()

    with serving({"/block": Route(block, seconds=0.01), "/hello": lambda _: Response(200, b"hello")}) as server:
        for _ in range(MAX_STUCK + 3):
            response = ask(server, "/block")
            assert (response.status, response.body) == (503, "the handler of /block did not answer in time\n")
        assert len(calls) == MAX_STUCK
        assert ask(server, "/hello").body == "hello"
        release.set()
        eventually(lambda: ask(server, "/block").status == 200)
