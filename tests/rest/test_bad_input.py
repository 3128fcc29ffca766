"""Invalid and hostile input, found by fuzzing: the library's own errors in bounded time."""

from pathlib import Path

import pytest

from clientgo.errors import BadRequest, ConfigError, decode_status, error_from_response
from clientgo.meta.codec import Undecodable
from clientgo.meta.names import ObjectName
from clientgo.meta.objects import GroupVersionResource, ObjectMeta
from clientgo.meta.selectors import parse_selector
from clientgo.rest.connections.http1 import ProtocolError, ReplyReader
from clientgo.rest.loading import load_config
from clientgo.rest.request import Request, target_of
from clientgo.rest.watchstream import FrameSplitter, InvalidFrame

DEEP = b'{"a":' * 20_000


@pytest.mark.parametrize("value", ["9" * 400, "9" * 5000, "-1", "\x1c1", "1e3", "٣", ""])
def test_invalid_retry_after_is_ignored(value: str) -> None:
    assert error_from_response(429, b"{}", {"Retry-After": value}).retry_after is None


@pytest.mark.parametrize("seconds", [-5, 10**12])
def test_invalid_retry_seconds_in_a_status_are_ignored(seconds: int) -> None:
    body = b'{"reason":"TooManyRequests","details":{"retryAfterSeconds":%d}}' % seconds
    assert error_from_response(429, body, {}).retry_after is None


def test_deeply_nested_error_response_is_an_api_error() -> None:
    assert error_from_response(500, DEEP, {}).code == 500
    assert decode_status(DEEP).reason == ""


def test_deeply_nested_frame_is_invalid() -> None:
    with pytest.raises(InvalidFrame):
        list(FrameSplitter().feed(b'{"type":"ADDED","object":' + DEEP + b"\n"))


def test_huge_content_length_is_a_protocol_error() -> None:
    remaining = [b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n"]
    with pytest.raises(ProtocolError, match="invalid content length") as refused:
        ReplyReader(lambda _: remaining.pop() if remaining else b"").head("GET")
    assert len(str(refused.value)) < 100


def test_label_of_many_digits_is_compared_correctly() -> None:
    assert not parse_selector("n>3").matches({"n": "9" * 5000})
    assert parse_selector("n>3").matches({"n": "0" * 5000 + "4"})


def test_names_with_surrogates_are_rejected() -> None:
    with pytest.raises(BadRequest, match="not valid Unicode"):
        target_of(Request(verb="get", resource=GroupVersionResource("", "v1", "pods"), name="a\udcff"))
    with pytest.raises(ValueError, match=r"^unexpected key format: \"a/b/c\\n\"$"):
        ObjectName.parse("a/b/c\n")


def test_object_name_with_line_breaks_is_reported_in_one_line() -> None:
    assert "\n" not in str(Undecodable("Foo", ObjectMeta(name="a\nERROR forged"), "x"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("{a: 1}\n---\n{b: 2}", "expected one document, got 2", id="several documents"),
        pytest.param('contexts: [{name: "a\\nb"}]\ncurrent-context: c', r"it has 'a\\nb'", id="a name of two lines"),
        pytest.param('contexts: [{name: c, context: {cluster: "a\\nb"}}]\ncurrent-context: c',
                     "`kubectl config set-cluster NAME`", id="a cluster of two lines"),
        pytest.param("contexts: [{name: c, context: {cluster: a; b}}]\ncurrent-context: c",
                     "`kubectl config set-cluster 'a; b'`", id="a cluster a shell would take apart"),
        pytest.param('contexts: [{name: "a\\nb"}]\ncurrent-context: "a\\nb"',
                     "`kubectl config set-context NAME --cluster NAME`", id="a context of two lines"),
    ],
)  # fmt: skip
def test_invalid_kubeconfig_is_a_one_line_error(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(ConfigError, match=reason) as refused:
        load_config(kubeconfig=path, environ={})
    assert "\n" not in str(refused.value)
