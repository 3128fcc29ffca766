"""Pauses before requests to a server that keeps failing, as the environment asks for them."""

import logging
import threading
from collections.abc import Mapping, Sequence

import pytest

from clientgo.errors import ApiError, ConnectionFailed
from clientgo.meta.objects import GroupVersionResource
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.request import Request
from clientgo.rest.urlbackoff import backoff_from
from clientgo.testing.clock import FakeClock
from clientgo.testing.transport import FakeStream, FakeTransport, dropped, refusal, reply

HOST = Config("http://api")
PODS = GroupVersionResource("", "v1", "pods")
GET = Request(verb="get", resource=PODS, namespace="ns", name="a")
WATCH = Request(verb="watch", resource=PODS)


def asked_for(base: str, duration: str) -> dict[str, str]:
    return {"KUBE_CLIENT_BACKOFF_BASE": base, "KUBE_CLIENT_BACKOFF_DURATION": duration}


def pauses(codes: Sequence[int], environ: Mapping[str, str]) -> list[float]:
    """How long a client waits before each of the requests that are answered by `codes`."""
    clock, waits = FakeClock(auto=True), []
    transport = FakeTransport(*[reply(b"{}", status=code) for code in codes])
    rest = RESTClient(HOST, transport=transport, clock=clock, environ=environ)
    for code in codes:
        before = clock.now()
        if code == 200:
            rest.do(GET)
        else:
            with pytest.raises(ApiError):
                rest.do(GET)
        waits.append(clock.now() - before)
    return waits


@pytest.mark.behaviour("RR-04")
@pytest.mark.feature("B-REST-04")
def test_pauses_double_until_the_server_is_well_again() -> None:
    codes = [504, 504, 504, 504, 200, 504, 504, 504, 200, 504]
    assert pauses(codes, asked_for("1", "200")) == [0, 1, 2, 4, 8, 0, 1, 2, 4, 0]


@pytest.mark.behaviour("RR-16")
def test_only_answers_of_a_server_in_trouble_count() -> None:
    codes = [429, 500, 501, 502, 300, 500, 501, 502, 200]
    assert pauses(codes, asked_for("1", "60")) == [0, 1, 2, 4, 8, 0, 1, 2, 4]


@pytest.mark.behaviour("RR-14")
@pytest.mark.parametrize(
    ("environ", "third"),
    [
        pytest.param(asked_for("1", "2"), 2.0, id="both"),
        pytest.param(asked_for("1", "0"), 0.0, id="no duration"),
        pytest.param({}, 0.0, id="unset"),
        pytest.param({"KUBE_CLIENT_BACKOFF_BASE": "1"}, 0.0, id="half"),
    ],
)
def test_the_environment_says_the_first_and_the_longest_pause(environ: Mapping[str, str], third: float) -> None:
    assert pauses([500, 500, 500], environ)[2] == third


def test_what_is_no_number_is_said_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "clientgo"):
        assert backoff_from(asked_for("1s", "2"), FakeClock()) is None
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["not whole seconds"]


def test_time_spent_on_a_retry_after_is_part_of_the_pause() -> None:
    clock = FakeClock(auto=True)
    transport = FakeTransport(refusal(503, retry_after=3), reply(b"{}"))
    RESTClient(HOST, transport=transport, clock=clock, environ=asked_for("5", "60")).do(GET)
    assert clock.slept == [3.0, 2.0]


def test_watches_pause_as_well_and_a_broken_connection_ends_the_pauses() -> None:
    clock = FakeClock(auto=True)
    transport = FakeTransport(reply(b"", status=500), reply(b"", status=500), dropped(), FakeStream(end=True))
    rest = RESTClient(HOST, transport=transport, clock=clock, max_retries=0, environ=asked_for("1", "60"))
    for _ in range(2):
        with pytest.raises(ApiError):
            rest.watch(WATCH)
    assert list(rest.watch(WATCH)) == []
    rest.watch(WATCH)
    assert clock.slept == [1.0, 2.0]


def test_stopping_ends_a_pause_and_nothing_is_sent() -> None:
    clock, stop = FakeClock(), threading.Event()
    transport = FakeTransport(reply(b"", status=500))
    rest = RESTClient(HOST, transport=transport, clock=clock, stop=stop, environ=asked_for("1", "60"))
    with pytest.raises(ApiError):
        rest.do(GET)
    stop.set()
    with pytest.raises(ConnectionFailed, match="stopping") as failed:
        rest.do(GET)
    assert not failed.value.sent
    assert len(transport.sent) == 1
    rest.close()
    assert transport.closed
