"""Keys of service account tokens: anybody can find them (OpenID Connect Discovery) and verify a token."""

import base64
import json

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from apiserver.tests.guarded import Guarded
from clientgo_apiserver.auth.signing import claims_of, key_set, sign

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
CACHING = ("Cache-Control", "public, max-age=3600")


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "==")


@pytest.fixture
def robot() -> Guarded:
    """Return a server whose user is a service account without permissions."""
    guarded = Guarded()
    guarded.ok("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
    guarded.acting = guarded.ok("POST", f"{ACCOUNTS}/robot/token", {})["status"]["token"]
    return guarded


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/.well-known/openid-configuration/"])
def test_discovery_names_the_issuer_and_the_keys(robot: Guarded, path: str) -> None:
    response = robot.send("GET", path, host="api.example.com:6443")
    assert (response.content_type, CACHING in response.headers) == ("application/json", True)
    assert response.json() == {
        "issuer": "https://kubernetes.default.svc",
        "jwks_uri": "http://api.example.com:6443/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }


def test_the_published_key_verifies_a_token(robot: Guarded) -> None:
    response = robot.send("GET", "/openid/v1/jwks")
    assert (response.content_type, CACHING in response.headers) == ("application/jwk-set+json", True)
    text, _, signature = robot.acting.rpartition(".")
    header = json.loads(decoded(text.partition(".")[0]))
    (key,) = (each for each in response.json()["keys"] if each["kid"] == header["kid"])
    assert (key["alg"], key["use"]) == (header["alg"], "sig")
    x, y = (int.from_bytes(decoded(key[name]), "big") for name in ("x", "y"))
    r, s = (int.from_bytes(decoded(signature)[half], "big") for half in (slice(32), slice(32, 64)))
    public = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
    public.verify(encode_dss_signature(r, s), text.encode(), ec.ECDSA(hashes.SHA256()))
    with pytest.raises(InvalidSignature):
        public.verify(encode_dss_signature(r, s), text.encode() + b"x", ec.ECDSA(hashes.SHA256()))


@pytest.mark.parametrize("path", ["/.well-known", "/.well-known/other", "/openid", "/openid/v1", "/openid/v1/jwks/x"])
def test_other_paths_beside_the_keys_do_not_exist(robot: Guarded, path: str) -> None:
    robot.acting = "admin"
    assert robot.send("GET", path).body == b"404 page not found\n"


@pytest.mark.parametrize("secret", [bytes(31) + b"\x01", b"\xff" * 32, bytes(range(32))])
def test_any_32_bytes_are_a_key_of_their_own(secret: bytes) -> None:
    token = sign(secret, {"sub": "a"})
    assert claims_of(secret, token) == {"sub": "a"}
    assert claims_of(b"\x07" * 32, token) is None
    assert key_set(secret) != key_set(b"\x07" * 32)


@pytest.mark.parametrize("token", ["", ".", "a.b", "a.b.", "a.b.c", "..AAAA", "a.b.\u00e9", "a.b." + "A" * 86])
def test_malformed_token_has_no_claims(token: str) -> None:
    assert claims_of(bytes(range(32)), token) is None
