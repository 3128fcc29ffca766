"""Redaction of credentials."""

import base64
import io
import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo import log
from clientgo.clock import SYSTEM_CLOCK
from clientgo.kubernetes.types.core_v1 import Secret
from clientgo.log.credentials import _SECRETS, MAX_SECRETS, may_hold_credentials
from clientgo.meta import ObjectMeta

CANARY = "c4n4ry-T0ken_value"
ENCODED = base64.b64encode(f"admin:{CANARY}".encode()).decode()
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"
PEM = f"-----BEGIN EC PRIVATE KEY-----\n{ENCODED}\n-----END EC PRIVATE KEY-----"
SECRET_JSON = json.dumps({"kind": "Secret", "data": {"k": ENCODED}, "stringData": {"any": CANARY}})


@pytest.mark.parametrize(
    ("text", "remaining"),
    [
        (f"Authorization: Bearer {CANARY}", "Authorization: [redacted]"),
        (f"authorization: basic {ENCODED}, Accept: json", "authorization: [redacted], Accept: json"),
        (f"[('Authorization', 'Bearer {CANARY}'), ('A', '*')]", "[('Authorization', '[redacted]'), ('A', '*')]"),
        (f'{{"Authorization": ["Bearer {CANARY}"]}}', '{"Authorization": ["[redacted]"]}'),
        (f"the bearer {CANARY} was refused", "the bearer [redacted] was refused"),
        (f"sent Basic {ENCODED}", "sent Basic [redacted]"),
        (f"invalid bearer token, square/go-jose: {JWT}", "invalid bearer token, square/go-jose: [redacted]"),
        (f"key {PEM} is bad", "key [redacted] is bad"),
        (f"key {PEM[:60]}", "key [redacted]"),
        (f"key {json.dumps(PEM)} is bad", 'key "[redacted]" is bad'),
        ("client-key-data: LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0t==", "client-key-data: [redacted]"),
        (f"can't reach http://user:{CANARY}@proxy:3128/a", "can't reach http://[redacted]@proxy:3128/a"),
        (f"https://{CANARY}@host and http://a:b@{CANARY}@c", "https://[redacted]@host and http://[redacted]@c"),
        (f"password={CANARY}&user=x", "password=[redacted]&user=x"),
        (f'{{"token": "{CANARY}", "user": "x"}}', '{"token": "[redacted]", "user": "x"}'),
        (f'{{\\"id-token\\": \\"{CANARY}\\", 1}}', '{\\"id-token\\": \\"[redacted]\\", 1}'),
        (f"{{'client_secret': '{CANARY} with spaces'}}", "{'client_secret': '[redacted]'}"),
        (f"  token: {CANARY}\n  user: x", "  token: [redacted]\n  user: x"),
        (f"plugin --cluster x --token {CANARY} failed", "plugin --cluster x --token [redacted] failed"),
        (f"k8s-aws-v1.{CANARY}", "[redacted]"),
        (f'password="{CANARY}', 'password="[redacted]'),
        (f'token: {CANARY} "db" is for the database', 'token: [redacted] "db" is for the database'),
        (f"Set-Cookie: {CANARY}; Path=/", "Set-Cookie: [redacted]; Path=/"),
        (f"PATCH: {SECRET_JSON}", 'PATCH: {"kind": "Secret", "data": [redacted]'),
        (json.dumps(SECRET_JSON), json.dumps('{"kind": "Secret", "data": ')[:-1] + "[redacted]"),
    ],
)  # fmt: skip
def test_credential_is_redacted_by_its_format_or_name(text: str, remaining: str) -> None:
    assert may_hold_credentials(text)
    assert log.redact(text) == remaining
    assert log.redact(remaining) == remaining


@pytest.mark.parametrize(
    "text",
    [
        'secrets "db-password" is forbidden: User "system:serviceaccount:a:token-reader" cannot list "secrets"',
        "https://10.0.0.1:6443/apis/apps/v1/deployments?limit=500 answered",
        "docker-pullable://nginx@sha256:3f2a and docker://registry:5000/nginx@sha256:3f2a",
        "invalid bearer token",
        "basic authentication and bearer authentication are off",
        "cannot read the token file /var/run/secrets/kubernetes.io/serviceaccount/token",
        "user@example.com has the event example.17a3b5c8d9e0f1a2",
        "-----BEGIN CERTIFICATE-----",
        'selfsubjectaccessreviews.authorization.k8s.io "x" is forbidden',
        "keyboard, keys and monkeys: none is a secret",
        'finalize: in Secret token: secrets "token" is forbidden: namespace x is being terminated',
        '{"err": "Secret akamai-token: foos.example.com \\"a-b.c\\" not found"}',
    ],
)
def test_text_about_credentials_is_not_redacted(text: str) -> None:
    assert log.redact(text) == text


@pytest.mark.parametrize("name", ["token", "Authorization", "client-key-data", "db_password", "apiKey", "bearerToken"])
@pytest.mark.parametrize("value", [CANARY, CANARY.encode(), [CANARY], {"a": CANARY}, 4711])
def test_value_is_redacted_by_its_name(name: str, value: Any) -> None:
    stream = io.StringIO()
    log.setup(stream=stream, style="json")
    logging.getLogger("x").info("a", extra={name: value, "in": {name: value}})
    entry = json.loads(stream.getvalue())
    assert (entry[name], entry["in"]) == ("[redacted]", {name: "[redacted]"})


def test_similar_names_and_flags_are_not_redacted() -> None:
    stream = io.StringIO()
    log.setup(stream=stream, style="json")
    rendered: dict[str, Any] = {
        "tokens": 3, "keys": ["a"], "secret": "default/tls", "automountToken": True, "token": None,
    }  # fmt: skip
    logging.getLogger("x").info("a", extra=rendered)
    assert json.loads(stream.getvalue()).items() >= rendered.items()


def test_data_of_a_secret_object_is_redacted() -> None:
    stream = io.StringIO()
    log.setup(stream=stream)
    secret = Secret(metadata=ObjectMeta(name="db"), data={"k": ENCODED.encode()}, string_data={"any": CANARY})
    logging.getLogger("x").info("got %s", secret, extra={"obj": secret, "all": [secret]})
    assert CANARY not in stream.getvalue()
    assert ENCODED not in stream.getvalue()
    assert "got Secret(" in stream.getvalue()


ODD = 'pä"ss\\w{o}rd/1'


@pytest.mark.parametrize("style", log.FORMATS)
@pytest.mark.parametrize(
    "disguise",
    [str, repr, json.dumps, lambda text: json.dumps(json.dumps(text, ensure_ascii=False)), lambda text: [{"x": text}],
     ValueError, lambda text: base64.b64encode(text.encode()).decode(), lambda _: "p%C3%A4%22ss%5Cw%7Bo%7Drd%2F1"],
)  # fmt: skip
@pytest.mark.usefixtures("registering")
def test_registered_secret_is_redacted_in_every_encoding(style: str, disguise: Any) -> None:
    stream = io.StringIO()
    log.setup(stream=stream, style=style)
    log.register_secret(ODD, "", "short")
    value = disguise(ODD)
    with log.context(given=value):
        try:
            raise RuntimeError(f"the server knows no {value} nor short")
        except RuntimeError:
            logging.getLogger("x").exception("said: %s", value, extra={"said": value})
    text = stream.getvalue()
    assert "rd/1" not in text
    assert "rd%2F1" not in text
    assert base64.b64encode(ODD.encode()).decode().rstrip("=") not in text
    assert "short" in text


@pytest.mark.usefixtures("registering")
def test_oldest_registered_secret_is_evicted() -> None:
    for number in range(MAX_SECRETS + 1):
        log.register_secret(f"token-number-{number:04}")
    log.register_secret("token-number-0001")
    assert log.redact("token-number-0000 token-number-0001") == "token-number-0000 [redacted]"
    assert len(_SECRETS._forms) == MAX_SECRETS


PIECES = st.sampled_from(
    ["password", "=", ": ", '"', "'", "\\", "\n", " ", "eyJ", ".", "-", "a" * 9, "://", "@", "/", "bearer ", "token",
     "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "LS0tLS1CRUdJTi", "Secret", "data={", "}", "--"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=30).map("".join))
def test_redacting_twice_adds_nothing_and_text_without_marks_is_unchanged(text: str) -> None:
    once = log.redact(text)
    if not may_hold_credentials(text):
        assert once == text
    assert len(log.redact(once)) <= len(once) + len("[redacted]") * once.count("[redacted]")


@pytest.mark.parametrize(
    "piece",
    ["eyJ", "-eyJ", "eyJ.", "password", 'password="', "password=", "password \\", "://", "://@", "://a", "@",
     "bearer ", "bearer  ", "basic A", "token:", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "--a-", "--token ",
     "LS0tLS1CRUdJTi", "authorization: ", 'Secret"data":{', "Secret data={", "\\\\", "\\\"token", "sha256~", "A.b-"],
)  # fmt: skip
def test_redaction_takes_linear_time(piece: str) -> None:
    # Quadratic time would be a minute; every pattern that is tried is tried on all of it.
    text = "token @" + piece * (100_000 // len(piece))
    began = SYSTEM_CLOCK.now()
    log.redact(text)
    assert SYSTEM_CLOCK.now() - began < 5
