"""Redirects of reads within the server's address."""

import pytest

from clientgo.errors import ApiError
from clientgo.meta import GroupVersionResource
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.request import Request, redirect_target
from clientgo.testing.clock import FakeClock
from clientgo.testing.transport import FakeTransport, frame, reply

LIST = Request(verb="list", resource=GroupVersionResource("", "v1", "pods"))


def redirect(location: str, status: int = 301) -> FakeTransport:
    return FakeTransport(reply(b"moved", status=status, headers={"Location": location}), reply(b"found"))


def client(transport: FakeTransport) -> RESTClient:
    return RESTClient(Config("https://api:6443/base"), transport=transport, clock=FakeClock())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_read_follows_a_redirect_within_the_server(status: int) -> None:
    transport = redirect("https://api:6443/base/new?limit=1", status)
    assert client(transport).do(LIST) == b"found"
    assert [sent.target for sent in transport.sent] == ["/api/v1/pods", "/new?limit=1"]


def test_watch_follows_a_redirect() -> None:
    moved = reply(b"", status=307, headers={"Location": "/base/new?watch=true"})
    transport = FakeTransport(moved, reply(frame("ADDED", {})))
    (event,) = client(transport).watch(Request(verb="watch", resource=LIST.resource))
    assert event.type == "ADDED"
    assert [sent.target for sent in transport.sent] == ["/api/v1/pods?watch=true", "/new?watch=true"]


@pytest.mark.parametrize("verb", ["create", "update", "patch", "delete"])
def test_write_does_not_follow_a_redirect(verb: str) -> None:
    transport = redirect("/base/new", 307)
    with pytest.raises(ApiError) as failed:
        client(transport).do(Request(verb=verb, resource=LIST.resource, name="a", body=b"{}"))
    assert (failed.value.code, len(transport.sent)) == (307, 1)


def test_credentials_are_not_sent_to_another_host() -> None:
    transport = redirect("https://elsewhere:6443/base/new")
    with pytest.raises(ApiError) as failed:
        client(transport).do(LIST)
    assert (failed.value.code, len(transport.sent)) == (301, 1)


def test_at_most_ten_redirects_are_followed() -> None:
    transport = FakeTransport()
    transport.on("GET", "/api/v1/pods", always=reply(b"", status=302, headers={"Location": "/base/api/v1/pods"}))
    with pytest.raises(ApiError):
        client(transport).do(LIST)
    assert len(transport.sent) == 11


@pytest.mark.parametrize(
    ("server", "location", "target"),
    [
        ("https://api", "https://api:443/x", "/x"),
        ("http://api:80", "http://api/x", "/x"),
        ("http://API", "//api/x", "/x"),
        ("http://api", "x?y=1#z", "/api/v1/x?y=1"),
        ("http://api", "../x", "/api/x"),
        ("http://api/base/", "/base/x", "/x"),
        ("http://api/base", "/x", None),
        ("http://api/base", "/based", None),
        ("http://api/base", "/base", None),
        ("http://api", "", None),
        ("http://api", "https://api/x", None),
        ("http://api", "http://api:8080/x", None),
        ("http://api", "http://api:port/x", None),
        ("http://api", "//[/x", None),
        ("http://api", "/x y", None),
        ("http://api", "/\u00e9", None),
        ("http://api", "/x\tHost:", None),
        ("http://api", "javascript:x", None),
    ],
)
def test_target_of_a_redirect(server: str, location: str, target: str | None) -> None:
    assert redirect_target(server, "/api/v1/pods", 302, {"location": location}) == target
