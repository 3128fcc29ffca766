"""RESTClient: requests, headers, errors, warnings, rate limiting and metrics."""

import logging
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from clientgo.errors import ApiError, BadRequest, CallbackFailed, ConfigError, NotFound, Unauthorized
from clientgo.meta import GroupVersionResource, replace
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config, Impersonation
from clientgo.rest.fence import FencedRequester
from clientgo.rest.flowcontrol import TokenBucketRateLimiter
from clientgo.rest.headers import default_user_agent, warnings_in
from clientgo.rest.request import APPLY_PATCH, MERGE_PATCH, METADATA, METADATA_LIST, Request
from clientgo.testing.clock import FakeClock
from clientgo.testing.metrics import recorded_metrics
from clientgo.testing.transport import FakeStream, FakeTransport, dropped, refusal, reply
from clientgo.version import VERSION

PODS = GroupVersionResource("", "v1", "pods")
FOOS = GroupVersionResource("samplecontroller.k8s.io", "v1alpha1", "foos")
HOST = Config("http://api")
LIST = Request(verb="list", resource=PODS, namespace="default")
CREATE = Request(verb="create", resource=PODS, namespace="default", body=b"x" * 4000)
WATCH = Request(verb="watch", resource=PODS)


def client(transport: FakeTransport, config: Config = HOST, *, max_retries: int = 10) -> RESTClient:
    return RESTClient(config, transport=transport, clock=FakeClock(auto=True), max_retries=max_retries)


def test_request_becomes_method_path_query_and_body() -> None:
    transport = FakeTransport(reply(b"{}"), reply(b"{}"), reply(b"{}"))
    rest_client = client(transport)
    rest_client.do(Request(verb="get", resource=FOOS, namespace="ns", name="a", subresource="status"))
    rest_client.do(replace(LIST, query={"labelSelector": "a in (b,c)", "limit": "500"}))
    patch = {"verb": "patch", "content_type": MERGE_PATCH, "query": {"fieldManager": "me"}}
    rest_client.do(Request(resource=FOOS, namespace="ns", name="a", body=b"{}", **patch))  # type: ignore[arg-type]
    assert [(s.method, s.target) for s in transport.sent] == [
        ("GET", "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/ns/foos/a/status"),
        ("GET", "/api/v1/namespaces/default/pods?labelSelector=a+in+%28b%2Cc%29&limit=500"),
        ("PATCH", "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/ns/foos/a?fieldManager=me"),
    ]
    assert transport.sent[2].header("Content-Type") == MERGE_PATCH
    assert transport.sent[2].body == b"{}"


def test_repr_of_a_request_shows_no_body() -> None:
    request = Request(verb="create", resource=PODS, namespace="ns", body=b"secret", query={"dryRun": "All"})
    assert repr(request) == "<Request create /api/v1/namespaces/ns/pods {'dryRun': 'All'}, 6 bytes>"


@pytest.mark.feature("B-REST-08")
def test_headers_contain_credentials_user_agent_and_accept() -> None:
    transport = FakeTransport(reply(b"{}"), reply(b"{}"))
    who = Impersonation("jane", "7", ("dev", "ops"), {"why/so": ("a", "b"), "my kéy%": ("c",)})
    rest_client = client(transport, replace(HOST, token="t", impersonate=who, user_agent="me/1"))
    rest_client.do(LIST)
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
        ("Impersonate-Extra-my%20k%C3%A9y%25", "c"),
    )


@pytest.mark.feature("B-REST-13")
def test_compression_can_be_declined() -> None:
    transport = FakeTransport(reply(b"{}"))
    client(transport, replace(HOST, disable_compression=True)).do(LIST)
    assert transport.sent[0].header("Accept-Encoding") == ""


@pytest.mark.feature("B-REST-06")
@pytest.mark.parametrize(
    ("path", "program"),
    [
        ("/app/main.py", "main"),
        ("/usr/bin/sample-controller", "sample-controller"),
        ("/src/my operator/__main__.py", "myoperator"),
        ("-c", "python"),
        ("", "python"),
    ],
)
def test_the_user_agent_names_program_machine_and_library(path: str, program: str) -> None:
    agent = re.escape(f"{program}/{VERSION} ") + r"\(\w+/\w+\) " + re.escape(f"clientgo/{VERSION}")
    assert re.fullmatch(agent, default_user_agent(path))


@pytest.mark.parametrize("text", ["a\r\nX-Evil: 1", "a\0", "a\udcff"])
def test_configured_header_that_cannot_be_sent_is_a_configuration_error(text: str) -> None:
    for config in (
        replace(HOST, user_agent=text),
        replace(HOST, impersonate=Impersonation(text)),
        replace(HOST, impersonate=Impersonation("jane", extra={text: ("a",)})),
    ):
        with pytest.raises(ConfigError, match=r"invalid (User-Agent|Impersonate-\w+) '"):
            client(FakeTransport(), config)


def test_program_without_a_name_is_named_python() -> None:
    transport = FakeTransport(reply(b"{}"))
    client(transport).do(LIST)
    assert transport.sent[0].header("User-Agent") == default_user_agent()
    assert default_user_agent() == default_user_agent(sys.argv[0])


@pytest.mark.feature("B-REST-05", "A-06")
@pytest.mark.feature("B-REST-13")
def test_accept_header_defaults_to_json() -> None:
    transport = FakeTransport(reply(b"{}"), FakeStream(end=True), reply(b"{}"))
    rest_client = client(transport)
    rest_client.do(replace(LIST, accept=METADATA_LIST))
    rest_client.watch(replace(WATCH, accept=METADATA)).close()
    rest_client.do(LIST)
    assert [sent.header("accept") for sent in transport.sent] == [METADATA_LIST, METADATA, "application/json"]


def test_timeout_is_applied_and_sent_to_the_server() -> None:
    transport = FakeTransport(reply(b"{}"), reply(b"{}"), FakeStream(end=True))
    rest_client = client(transport, replace(HOST, timeout=10.0))
    rest_client.do(LIST)
    rest_client.do(replace(LIST, query={"limit": "1"}))
    rest_client.watch(WATCH)
    assert [s.target for s in transport.sent] == [
        "/api/v1/namespaces/default/pods?timeout=10s",
        "/api/v1/namespaces/default/pods?limit=1&timeout=10s",
        "/api/v1/pods?watch=true",
    ]
    assert {s.timeout for s in transport.sent} == {10.0}


@pytest.mark.feature("B-REST-05")
def test_request_may_have_its_own_timeout() -> None:
    transport = FakeTransport(reply(b"{}"), reply(b"{}"), FakeStream(end=True))
    rest_client = client(transport, replace(HOST, timeout=10.0))
    rest_client.do(replace(LIST, timeout=0.25))
    rest_client.do(replace(LIST, timeout=10_000_000.0, query={"limit": "1"}))
    rest_client.watch(replace(WATCH, timeout=3.0))
    assert [(s.target.partition("?")[2], s.timeout) for s in transport.sent] == [
        ("timeout=0.25s", 0.25),
        ("limit=1&timeout=10000000s", 10_000_000.0),
        ("watch=true", 3.0),
    ]


@pytest.mark.parametrize("verb", ["get", "update", "patch", "apply", "delete"])
def test_empty_name_is_rejected(verb: str) -> None:
    with pytest.raises(BadRequest, match="may not be empty"):
        client(FakeTransport()).do(Request(verb=verb, resource=PODS, namespace="ns"))


def test_unusual_name_is_quoted() -> None:
    transport = FakeTransport(reply(b"{}"))
    client(transport).do(Request(verb="get", resource=PODS, namespace="ns", name="a b?c#d"))
    assert transport.sent[0].target == "/api/v1/namespaces/ns/pods/a%20b%3Fc%23d"


@pytest.mark.feature("B-REST-11")
def test_error_response_raises_its_error() -> None:
    transport = FakeTransport(refusal(404, "NotFound", 'pods "x" not found'))
    with pytest.raises(NotFound, match='pods "x" not found'):
        client(transport).do(Request(verb="get", resource=PODS, namespace="ns", name="x"))


@pytest.mark.parametrize("status", [302, 304])
def test_redirect_of_a_write_is_an_error(status: int) -> None:
    with pytest.raises(ApiError) as failed:
        client(FakeTransport(reply(b"", status=status))).do(LIST)
    assert failed.value.code == status


def test_raw_requests_any_path() -> None:
    transport = FakeTransport(reply(b"ok"))
    assert client(transport).raw("GET", "/healthz", query={"verbose": ""}, accept="text/plain") == b"ok"
    assert transport.sent[0].target == "/healthz?verbose="
    assert transport.sent[0].header("Accept") == "text/plain"


@pytest.mark.parametrize("request_", [LIST, CREATE, WATCH], ids=lambda request: request.verb)
def test_request_with_a_replaced_token_is_sent_once_more_after_401(request_: Request, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("old")
    streams = request_.verb == "watch"
    transport = FakeTransport(refusal(401, "Unauthorized"), FakeStream() if streams else reply(b"{}"))
    rest_client = client(transport, replace(HOST, token_file=str(path)))
    path.write_text("new")
    if streams:
        rest_client.watch(request_).close()
    else:
        assert rest_client.do(request_) == b"{}"
    assert [s.header("Authorization") for s in transport.sent] == ["Bearer old", "Bearer new"]
    assert transport.resets == 1


def test_second_401_is_raised(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("old")
    transport = FakeTransport(*[refusal(401, "Unauthorized")] * 2)
    rest_client = client(transport, replace(HOST, token_file=str(path)))
    path.write_text("new")
    with pytest.raises(Unauthorized):
        rest_client.do(CREATE)
    assert len(transport.sent) == 2


def test_401_to_credentials_that_never_change_is_raised_at_once() -> None:
    transport = FakeTransport(refusal(401, "Unauthorized"))
    with pytest.raises(Unauthorized):
        client(transport, replace(HOST, token="t")).do(LIST)


@pytest.mark.feature("B-REST-08")
@pytest.mark.parametrize(("config", "resets"), [(replace(HOST, client_certificate_file="c.pem"), 1), (HOST, 0)])
def test_certificate_file_is_read_again_after_401(config: Config, resets: int) -> None:
    transport = FakeTransport(refusal(401, "Unauthorized"))
    with pytest.raises(Unauthorized):
        client(transport, config).do(LIST)
    assert transport.resets == resets


@pytest.mark.feature("B-REST-07")
def test_warnings_are_passed_to_the_handler() -> None:
    printed: list[str] = []
    headers = {"Warning": '299 - "v1 ComponentStatus is \\"deprecated\\", really", 199 - "cache", 299 - "two"'}
    transport = FakeTransport(reply(b"{}", headers=headers), refusal(404))
    restclient = RESTClient(HOST, transport=transport, on_warning=printed.append)
    assert restclient.do(LIST) == b"{}"
    assert printed == ['v1 ComponentStatus is "deprecated", really', "two"]


def raises(*_: object, **__: object) -> Any:
    raise SystemExit("of the program")


def test_handler_of_warnings_that_raises_does_not_fail_the_request(caplog: pytest.LogCaptureFixture) -> None:
    transport = FakeTransport(reply(b"done", headers={"Warning": '299 - "one", 299 - "two"'}))
    assert RESTClient(HOST, transport=transport, on_warning=raises).do(CREATE) == b"done"
    assert [record.msg for record in caplog.records] == ["the handler of warnings raised"] * 2


def test_request_is_not_sent_if_the_rate_limiter_or_the_fence_raises() -> None:
    class Broken(TokenBucketRateLimiter):
        wait = raises

    transport = FakeTransport()
    limited = RESTClient(HOST, transport=transport, rate_limiter=Broken(1.0, 1))
    for requester in (limited, FencedRequester(RESTClient(HOST, transport=transport), raises)):
        with pytest.raises(CallbackFailed, match="SystemExit: of the program"):
            requester.do(CREATE)
    assert transport.sent == []


def test_warnings_are_logged_once_by_default(caplog: pytest.LogCaptureFixture) -> None:
    transport = FakeTransport(*[reply(b"{}", headers={"Warning": '299 - "old"'})] * 3)
    rest_client = client(transport)
    with caplog.at_level(logging.WARNING, "clientgo"):
        for _ in range(3):
            rest_client.do(LIST)
    assert len(caplog.records) == 1


@pytest.mark.parametrize("header", ["", "299", '299 - "cut', "nonsense", '299 - ""'])
def test_invalid_or_empty_warning_is_ignored(header: str) -> None:
    assert warnings_in(header) == []


def test_rate_limiter_delays_requests_but_not_watches() -> None:
    clock = FakeClock(auto=True)
    transport = FakeTransport(*[reply(b"{}")] * 4, FakeStream(end=True))
    restclient = RESTClient(replace(HOST, qps=2.0, burst=2), transport=transport, clock=clock)
    for _ in range(4):
        restclient.do(LIST)
    assert clock.now() == 1.0
    restclient.watch(WATCH)
    assert clock.now() == 1.0


@pytest.mark.behaviour("RR-13")
@pytest.mark.feature("B-REST-01")
@pytest.mark.parametrize(
    ("qps", "local", "waits"),
    [
        pytest.param(0.0, None, [], id="none by default, unlike Go"),
        pytest.param(10.0, None, [0.1] * 10, id="10 a second, 10 at once"),
        pytest.param(-1.0, None, [], id="switched off"),
        pytest.param(10.0, (11.0, 12), [1 / 11] * 8, id="own limiter"),
    ],
)
def test_qps_and_burst_of_the_configuration_are_applied(
    qps: float, local: tuple[float, int] | None, waits: list[float]
) -> None:
    clock = FakeClock(auto=True)
    limiter = TokenBucketRateLimiter(*local, clock=clock) if local else None
    transport = FakeTransport(*[reply(b"{}")] * 20)
    restclient = RESTClient(replace(HOST, qps=qps), transport=transport, clock=clock, rate_limiter=limiter)
    for _ in range(20):
        restclient.do(LIST)
    assert clock.slept == pytest.approx(waits)


def test_clients_may_share_a_limiter() -> None:
    clock = FakeClock(auto=True)
    limiter = TokenBucketRateLimiter(1.0, 1, clock=clock)
    for _ in range(3):
        RESTClient(HOST, transport=FakeTransport(reply(b"{}")), clock=clock, rate_limiter=limiter).do(LIST)
    assert clock.slept == [1.0, 1.0]


@pytest.mark.feature("B-REST-15")
def test_requests_are_counted_under_client_gos_names() -> None:
    transport = FakeTransport(refusal(429, retry_after=1), dropped(), reply(b"12345"), FakeStream(end=True))
    with recorded_metrics() as metrics:
        rest_client = client(transport)
    rest_client.do(LIST)
    rest_client.watch(WATCH)
    requests = metrics.times("rest_client_requests_total")
    assert requests == {("429", "GET", "api"): 1, ("<error>", "GET", "api"): 1, ("200", "GET", "api"): 2}
    retries = set(metrics.series("rest_client_request_retries_total"))
    assert retries == {("429", "GET", "api"), ("<error>", "GET", "api")}
    assert metrics["rest_client_response_size_bytes", "GET", "api"].observed[2] == 5.0
    assert metrics.labels["rest_client_requests_total"] == ("code", "method", "host")
    assert metrics.labels["rest_client_request_duration_seconds"] == ("verb", "host")


def test_apply_is_a_patch() -> None:
    transport = FakeTransport(reply(b"{}"))
    apply = Request(verb="apply", resource=PODS, namespace="n", name="a", body=b"{}", content_type=APPLY_PATCH)
    client(transport).do(apply)
    assert transport.sent[0].method == "PATCH"


def test_closing_closes_the_transport() -> None:
    transport = FakeTransport()
    client(transport).close()
    assert transport.closed
