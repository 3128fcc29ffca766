"""Continue tokens of paged lists: what is encoded is decoded, and anything else is a bad request."""

import base64
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.tests.inprocess import CONFIG_MAPS, Kube, names
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.handlers.reading import decode_continue, encode_continue

NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,30}[a-z0-9])?", fullmatch=True)


def token(**members: object) -> str:
    content = {"v": "meta.k8s.io/v1", "rv": 5, "start": "default/a\u0000", **members}
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


@given(st.integers(1, 2**63 - 1), st.just("") | NAMES, NAMES)
def test_token_leads_back_to_its_revision_and_name(revision: int, namespace: str, name: str) -> None:
    assert decode_continue(encode_continue(revision, (namespace, name))) == (revision, (namespace, name))


def test_token_has_the_form_of_a_real_servers() -> None:
    encoded = encode_continue(5, ("default", "a"))
    content = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    assert content == {"v": "meta.k8s.io/v1", "rv": 5, "start": "default/a\u0000"}
    assert "=" not in encoded


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "!!!!",
        "\u00e9",
        token(v="meta.k8s.io/v2"),
        token(rv="soon"),
        token(rv=None),
        token(rv=[1]),
        token(rv=2.5),
        token(rv=2.0),
        token(rv="5"),
        token(rv=True),
        token(rv=0),
        token(rv=10**30),
        token(start=""),
        token(start="../a"),
        token(start="a//b"),
        token(start="default/./a"),
        token(start="default/a/"),
        token() + "=",
        token().replace("e", "+e", 1),
        token(start=None),
        token(start=5),
        token(start=["a"]),
        base64.urlsafe_b64encode(b"[]").decode(),
        base64.urlsafe_b64encode(b"{}").decode(),
        base64.urlsafe_b64encode(b"5").decode(),
        base64.urlsafe_b64encode(b'{"v":"meta.k8s.io/v1","rv":1e400,"start":"a"}').decode(),
        base64.urlsafe_b64encode(b"[" * 5000).decode(),
    ],
)
def test_malformed_token_is_a_bad_request(text: str) -> None:
    with pytest.raises(ApiFailure, match="invalid continue token: continue key is not valid") as caught:
        decode_continue(text)
    assert caught.value.code == 400


def test_token_that_is_no_json_is_rejected_in_the_words_of_go() -> None:
    with pytest.raises(ApiFailure, match=r"not valid: invalid character '\\u0081' looking for beginning of value$"):
        decode_continue("garbage")


@pytest.mark.parametrize("revision", [-1, -2])
def test_negative_revision_continues_in_the_present_as_on_a_real_server(kube: Kube, revision: int) -> None:
    for name in ("a", "b"):
        kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": name}})
    url = f"{CONFIG_MAPS}?limit=1&continue={token(rv=revision)}"
    page = kube.ok("GET", url)
    assert (names(page), page["metadata"]["resourceVersion"]) == (["b"], str(kube.api.state.store.revision))


@given(st.text() | st.binary().map(lambda raw: base64.urlsafe_b64encode(raw).decode()))
def test_any_text_is_a_token_or_a_bad_request(text: str) -> None:
    with suppress(ApiFailure):
        assert isinstance(decode_continue(text)[0], int)
