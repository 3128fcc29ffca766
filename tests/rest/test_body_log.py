"""Logging of bodies: verbosity, truncation as in klog, masked secrets."""

import json
import logging
from collections.abc import Iterator

import pytest

from clientgo.log import REDACTED
from clientgo.meta.objects import GroupVersionResource
from clientgo.rest.body_log import log, readable, show_bodies
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.request import Request
from clientgo.testing.clock import FakeClock
from clientgo.testing.transport import FakeTransport, refusal, reply

CANARY = "c4nary-c4nary"
PODS = GroupVersionResource("", "v1", "pods")
SECRETS = "/api/v1/namespaces/ns/secrets"
CREATE = Request(verb="create", resource=PODS, namespace="ns", body=b'{"sent":"' + b"x" * 20000 + b'"}')


@pytest.fixture(autouse=True)
def quiet_again(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.DEBUG)
    yield
    show_bodies(0)


def bodies(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [vars(record)["body"] for record in caplog.records if record.name == log.name]


def ask(*answers: object, token: str = "") -> None:
    transport = FakeTransport(*(reply(response) for response in answers))
    RESTClient(Config("http://api", token=token), transport=transport, clock=FakeClock()).do(CREATE)


@pytest.mark.feature("B-REST-14")
@pytest.mark.parametrize(
    ("verbosity", "sizes"),
    [(7, []), (8, [1024, 1024]), (9, [10240, 10240]), (10, [20011, 20015]), (99, [20011, 20015])],
)
def test_bodies_are_truncated_as_by_klog(caplog: pytest.LogCaptureFixture, verbosity: int, sizes: list[int]) -> None:
    show_bodies(verbosity)
    ask(b'{"received":"' + b"y" * 20000 + b'"}')
    assert [len(body.partition(" [truncated")[0]) for body in bodies(caplog)] == sizes
    assert all(body.endswith(" chars]") == (len(body) < 20000) for body in bodies(caplog))


def test_debug_level_alone_logs_no_bodies(caplog: pytest.LogCaptureFixture) -> None:
    ask(b"{}")
    assert bodies(caplog) == []


def test_body_of_an_error_response_is_logged_without_headers(caplog: pytest.LogCaptureFixture) -> None:
    show_bodies(10)
    transport = FakeTransport(refusal(403, "Forbidden", "not you"))
    client = RESTClient(Config("http://api", token=CANARY), transport=transport, clock=FakeClock())
    with pytest.raises(Exception, match="not you"):
        client.do(Request(verb="list", resource=PODS))
    [record] = [record for record in caplog.records if record.name == log.name]
    assert "not you" in vars(record)["body"]
    assert vars(record)["status"] == 403
    assert CANARY not in str(vars(record))
    assert "uthorization" not in str(vars(record))


SECRET = {"kind": "Secret", "metadata": {"name": "s"}, "data": {"key": CANARY}, "stringData": {"other": CANARY}}
APPLIED = {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(SECRET)}}


@pytest.mark.feature("B-REST-14")
@pytest.mark.parametrize(
    ("target", "body"),
    [
        pytest.param(SECRETS + "/s", SECRET, id="a Secret"),
        pytest.param("/any", SECRET, id="by its kind alone"),
        pytest.param(SECRETS, {"kind": "SecretList", "items": [{**SECRET, "kind": None}]}, id="a list"),
        pytest.param("/any", {"kind": "SecretList", "items": [{"data": {"key": CANARY}}]}, id="a list by its kind"),
        pytest.param("/any", {"kind": "List", "items": [{"metadata": {}}, SECRET]}, id="one among others"),
        pytest.param(SECRETS + "/s?fieldManager=me", {"data": {"key": CANARY}}, id="a merge patch"),
        pytest.param(SECRETS + "/s", [{"op": "add", "path": "/data/key", "value": CANARY}], id="a JSON patch"),
        pytest.param(SECRETS + "/s", [{"op": "add", "path": "/data", "value": {"key": CANARY}}], id="of all data"),
        pytest.param(SECRETS, {"kind": "Secret", "metadata": APPLIED}, id="kubectl's copy"),
        pytest.param("/api/v1/namespaces/ns/serviceaccounts/a/token", {"status": {"token": CANARY}}, id="TokenRequest"),
        pytest.param("/any", {"kind": "TokenRequest", "status": {"token": CANARY}}, id="TokenRequest by its kind"),
        pytest.param("/any", {"kind": "TokenReview", "spec": {"token": CANARY}}, id="TokenReview"),
        pytest.param("/any", {"command": [f"curl -H 'Authorization: Bearer {CANARY}'"]}, id="by its shape"),
    ],
)
def test_secrets_and_tokens_are_masked(target: str, body: object) -> None:
    text = readable(target, json.dumps(body).encode())
    assert REDACTED in text
    assert CANARY not in text


def test_other_values_stay_readable() -> None:
    body = {"kind": "ConfigMap", "data": {"key": "value"}, "value": 1}
    assert json.loads(readable("/api/v1/namespaces/ns/configmaps/c", json.dumps(body).encode())) == body


@pytest.mark.parametrize("body", [b"", b"plain " + CANARY.encode(), b"[" * 100_000, b'"\xff"'])
def test_size_of_other_bodies_than_json_is_logged(body: bytes) -> None:
    assert readable("/any", body) == f"<{len(body)} bytes, not JSON>"
