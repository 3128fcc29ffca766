"""Requests as the API wants them, answers as callers want them, and retries in between."""

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from clientgo import metrics
from clientgo.errors import (
    ApiError,
    BadRequest,
    ConnectionFailed,
    Forbidden,
    InternalError,
    NotFound,
    TooManyRequests,
    Unauthorized,
)
from clientgo.lifecycle import Group
from clientgo.meta.objects import GroupVersionResource
from clientgo.rest.client import RESTClient, default_user_agent
from clientgo.rest.config import Config, Impersonation
from clientgo.rest.notices import warnings_in
from clientgo.rest.request import APPLY_PATCH, MERGE_PATCH, Request
from clientgo.testing.clock import FakeClock
from clientgo.testing.transport import FakeStream, FakeTransport, dropped, refusal, refused, reply, timed_out

PODS = GroupVersionResource("", "v1", "pods")
FOOS = GroupVersionResource("samplecontroller.k8s.io", "v1alpha1", "foos")
HOST = Config("http://api")
LIST = Request(verb="list", resource=PODS, namespace="default")
CREATE = Request(verb="create", resource=PODS, namespace="default", body=b"x" * 4000)
WATCH = Request(verb="watch", resource=PODS)


def client(transport: FakeTransport, config: Config = HOST, *, max_retries: int = 10) -> RESTClient:
    return RESTClient(config, transport=transport, clock=FakeClock(auto=True), max_retries=max_retries)


def test_a_request_becomes_method_path_query_and_body() -> None:
    transport = FakeTransport(reply(b"{}"), reply(b"{}"), reply(b"{}"))
    rest = client(transport)
    rest.do(Request(verb="get", resource=FOOS, namespace="ns", name="a", subresource="status"))
    rest.do(replace(LIST, query={"labelSelector": "a in (b,c)", "limit": "500"}))
    patch = {"verb": "patch", "content_type": MERGE_PATCH, "query": {"fieldManager": "me"}}
    rest.do(Request(resource=FOOS, namespace="ns", name="a", body=b"{}", **patch))  # type: ignore[arg-type]
    assert [(s.method, s.target) for s in transport.sent] == [
        ("GET", "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/ns/foos/a/status"),
        ("GET", "/api/v1/namespaces/default/pods?labelSelector=a+in+%28b%2Cc%29&limit=500"),
        ("PATCH", "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/ns/foos/a?fieldManager=me"),
    ]
    assert transport.sent[2].header("Content-Type") == MERGE_PATCH
    assert transport.sent[2].body == b"{}"


def test_headers_say_who_asks_and_what_is_understood() -> None:
    transport = FakeTransport(reply(b"{}"), reply(b"{}"))
    who = Impersonation("jane", "7", ("dev", "ops"), {"why/so": ("a", "b")})
    rest = client(transport, replace(HOST, token="t", impersonate=who, user_agent="me/1"))
    rest.do(LIST)
    assert transport.sent[0].headers == (
        ("Accept", "application/json"),
        ("Authorization", "Bearer t"),
        ("Accept-Encoding", "gzip"),
        ("User-Agent", "me/1"),
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-why%2Fso", "a"),
        ("Impersonate-Extra-why%2Fso", "b"),
    )


def test_compression_can_be_declined() -> None:
    transport = FakeTransport(reply(b"{}"))
    client(transport, replace(HOST, disable_compression=True)).do(LIST)
    assert transport.sent[0].header("Accept-Encoding") == ""


def test_the_user_agent_names_library_and_machine() -> None:
    assert default_user_agent().startswith("clientgo/0.")
    assert default_user_agent().split(" ")[1].startswith("(")


@pytest.mark.feature("B-REST-05")
def test_a_timeout_is_kept_here_and_asked_of_the_server() -> None:
    transport = FakeTransport(reply(b"{}"), reply(b"{}"), FakeStream(end=True))
    rest = client(transport, replace(HOST, timeout=10.0))
    rest.do(LIST)
    rest.do(replace(LIST, query={"limit": "1"}))
    rest.watch(WATCH)
    assert [s.target for s in transport.sent] == [
        "/api/v1/namespaces/default/pods?timeout=10s",
        "/api/v1/namespaces/default/pods?limit=1&timeout=10s",
        "/api/v1/pods?watch=true",
    ]
    assert {s.timeout for s in transport.sent} == {10.0}


@pytest.mark.parametrize("name", ["..", ".", "a/b", "a%2fb"])
def test_a_name_that_leads_elsewhere_is_not_sent(name: str) -> None:
    transport = FakeTransport()
    with pytest.raises(BadRequest, match="invalid resource name"):
        client(transport).do(Request(verb="delete", resource=PODS, namespace="ns", name=name))
    assert transport.sent == []


@pytest.mark.parametrize("verb", ["get", "update", "patch", "apply", "delete"])
def test_an_empty_name_is_not_sent_lest_a_collection_be_deleted(verb: str) -> None:
    with pytest.raises(BadRequest, match="may not be empty"):
        client(FakeTransport()).do(Request(verb=verb, resource=PODS, namespace="ns"))


def test_an_odd_name_is_quoted() -> None:
    transport = FakeTransport(reply(b"{}"))
    client(transport).do(Request(verb="get", resource=PODS, namespace="ns", name="a b?c#d"))
    assert transport.sent[0].target == "/api/v1/namespaces/ns/pods/a%20b%3Fc%23d"


def test_a_refusal_is_the_error_it_stands_for() -> None:
    transport = FakeTransport(refusal(404, "NotFound", 'pods "x" not found'))
    with pytest.raises(NotFound, match='pods "x" not found'):
        client(transport).do(Request(verb="get", resource=PODS, namespace="ns", name="x"))


@pytest.mark.parametrize("status", [302, 304])
def test_a_redirect_is_an_error_too(status: int) -> None:
    with pytest.raises(ApiError) as failed:
        client(FakeTransport(reply(b"", status=status))).do(LIST)
    assert failed.value.code == status


def test_any_path_can_be_asked_raw() -> None:
    transport = FakeTransport(reply(b"ok"))
    assert client(transport).raw("GET", "/healthz", query={"verbose": ""}, accept="text/plain") == b"ok"
    assert transport.sent[0].target == "/healthz?verbose="
    assert transport.sent[0].header("Accept") == "text/plain"


@pytest.mark.behaviour("RR-05")
def test_a_throttled_write_is_sent_again_whole_when_the_server_says() -> None:
    transport = FakeTransport(*[refusal(429, retry_after=1)] * 4, reply(b"done"))
    clock = FakeClock(auto=True)
    assert RESTClient(HOST, transport=transport, clock=clock).do(CREATE) == b"done"
    assert [s.body for s in transport.sent] == [b"x" * 4000] * 5
    assert clock.slept == [1, 1, 1, 1]


@pytest.mark.behaviour("RR-07")
def test_every_code_with_retry_after_is_retried() -> None:
    transport = FakeTransport(*[refusal(code, retry_after=0) for code in (429, 500, 501, 504)], reply(b"done"))
    assert client(transport).do(CREATE) == b"done"
    assert [s.body for s in transport.sent] == [b"x" * 4000] * 5


@pytest.mark.behaviour("RR-08")
@pytest.mark.parametrize(("limit", "works"), [(0, False), (1, True), (5, True)])
def test_the_number_of_retries_is_limited(limit: int, works: bool) -> None:
    rest = client(FakeTransport(refusal(429, retry_after=1), reply(b"ok")), max_retries=limit)
    if works:
        assert rest.do(LIST) == b"ok"
    else:
        with pytest.raises(TooManyRequests) as failed:
            rest.do(LIST)
        assert failed.value.retry_after == 1.0


def test_ten_retries_are_made_by_default() -> None:
    transport = FakeTransport(*[refusal(503, retry_after=1)] * 20)
    with pytest.raises(ApiError):
        client(transport).do(LIST)
    assert len(transport.sent) == 11


@pytest.mark.behaviour("RR-09")
def test_a_read_whose_connection_broke_is_repeated_and_then_fails_as_it_did() -> None:
    transport = FakeTransport(dropped(), dropped())
    with pytest.raises(ConnectionFailed, match="closed the connection"):
        client(transport, max_retries=1).do(LIST)
    assert len(transport.sent) == 2


@pytest.mark.parametrize("step", [dropped(), refused(), timed_out()], ids=["dropped", "refused", "timed out"])
def test_a_write_is_never_repeated_after_a_failure(step: ConnectionFailed) -> None:
    transport = FakeTransport(step, reply(b"ok"))
    with pytest.raises(ConnectionFailed) as failed:
        client(transport).do(CREATE)
    assert (failed.value.sent, failed.value.refused, failed.value.timeout) == (step.sent, step.refused, step.timeout)
    assert len(transport.sent) == 1


def test_waiting_for_a_retry_ends_when_stopped() -> None:
    clock, stop = FakeClock(), threading.Event()
    transport = FakeTransport(refusal(429, retry_after=1000), reply(b"too late"))
    rest = RESTClient(HOST, transport=transport, clock=clock, stop=stop)
    outcome: list[str] = []

    def ask() -> None:
        try:
            rest.do(LIST)
        except TooManyRequests as error:
            outcome.append(error.reason)

    group = Group()
    group.start(ask, name="asker")
    clock.wait_for_waiters()
    stop.set()
    group.join(5)
    assert outcome == ["TooManyRequests"]
    assert len(transport.sent) == 1


def test_after_401_renewed_credentials_are_used_on_new_connections(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("sa") / "token"
    path.write_text("old")
    transport = FakeTransport(refusal(401, "Unauthorized"), reply(b"{}"))
    rest = client(transport, replace(HOST, token_file=str(path)))
    path.write_text("new")
    with pytest.raises(Unauthorized):
        rest.do(LIST)
    rest.do(LIST)
    assert [s.header("Authorization") for s in transport.sent] == ["Bearer old", "Bearer new"]


@pytest.mark.feature("B-REST-07")
def test_warnings_go_to_the_handler() -> None:
    said: list[str] = []
    headers = {"Warning": '299 - "v1 ComponentStatus is \\"deprecated\\", really", 199 - "cache", 299 - "two"'}
    transport = FakeTransport(reply(b"{}", headers=headers), refusal(404))
    rest = RESTClient(HOST, transport=transport, on_warning=said.append)
    assert rest.do(LIST) == b"{}"
    assert said == ['v1 ComponentStatus is "deprecated", really', "two"]


def test_warnings_are_logged_once_by_default(caplog: pytest.LogCaptureFixture) -> None:
    transport = FakeTransport(*[reply(b"{}", headers={"Warning": '299 - "old"'})] * 3)
    rest = client(transport)
    with caplog.at_level(logging.WARNING, "clientgo"):
        for _ in range(3):
            rest.do(LIST)
    assert len(caplog.records) == 1


@pytest.mark.parametrize("header", ["", "299", '299 - "cut', "nonsense"])
def test_a_garbled_warning_is_none(header: str) -> None:
    assert warnings_in(header) == []


def test_a_watch_gives_frames_until_the_server_ends_it() -> None:
    stream = FakeStream()
    stream.event("ADDED", {"a": 1})
    stream.event("BOOKMARK", {})
    stream.end()
    transport = FakeTransport(stream)
    assert [e.type for e in client(transport).watch(WATCH)] == ["ADDED", "BOOKMARK"]
    assert transport.sent[0].streamed
    assert transport.sent[0].header("Accept-Encoding") == ""


@pytest.mark.behaviour("RR-11")
@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        pytest.param(403, Forbidden, "secrets is forbidden", id="403"),
        pytest.param(403, Forbidden, None, id="403 without body"),
        pytest.param(401, Unauthorized, None, id="401 without body"),
    ],
)
def test_a_watch_refused_is_the_error(code: int, error: type[ApiError], words: str | None) -> None:
    answer = refusal(code, error.__name__, words) if words else reply(b"", status=code)
    with pytest.raises(error, match=words):
        client(FakeTransport(answer)).watch(WATCH)


@pytest.mark.behaviour("RR-11")
@pytest.mark.parametrize("limit", [0, 2])
def test_a_connection_that_ends_while_a_watch_is_opened_is_an_empty_watch(limit: int) -> None:
    transport = FakeTransport(*[dropped()] * 5)
    watch = client(transport, max_retries=limit).watch(WATCH)
    assert list(watch) == []
    watch.close()
    assert len(transport.sent) == limit + 1


@pytest.mark.behaviour("RR-11")
def test_a_watch_the_server_can_not_open_yet_is_tried_again_and_then_the_error() -> None:
    transport = FakeTransport(*[refusal(500, "InternalError", retry_after=1)] * 3)
    with pytest.raises(InternalError):
        client(transport, max_retries=2).watch(WATCH)
    assert len(transport.sent) == 3


@pytest.mark.parametrize("step", [refused(), timed_out()], ids=["refused", "timed out"])
def test_a_watch_on_a_server_that_is_not_there_fails_at_once(step: ConnectionFailed) -> None:
    transport = FakeTransport(step)
    with pytest.raises(ConnectionFailed):
        client(transport).watch(WATCH)


def test_a_silent_watch_ends_as_lost() -> None:
    clock = FakeClock(auto=True)
    watch = client(FakeTransport(FakeStream(clock=clock)), replace(HOST, watch_idle_timeout=120.0)).watch(WATCH)
    with pytest.raises(ConnectionFailed, match="silent for 120 s") as failed:
        list(watch)
    assert failed.value.timeout
    assert clock.now() == 120.0


def test_a_throttle_holds_requests_and_not_watches() -> None:
    clock = FakeClock(auto=True)
    transport = FakeTransport(*[reply(b"{}")] * 4, FakeStream(end=True))
    rest = RESTClient(replace(HOST, qps=2.0, burst=2), transport=transport, clock=clock)
    for _ in range(4):
        rest.do(LIST)
    assert clock.now() == 1.0
    rest.watch(WATCH)
    assert clock.now() == 1.0


class Counting:
    """A metrics provider that keeps what it is given, by name and labels."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, tuple[str, ...]], list[float]] = {}
        self.labels: dict[str, tuple[str, ...]] = {}

    def counter(self, name: str, help_text: str, labels: Mapping[str, str]) -> "Kept":
        self.labels[name] = tuple(labels)
        return Kept(self.seen.setdefault((name, tuple(labels.values())), []))

    def gauge(self, name: str, help_text: str, labels: Mapping[str, str]) -> "Kept":
        return self.counter(name, help_text, labels)

    def histogram(self, name: str, help_text: str, labels: Mapping[str, str], *, buckets: Sequence[float]) -> "Kept":
        assert list(buckets) == sorted(buckets)
        return self.counter(name, help_text, labels)


class Kept:
    def __init__(self, values: list[float]) -> None:
        self.values = values

    def inc(self, amount: float = 1.0) -> None:
        self.values.append(amount)

    dec = set = observe = inc


@pytest.mark.feature("B-REST-15")
def test_requests_are_counted_under_client_gos_names() -> None:
    kept, before = Counting(), metrics.provider()
    metrics.set_provider(kept)
    try:
        transport = FakeTransport(refusal(429, retry_after=1), dropped(), reply(b"12345"), FakeStream(end=True))
        rest = client(transport)
    finally:
        metrics.set_provider(before)
    rest.do(replace(LIST))
    rest.watch(WATCH)
    requests = {
        labels: len(values) for (name, labels), values in kept.seen.items() if name == "rest_client_requests_total"
    }
    assert requests == {("429", "GET", "api"): 1, ("<error>", "GET", "api"): 1, ("200", "GET", "api"): 2}
    retries = {labels for name, labels in kept.seen if name == "rest_client_request_retries_total"}
    assert retries == {("429", "GET", "api"), ("<error>", "GET", "api")}
    assert kept.seen["rest_client_response_size_bytes", ("GET", "api")][2] == 5.0
    assert kept.labels["rest_client_requests_total"] == ("code", "method", "host")
    assert kept.labels["rest_client_request_duration_seconds"] == ("verb", "host")


def test_an_apply_is_a_patch() -> None:
    transport = FakeTransport(reply(b"{}"))
    apply = Request(verb="apply", resource=PODS, namespace="n", name="a", body=b"{}", content_type=APPLY_PATCH)
    client(transport).do(apply)
    assert transport.sent[0].method == "PATCH"


def test_closing_closes_the_transport() -> None:
    transport = FakeTransport()
    client(transport).close()
    assert transport.closed
