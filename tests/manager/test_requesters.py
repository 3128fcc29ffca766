"""Time limit for the requests of one reconciliation."""

import pytest

from clientgo.errors import ConnectionFailed, TooManyRequests
from clientgo.manager import Controller, ControllerOptions
from clientgo.manager.requesters import LimitedRequester, ReconciliationTimeout, limited
from clientgo.meta import ObjectName, api_of
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.request import EventStream, Request
from clientgo.testing.clock import FakeClock
from clientgo.testing.metrics import recorded_metrics
from clientgo.testing.transport import FakeTransport, refusal
from controller.api.v1alpha1 import Foo

pytestmark = pytest.mark.feature("C-33")

GET = Request(verb="get", resource=api_of(Foo).gvr, namespace="ns", name="a")


class Slow:
    """Server that takes two seconds to respond, unless the timeout is shorter."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.timeouts: list[float | None] = []

    def do(self, request: Request) -> bytes:
        self.timeouts.append(request.timeout)
        self._clock.step(min(2.0, request.timeout or 2.0))
        if request.timeout is not None and request.timeout < 2.0:
            raise ConnectionFailed("no answer in time", timeout=True)
        return b"{}"

    def watch(self, request: Request) -> EventStream:
        raise AssertionError


def test_requests_are_limited_to_the_remaining_time() -> None:
    clock = FakeClock()
    slow = Slow(clock)
    requester = LimitedRequester(slow)
    with limited(5.0, clock=clock):
        requester.do(GET)
        requester.do(Request(verb="get", resource=GET.resource, name="a", timeout=2.5))
        with pytest.raises(ConnectionFailed):
            requester.do(GET)
        with pytest.raises(ReconciliationTimeout, match="get foos not sent: the time limit"):
            requester.do(GET)
    requester.do(GET)
    assert slow.timeouts == [5.0, 2.5, 1.0, None]


def test_retries_of_a_request_end_with_the_reconciliation() -> None:
    clock, transport = FakeClock(auto=True), FakeTransport(*[refusal(429, retry_after=1)] * 10)
    client = RESTClient(Config("http://api"), transport=transport, clock=clock)
    with limited(2.5, clock=clock), pytest.raises(TooManyRequests):
        LimitedRequester(client).do(GET)
    assert (clock.now(), len(transport.sent)) == (2.5, 3)


def test_opening_a_watch_is_limited() -> None:
    clock, transport = FakeClock(auto=True), FakeTransport(*[refusal(429, retry_after=1)] * 10)
    client = RESTClient(Config("http://api"), transport=transport, clock=clock)
    watch = Request(verb="watch", resource=GET.resource)
    with limited(2.5, clock=clock):
        with pytest.raises(TooManyRequests):
            LimitedRequester(client).watch(watch)
        with pytest.raises(ReconciliationTimeout):
            LimitedRequester(client).watch(watch)
    assert (clock.now(), len(transport.sent)) == (2.5, 3)


def test_requests_without_a_limit_are_unchanged() -> None:
    clock = FakeClock()
    slow = Slow(clock)
    with limited(0.0, clock=clock):
        LimitedRequester(slow).do(GET)
    assert slow.timeouts == [None]


@pytest.mark.feature("B-CR-09")
@pytest.mark.feature("B-CR-10")
@pytest.mark.parametrize(("seconds", "timeouts"), [(4.0, 1), (3.0, 1), (5.0, 1), (0.0, 0)])
def test_reconciliation_timeout_is_counted_and_retried(seconds: float, timeouts: int) -> None:
    clock = FakeClock()
    requester = LimitedRequester(Slow(clock))

    def reconcile(_: ObjectName) -> None:
        for request in [GET] * 4:
            requester.do(request)
        raise ConnectionFailed("in the end")

    with recorded_metrics() as metrics:
        options = ControllerOptions(reconciliation_timeout=seconds)
        controller = Controller("foos", "Foo", reconcile, (), options=options, clock=clock)
        controller.enqueue(ObjectName("ns", "a"))
        controller.process_next()
    assert metrics["controller_runtime_reconcile_timeouts_total", "foos"].value == timeouts
    assert metrics["controller_runtime_reconcile_total", "foos", "error"].value == 1
    assert controller.queue.num_requeues(ObjectName("ns", "a")) == 1
