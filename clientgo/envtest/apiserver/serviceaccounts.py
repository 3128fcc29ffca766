"""Tokens of service accounts: made by the `token` subresource, signed with a key that lives as long as the server.

A token counts until it expires, and no longer than its service account. It looks like the real one (a JSON Web Token
whose claims tools can print), but it is signed with a shared secret (HS256): nobody but this server checks it.
"""

import base64
import binascii
import hashlib
import hmac
from datetime import UTC, datetime
from typing import Any

import msgspec

from clientgo.envtest.apiserver.causes import invalid_value
from clientgo.envtest.apiserver.state import State
from clientgo.envtest.apiserver.status import invalid
from clientgo.envtest.apiserver.store import Key
from clientgo.envtest.apiserver.users import User, service_account

Object = dict[str, Any]

KEY: Key = ("", "serviceaccounts")
ISSUER = "https://kubernetes.default.svc"
_SHORTEST = 600  # seconds; TokenRequest's minimum
_USUAL = 3600
_HEADER = {"alg": "HS256", "typ": "JWT"}
_decode = msgspec.json.Decoder().decode


def request_token(state: State, namespace: str, account: Object, review: Object) -> Object:
    """The TokenRequest with a new token in its status.

    Raises:
        ApiFailure: 422, the time asked for is too short.
    """
    spec = review.get("spec") or {}
    seconds = spec.get("expirationSeconds")
    seconds = _USUAL if not isinstance(seconds, int) else seconds
    if seconds < _SHORTEST:
        cause = invalid_value("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        raise invalid("TokenRequest", "authentication.k8s.io", "", [cause])
    audiences = list(spec.get("audiences") or [ISSUER])
    now = int(state.clock.time())
    meta = account["metadata"]
    claims = {
        "aud": audiences,
        "exp": now + seconds,
        "iat": now,
        "iss": ISSUER,
        "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": meta["name"], "uid": meta["uid"]}},
        "nbf": now,
        "sub": f"system:serviceaccount:{namespace}:{meta['name']}",
    }
    expires = datetime.fromtimestamp(now + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": meta["name"], "namespace": namespace, "creationTimestamp": None},
        "spec": {**spec, "audiences": audiences, "expirationSeconds": seconds},
        "status": {"token": _signed(state, claims), "expirationTimestamp": expires},
    }


def token_user(state: State, token: str) -> User | None:
    """The service account a token stands for, or None: expired, forged, for others' ears, or its account is gone."""
    claims = _claims(state, token)
    if claims is None or claims["exp"] <= state.clock.time() or ISSUER not in claims["aud"]:
        return None
    bound = claims["kubernetes.io"]
    namespace, name = bound["namespace"], bound["serviceaccount"]["name"]
    account = state.store.get(KEY, namespace, name)
    if account is None or account["metadata"]["uid"] != bound["serviceaccount"]["uid"]:
        return None
    return service_account(namespace, name, account["metadata"]["uid"])


def _signed(state: State, claims: Object) -> str:
    text = b".".join((_b64(msgspec.json.encode(_HEADER)), _b64(msgspec.json.encode(claims))))
    return b".".join((text, _b64(_signature(state, text)))).decode()


def _claims(state: State, token: str) -> Object | None:
    text, _, signature = token.encode().rpartition(b".")
    try:
        given = base64.urlsafe_b64decode(signature + b"==")
    except (binascii.Error, ValueError):
        return None
    if not text or not hmac.compare_digest(given, _signature(state, text)):
        return None
    claims: Object = _decode(base64.urlsafe_b64decode(text.rpartition(b".")[2] + b"=="))
    return claims


def _signature(state: State, text: bytes) -> bytes:
    return hmac.new(state.secret, text, hashlib.sha256).digest()


def _b64(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")
