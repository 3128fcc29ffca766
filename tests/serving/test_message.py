"""Strict parsing of request heads, for any input."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.serving.message import RejectedRequest, Response, ServingRequest, parse_head, render

TOKEN = st.text("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789-_", min_size=1, max_size=12)
VALUE = st.text([chr(code) for code in range(0x21, 0x7F)], max_size=20)


def parse(*lines: str) -> ServingRequest:
    return parse_head("\r\n".join(lines).encode("latin-1"))


def test_request_is_read() -> None:
    request = parse("GET /healthz/a%20b?verbose&exclude=x&exclude=y HTTP/1.1", "Host: me:1", "X-One:  two words ")
    assert (request.method, request.path) == ("GET", "/healthz/a b")
    assert request.query == {"verbose": [""], "exclude": ["x", "y"]}
    assert request.headers == {"host": "me:1", "x-one": "two words"}
    assert request.keep_alive
    assert request.content_length == 0


def test_proxys_target_is_the_path_behind_the_host() -> None:
    assert parse("GET http://me:1/metrics?a=b HTTP/1.1", "Host: me").path == "/metrics"
    assert parse("GET http://me:1 HTTP/1.1", "Host: me").path == "/"


@pytest.mark.parametrize(("line", "keep"), [("GET / HTTP/1.1", True), ("GET / HTTP/1.0", False)])
def test_keep_alive_depends_on_the_http_version(line: str, keep: bool) -> None:
    assert parse(line, "Host: me").keep_alive is keep
    assert parse(line, "Host: me", "Connection: close").keep_alive is False
    assert parse(line, "Host: me", "Connection: Keep-Alive").keep_alive is True


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["GET / HTTP/2"], 400),
        (["GET  / HTTP/1.1", "Host: me"], 400),
        (["get / HTTP/1.1", "Host: me"], 400),
        (["GET / HTTP/1.1"], 400),
        (["GET * HTTP/1.1", "Host: me"], 400),
        (["GET ftp://me/ HTTP/1.1", "Host: me"], 400),
        (["GET /\x00 HTTP/1.1", "Host: me"], 400),
        (["GET / HTTP/1.1", "Host: me", "Host: you"], 400),
        (["GET / HTTP/1.1", "Host: me", "Authorization: Bearer a", "Authorization: Bearer b"], 400),
        (["GET / HTTP/1.1", "Host: me", "X-One: two", " folded"], 400),
        (["GET / HTTP/1.1", "Host: me", "X-One : two"], 400),
        (["GET / HTTP/1.1", "Host: me", "no colon"], 400),
        (["GET / HTTP/1.1", "Host: me", "X-One: a\x00b"], 400),
        (["GET / HTTP/1.1", "Host: me", "X-One: a\nb: c"], 400),
        (["PUT / HTTP/1.1", "Host: me", "Content-Length: 1", "Content-Length: 2"], 400),
        (["PUT / HTTP/1.1", "Host: me", "Content-Length: +1"], 400),
        (["PUT / HTTP/1.1", "Host: me", "Content-Length: ٣"], 400),
        (["PUT / HTTP/1.1", "Host: me", "Transfer-Encoding: chunked"], 501),
        (["GET /?" + "&".join("abcdefghij" * 11) + " HTTP/1.1", "Host: me"], 400),
    ],
)
def test_ambiguous_request_is_rejected(lines: list[str], status: int) -> None:
    with pytest.raises(RejectedRequest) as refused:
        parse_head("\r\n".join(lines).encode("utf-8"))
    assert refused.value.status == status


@given(st.dictionaries(TOKEN.map(str.lower), VALUE, max_size=8), VALUE)
def test_headers_come_through_as_they_were_sent(headers: dict[str, str], host: str) -> None:
    for special in ("content-length", "transfer-encoding", "host"):
        headers.pop(special, None)
    request = parse("GET / HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in headers.items()))
    assert request.headers == {"host": host, **headers}


def test_repr_shows_no_credential() -> None:
    request = parse("PUT / HTTP/1.1", "Host: me", "Authorization: Bearer canary", "Content-Length: 6")
    assert "canary" not in repr(request)


def test_response_has_length_and_connection_headers() -> None:
    sent = render(Response(200, "grüße", headers={"X-One": "two"}), keep_alive=True)
    head, _, body = sent.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\nDate: ")
    assert b"\r\nContent-Length: 7\r\n" in head
    assert b"\r\nX-Content-Type-Options: nosniff\r\n" in head
    assert head.endswith(b"\r\nConnection: keep-alive\r\nX-One: two")
    assert body.decode() == "grüße"


def test_head_response_has_the_length_of_the_body() -> None:
    sent = render(Response(299, b"12345"), keep_alive=False, with_body=False)
    assert b"HTTP/1.1 299 Unknown\r\n" in sent
    assert b"\r\nContent-Length: 5\r\n" in sent
    assert b"\r\nConnection: close\r\n" in sent
    assert sent.endswith(b"\r\n\r\n")
