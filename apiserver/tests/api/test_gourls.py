"""URLs of requests, which Go accepts and rejects."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.tests.inprocess import Kube
from apiserver.tests.test_public_manifests import BAR, BARS, bars
from clientgo_apiserver.api.formats import text_format
from clientgo_apiserver.api.gourls import GoUrl, parse_request_uri

VALID = {
    "https://a.b:80/c?x=1": GoUrl("https", "a.b:80", "/c", "x=1"),
    "HTTP://a": GoUrl("http", "a", "", ""),
    "http://a:99999/": GoUrl("http", "a:99999", "/", ""),
    "http://a:/": GoUrl("http", "a:", "/", ""),
    "*": GoUrl("", "", "*", ""),
    "/path/%20x": GoUrl("", "", "/path/%20x", ""),
    "//a/b": GoUrl("", "", "//a/b", ""),
    "http://h/#x": GoUrl("http", "h", "/#x", ""),
    "http://user:pass@h/": GoUrl("http", "h", "/", ""),
    "http://[::1]:80/": GoUrl("http", "[::1]:80", "/", ""),
    "http://[fe80::1%25eth0]/": GoUrl("http", "[fe80::1%25eth0]", "/", ""),
    "http://h%c3%a9/": GoUrl("http", "h%c3%a9", "/", ""),
    'http://a"b<c>/': GoUrl("http", 'a"b<c>', "/", ""),
    "mailto:a@b": GoUrl("mailto", "", "", ""),
    "http://h/?%zz": GoUrl("http", "h", "/", "%zz"),
}


@pytest.mark.parametrize("text", VALID)
def test_parts_of_a_valid_url(text: str) -> None:
    assert parse_request_uri(text) == VALID[text]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty url"),
        ("a", "invalid URI for request"),
        ("a/b:c", "invalid URI for request"),
        (":a", "missing protocol scheme"),
        ("1a:b", "invalid URI for request"),
        ("http://a/%zz", 'invalid URL escape "%zz"'),
        ("http://h/#%zz", 'invalid URL escape "%zz"'),
        ("/a%2", 'invalid URL escape "%2"'),
        ("http://h\\x/", r'invalid character "\\" in host name'),
        ("http://h /", 'invalid character " " in host name'),
        ("http://%41/", 'invalid URL escape "%41"'),
        ("http://a:b/", 'invalid port ":b" after host'),
        ("http://a:1:2x/", 'invalid port ":2x" after host'),
        ("http://[::1/", "missing ']' in host"),
        ("http://[::1]x/", 'invalid port "x" after host'),
        ("http://a b@h/", "net/url: invalid userinfo"),
        ("http://h/\x7f", "net/url: invalid control character in URL"),
    ],
)
def test_invalid_url_is_rejected_in_the_words_of_go(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"^parse ") as caught:
        parse_request_uri(text)
    assert str(caught.value).endswith(f": {reason}")


@given(st.text(alphabet="ab:/?#[]@%41 .\\*"))
def test_any_text_is_a_url_or_a_value_error(text: str) -> None:
    check = text_format("uri")
    assert check is not None
    if check(text):
        assert isinstance(parse_request_uri(text), GoUrl)


@pytest.mark.parametrize(("text", "valid"), [("http://a/%zz", False), ("http://a:99999/", True), ("*", True)])
def test_rules_and_formats_decide_alike(text: str, valid: bool) -> None:
    rule = {"rule": "isURL(self) && url(self).getScheme() != 'x'", "message": "no"}
    for schema in ({"type": "string", "format": "uri"}, {"type": "string", "x-kubernetes-validations": [rule]}):
        kube: Kube = bars({"type": "object", "properties": {"a": {**schema, "maxLength": 99}}})
        assert kube.send("POST", BARS, {**BAR, "spec": {"a": text}}).status == (201 if valid else 422)
