"""One time limit for all steps of a wait: list, watch, retries, and the events of the message."""

import json
import math
from contextlib import closing

import pytest

from clientgo.cache.watchtools import Interrupted, until
from clientgo.clock import SYSTEM_CLOCK
from clientgo.dynamic.waiting import EVENTS_TIMEOUT, WaitTimeout, wait_for
from clientgo.errors import ConnectionFailed, Forbidden
from clientgo.kubernetes.clients.core_v1 import PodClient
from clientgo.kubernetes.types.core_v1 import Pod
from clientgo.meta import ObjectMeta, to_dict
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.stop.stopping import is_stopping
from clientgo.testing.clock import FakeClock
from clientgo.testing.transport import FakeTransport, refusal, reply
from tests.rest.loopback import chunked, http, loopback

POD = Pod(metadata=ObjectMeta(name="a", namespace="ns", uid="u", resource_version="3"))
LIST = json.dumps(
    {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": [to_dict(POD)]}
).encode()
BUSY = http(b'{"kind":"Status","status":"Failure","code":429}', "429 Too Many Requests", "Retry-After: 200\r\n")

TIMEOUT, TOLERANCE = 0.4, 1.0


@pytest.mark.integration
@pytest.mark.parametrize(
    "script",
    [
        pytest.param((), id="silent before the list"),
        pytest.param((chunked(LIST[:20], end=False),), id="silent in the list"),
        pytest.param((BUSY,), id="Retry-After of the list"),
        pytest.param((http(LIST),), id="silent before the watch"),
        pytest.param((http(LIST), BUSY), id="Retry-After of the watch"),
        pytest.param((http(LIST), chunked(b"\n", end=False)), id="silent in the watch"),
        pytest.param((http(LIST), chunked(b"\n")), id="ended watches"),
    ],
)
def test_wait_ends_at_its_limit(script: tuple[bytes, ...]) -> None:
    began = SYSTEM_CLOCK.now()
    with loopback(script) as server, closing(RESTClient(Config(server.address))) as client:
        with pytest.raises(WaitTimeout, match=r"Pod ns/a: timed out after 0.4 s waiting for Ready"):
            wait_for(client, POD, timeout=TIMEOUT)
        assert SYSTEM_CLOCK.now() - began < TIMEOUT + EVENTS_TIMEOUT + TOLERANCE


@pytest.mark.integration
@pytest.mark.parametrize(
    "script",
    [
        pytest.param((), id="silent"),
        pytest.param((BUSY,), id="Retry-After"),
        pytest.param((chunked(b"\n", end=False),), id="silent watch"),
    ],
)
def test_condition_of_a_watch_is_awaited_no_longer_than_its_limit(script: tuple[bytes, ...]) -> None:
    began = SYSTEM_CLOCK.now()
    with loopback(script) as server, closing(RESTClient(Config(server.address))) as client:
        with pytest.raises(Interrupted):
            until([lambda _: True], PodClient(client, "ns"), "5", timeout=TIMEOUT)
        assert SYSTEM_CLOCK.now() - began < TIMEOUT + TOLERANCE
        assert not is_stopping()


def test_limit_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a timeout must be a number of seconds, got nan"):
        wait_for(RESTClient(Config("http://api"), transport=FakeTransport()), POD, POD, timeout=math.nan)


def test_objects_share_the_limit() -> None:
    clock, transport = FakeClock(auto=True), FakeTransport(*[refusal(503, retry_after=2)] * 9)
    with pytest.raises(WaitTimeout, match=r"timed out after 5 s waiting for Ready; conditions: none; last error: "):
        wait_for(RESTClient(Config("http://api"), transport=transport, clock=clock), POD, POD, timeout=5, clock=clock)
    assert (clock.now(), [sent.timeout for sent in transport.sent]) == (5.0, [5.0, 3.0, 1.0])


def test_failure_before_the_limit_is_raised() -> None:
    clock, transport = FakeClock(auto=True), FakeTransport(refusal(403))
    with pytest.raises(Forbidden):
        wait_for(RESTClient(Config("http://api"), transport=transport, clock=clock), POD, timeout=5, clock=clock)


def test_object_is_read_once_without_a_limit() -> None:
    transport = FakeTransport(reply(LIST), reply(LIST))
    client = RESTClient(Config("http://api"), transport=transport)
    with pytest.raises(WaitTimeout, match="timed out after 0 s waiting for Ready; conditions: none"):
        wait_for(client, POD, timeout=0)
    assert transport.sent[0].target.endswith("/pods?fieldSelector=metadata.name%3Da")


@pytest.mark.integration
def test_object_read_once_has_the_limit_of_the_configuration() -> None:
    with (
        loopback(()) as server,
        closing(RESTClient(Config(server.address, timeout=0.2))) as client,
        pytest.raises(ConnectionFailed),
    ):
        wait_for(client, POD, timeout=0)
