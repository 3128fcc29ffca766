"""Logs, eviction and binding of pods."""

import threading
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest

from clientgo.errors import BadRequest, ConnectionFailed, LeaseNotHeld, MethodNotAllowed, NotFound, TooManyRequests
from clientgo.kubernetes.clients.core_v1 import CoreV1, PodClient
from clientgo.manager.requesters import LimitedRequester, ReconciliationTimeout, ValidatingRequester, limited
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.fence import FencedRequester
from clientgo.rest.request import Requester
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.fake import FakeRequester
from clientgo.testing.transport import FakeStream, FakeTransport, refusal, reply
from clientgo.typed import DeleteOptions
from clientgo.typed.pods import MAX_LINE
from tests.rest.loopback import chunked, loopback
from tests.typed.recorder import Recorder

LOG = "/api/v1/namespaces/ns/pods/web/log"
ACCEPTED = {"kind": "Status", "status": "Success", "code": 201}


def client(transport: FakeTransport, *, clock: FakeClock | None = None) -> RESTClient:
    return RESTClient(Config("http://api"), transport=transport, clock=clock or FakeClock(auto=True))


def pods(requester: Requester) -> PodClient:
    return CoreV1(requester).pods("ns")


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([], []),
        ([b"a\nb\n"], [b"a", b"b"]),
        ([b"a", b"b\n", b"\n", b"c"], [b"ab", b"", b"c"]),
        ([b"a\r\n\xff\x00"], [b"a\r", b"\xff\x00"]),
    ],
    ids=["nothing", "whole lines", "cut lines", "any bytes"],
)
def test_log_is_read_by_lines(chunks: list[bytes], lines: list[bytes]) -> None:
    with pods(client(FakeTransport(FakeStream(*chunks, end=True)))).logs("web") as log:
        assert list(log) == lines


def test_endless_line_arrives_in_pieces() -> None:
    half = b"x" * (MAX_LINE // 2)
    with pods(client(FakeTransport(FakeStream(*[half] * 5, b"\n" + half * 3, end=True)))).logs("web") as log:
        assert [len(line) for line in log] == [MAX_LINE, MAX_LINE, MAX_LINE // 2, MAX_LINE, MAX_LINE // 2]


def test_log_is_read_as_it_arrives() -> None:
    with pods(client(FakeTransport(FakeStream(b"a\nb", b"c", end=True)))).logs("web") as log:
        assert list(log.chunks()) == [b"a\nb", b"c"]


def test_options_of_a_log_are_asked_for_as_the_api_names_them() -> None:
    transport = FakeTransport(reply(b""), reply(b""))
    since = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2)))
    pods(client(transport)).logs("web")
    pods(client(transport)).logs(
        "web", container="c", follow=True, previous=True, timestamps=True, tail_lines=0, limit_bytes=10,
        since_time=since, insecure_skip_tls_verify_backend=True,
    )  # fmt: skip
    plain, full = (sent.target for sent in transport.sent)
    assert plain == LOG
    assert full == (
        f"{LOG}?container=c&follow=true&previous=true&timestamps=true&tailLines=0&limitBytes=10"
        "&sinceTime=2026-01-02T01%3A04%3A05Z&insecureSkipTLSVerifyBackend=true"
    )


def test_time_without_a_zone_is_invalid() -> None:
    since = datetime.now(UTC).replace(tzinfo=None)
    with pytest.raises(ValueError, match=r"invalid time datetime.*expected one with a time zone"):
        pods(client(FakeTransport())).logs("web", since_time=since)


@pytest.mark.parametrize("kind", [NotFound, BadRequest])
def test_log_the_server_does_not_give_is_an_error(kind: type[NotFound | BadRequest]) -> None:
    with pytest.raises(kind, match="no log"):
        pods(client(FakeTransport(refusal(kind.code, kind.reasons[0], "no log")))).logs("web")


def test_opening_a_log_is_retried_and_reading_it_is_not() -> None:
    stream = FakeStream(b"a\n")
    stream.drop()
    transport = FakeTransport(refusal(429, retry_after=1), stream)
    with pods(client(transport)).logs("web") as log:
        lines = iter(log)
        assert next(lines) == b"a"
        with pytest.raises(ConnectionFailed):
            next(lines)
    assert len(transport.sent) == 2


@pytest.mark.integration
def test_closing_a_silent_log_wakes_its_reader() -> None:
    with loopback([chunked(b"a\nb", end=False)]) as server:
        log, lines, begun = pods(RESTClient(Config(server.address))).logs("web", follow=True), [], threading.Event()

        def read() -> None:
            for line in log:
                lines.append(line)
                begun.set()

        with Group() as group:
            group.start(read, name="reader")
            assert begun.wait(10)
            log.close()
            group.join(10)
        assert server.ended.wait(10)
    assert lines == [b"a", b"b"]


def test_log_of_all_namespaces_is_invalid() -> None:
    with pytest.raises(BadRequest, match="a namespace must be given"):
        CoreV1(client(FakeTransport())).pods().logs("web")


def test_log_needs_a_requester_that_streams() -> None:
    with pytest.raises(TypeError, match="cannot stream"):
        pods(Recorder()).logs("web")


def test_log_is_read_through_the_requesters_of_a_manager() -> None:
    clock, may_write = FakeClock(auto=True), threading.Event()
    transport = FakeTransport(FakeStream(b"a\n", end=True))
    requester = LimitedRequester(client(transport, clock=clock))
    fenced = pods(ValidatingRequester(FencedRequester(requester, may_write.is_set), "Strict"))
    with limited(1.0, clock=clock), fenced.logs("web") as log:
        assert list(log) == [b"a"]
        with pytest.raises(LeaseNotHeld):
            fenced.evict("web")
        clock.step(1.0)
        with pytest.raises(ReconciliationTimeout):
            fenced.logs("web")


@pytest.mark.parametrize("response", [b"a\nb", FakeStream(b"a\n", b"b", end=True)], ids=["bytes", "stream"])
def test_fake_gives_the_log_of_a_reactor(response: bytes | FakeStream) -> None:
    fake = FakeRequester()
    with pytest.raises(MethodNotAllowed, match="the fake does not support pods/log"):
        pods(fake).logs("web")
    fake.prepend_reactor("get", "pods/log", lambda _: (True, response))
    with pods(fake).logs("web", container="c") as log:
        assert list(log) == [b"a", b"b"]
    action = fake.actions[-1]
    assert (action.verb, action.name, action.subresource) == ("get", "web", "log")
    assert action.options["container"] == "c"


def test_fake_rejects_a_log_that_is_neither_bytes_nor_a_stream() -> None:
    fake = FakeRequester()
    fake.prepend_reactor("get", "pods/log", lambda _: (True, "text"))
    with pytest.raises(TypeError, match="neither bytes nor a FakeStream: 'text'"):
        pods(fake).logs("web")


def test_pod_is_evicted_with_options() -> None:
    recorder = Recorder(ACCEPTED, ACCEPTED)
    pods(recorder).evict("web")
    pods(recorder).evict("web", DeleteOptions(grace_period_seconds=5), dry_run=True)
    plain, full = recorder.requests
    assert (plain.verb, plain.path, plain.query) == ("create", "/api/v1/namespaces/ns/pods/web/eviction", {})
    assert msgspec.json.decode(plain.body or b"") == {
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"},
    }  # fmt: skip
    assert full.query == {"dryRun": "All"}
    assert msgspec.json.decode(full.body or b"")["deleteOptions"] == {"gracePeriodSeconds": 5}


def test_eviction_that_a_disruption_budget_forbids_is_an_error() -> None:
    with pytest.raises(TooManyRequests):
        pods(Recorder(TooManyRequests("the budget needs 1 healthy pod"))).evict("web")


def test_pod_is_bound_to_a_node() -> None:
    recorder = Recorder(ACCEPTED, ACCEPTED)
    pods(recorder).bind("web", "node-1")
    pods(recorder).bind("web", "node-1", uid="u")
    plain, full = recorder.requests
    assert (plain.verb, plain.path) == ("create", "/api/v1/namespaces/ns/pods/web/binding")
    assert msgspec.json.decode(plain.body or b"") == {
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "web"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "node-1"},
    }  # fmt: skip
    assert msgspec.json.decode(full.body or b"")["metadata"] == {"name": "web", "uid": "u"}
