"""Write fencing: no writes without the lease."""

import threading
from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as replace_struct

from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import LeaseNotHeld, NotFound
from clientgo.kubernetes.clients.apps_v1 import AppsV1
from clientgo.meta import GroupVersionResource
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.connections.dial import Dialer
from clientgo.rest.connections.pool import PoolTransport
from clientgo.rest.fence import FencedRequester
from clientgo.rest.limits import Checked, InFlightRequest, current_request
from clientgo.rest.request import Request
from clientgo.rest.transport import HTTPReply
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import current_scopes
from clientgo.testing.clock import FakeClock
from clientgo.testing.kubernetes import FakeClientset
from clientgo.testing.transport import FakeTransport, refusal, reply
from tests.rest.loopback import http, loopback
from tests.workloads import deployment

HOST = Config("http://api")
CREATE = Request(verb="create", resource=GroupVersionResource("", "v1", "pods"), namespace="default", body=b"{}")


def test_writes_are_sent_only_while_the_process_may_write() -> None:
    fake, may = FakeClientset(), True
    deployments = AppsV1(FencedRequester(fake.requester, lambda: may)).deployments("ns")
    deployments.create(deployment("a"))
    may = False
    fake.clear_actions()
    for write in (
        lambda: deployments.create(deployment("b")),
        lambda: deployments.update(deployment("a")),
        lambda: deployments.patch("a", {"spec": {"replicas": 1}}),
        lambda: deployments.delete("a"),
        lambda: deployments.delete_collection(),
    ):
        with pytest.raises(LeaseNotHeld, match="the lease is not held"):
            write()
    assert fake.actions == []


def test_reads_are_always_sent() -> None:
    fake = FakeClientset(deployment("a"))
    deployments = AppsV1(FencedRequester(fake.requester, lambda: False)).deployments("ns")
    assert deployments.get("a").metadata.name == "a"
    assert len(deployments.list().items) == 1
    deployments.watch().close()
    with pytest.raises(NotFound):
        deployments.get("b")


class Lease:
    """A lease on a clock: held until `until`."""

    def __init__(self, clock: FakeClock, until: float) -> None:
        self._clock = clock
        self._until = until

    def held(self) -> bool:
        return self._clock.now() < self._until


@pytest.mark.parametrize(
    "step",
    [refusal(429, retry_after=2), refusal(503, retry_after=2)],
    ids=["throttled by the server", "server not ready"],
)
def test_write_is_not_retried_after_the_lease_ended(step: HTTPReply) -> None:
    clock, transport = FakeClock(auto=True), FakeTransport(step, reply(b"too late"))
    client = RESTClient(HOST, transport=transport, clock=clock)
    with pytest.raises(LeaseNotHeld):
        FencedRequester(client, Lease(clock, 1.0).held).do(CREATE)
    assert len(transport.sent) == 1


def test_write_is_not_sent_if_the_lease_ended_while_it_was_throttled() -> None:
    clock, transport = FakeClock(auto=True), FakeTransport(reply(b"in time"), reply(b"too late"))
    client = RESTClient(replace(HOST, qps=0.5, burst=1), transport=transport, clock=clock)
    writer = FencedRequester(client, Lease(clock, 1.0).held)
    assert writer.do(CREATE) == b"in time"
    with pytest.raises(LeaseNotHeld):
        writer.do(CREATE)
    assert len(transport.sent) == 1


@pytest.mark.integration
def test_write_is_not_sent_on_a_new_connection_opened_after_the_lease_ended() -> None:
    held = True

    class LateDialer(Dialer):
        def dial(self, timeout: float | None = None) -> Any:
            nonlocal held
            held = False
            return super().dial(timeout)

    with loopback([http(b"too late")]) as server:
        config = Config(server.address)
        client = RESTClient(config, transport=PoolTransport(LateDialer(config, environ={})))
        with pytest.raises(LeaseNotHeld):
            FencedRequester(client, lambda: held).do(CREATE)
        client.close()
        assert server.requests == []


def test_read_is_retried_without_the_lease() -> None:
    clock, transport = FakeClock(auto=True), FakeTransport(refusal(429, retry_after=2), reply(b"read"))
    client = RESTClient(HOST, transport=transport, clock=clock)
    assert FencedRequester(client, lambda: False).do(replace_struct(CREATE, verb="get", name="a")) == b"read"


@pytest.mark.parametrize("waits_for", ["retry", "throttle"])
def test_wait_of_a_write_ends_when_the_lease_ends(waits_for: str) -> None:
    clock, held, outcome = FakeClock(), threading.Event(), []
    held.set()
    transport = FakeTransport(refusal(429, retry_after=1000), reply(b"too late"))
    config = replace(HOST, qps=0.001, burst=1) if waits_for == "throttle" else HOST
    client = RESTClient(config, transport=transport, clock=clock)
    if waits_for == "throttle":
        transport.on("GET", "/version", reply(b"{}"))
        client.raw("GET", "/version")

    def write() -> None:
        try:
            FencedRequester(client, held.is_set).do(CREATE)
        except LeaseNotHeld as error:
            outcome.append(str(error))

    with Group() as group:
        group.start(write, name="writer")
        clock.wait_for_sleeps()
        held.clear()
        group.join(10)
    assert outcome == ["create pods not sent: the lease is not held"]


@pytest.mark.parametrize("ended", ["lease", "stop"])
def test_event_of_a_request_wakes_a_real_wait(ended: str) -> None:
    held, stop = threading.Event(), threading.Event()
    held.set()

    def check() -> None:
        if not held.is_set():
            raise LeaseNotHeld("not held")

    def wait() -> None:
        with InFlightRequest(None, SYSTEM_CLOCK, current_scopes()), Checked(check):
            SYSTEM_CLOCK.sleep(current_request().stop_for_wait(), 60.0)

    with Group(stop=stop) as group:
        group.start(wait, name="waiter")
        if ended == "lease":
            held.clear()
        else:
            stop.set()
        group.join(10)


def test_event_of_a_request_is_not_set_after_an_undisturbed_wait() -> None:
    with Checked(lambda: None):
        assert not SYSTEM_CLOCK.sleep(current_request().stop_for_wait(), 0.001)
