"""Tokens of service accounts, created by the `token` subresource or for a Secret.

A token is valid until it expires, and no longer than its service account and the object it is bound to; that of a
Secret is valid as long as the Secret contains it. It is a JSON Web Token, whose signature anybody can verify by the key
set that the server publishes.
"""

import base64
import uuid
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import ApiFailure, bad_request, conflict, invalid, invalid_value, not_found
from clientgo_apiserver.api.users import User, service_account
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.keys import ACCOUNTS, SECRETS
from clientgo_apiserver.storage.stored import Key

TOKEN_TYPE = "kubernetes.io/service-account-token"  # nosec B105  # a type of Secrets
ACCOUNT_NAME, ACCOUNT_UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"
_SECRET_ISSUER = "kubernetes/serviceaccount"  # nosec B105  # of tokens in Secrets
_SECRET_CLAIM = "kubernetes.io/serviceaccount/"  # nosec B105  # prefix of their claims
ISSUER = "https://kubernetes.default.svc"
_MIN_SECONDS = 600  # seconds; TokenRequest's minimum
_MAX_SECONDS = 1 << 32
_DEFAULT_SECONDS = 3600
_BINDABLE = {"node": "nodes", "pod": "pods", "secret": "secrets"}  # nosec B105  # resources' names
_EXTRA = "authentication.kubernetes.io/"


def with_expiration(review: Object) -> Object:
    """Return a TokenRequest with the default of its expiration."""
    return {**review, "spec": {"expirationSeconds": _DEFAULT_SECONDS, **(review.get("spec") or {})}}


def request_token(state: State, namespace: str, account: Object, review: Object) -> Object:
    """Return the TokenRequest with a new token in its status (422, 400, 404, 409)."""
    spec = review.get("spec") or {}
    seconds = spec["expirationSeconds"]
    if not _MIN_SECONDS <= seconds <= _MAX_SECONDS:
        limit = "less than 10 minutes" if seconds < _MIN_SECONDS else "larger than 2^32 seconds"
        cause = invalid_value("spec.expirationSeconds", seconds, f"may not specify a duration {limit}")
        raise invalid("TokenRequest", "authentication.k8s.io", "", [cause])
    sent = review.get("metadata") or {}
    expected = {"name": account["metadata"]["name"], "namespace": namespace}
    causes = [
        invalid_value(f"metadata.{field}", sent[field], f"must match the service account {field} if specified")
        for field, value in expected.items()
        if sent.get(field) not in (None, "", value)
    ]
    if causes:
        raise invalid("TokenRequest", "authentication.k8s.io", expected["name"], causes)
    _check_uid(state, account["metadata"], sent.get("uid"))
    audiences = list(spec.get("audiences") or [ISSUER])
    now = int(state.clock.time())
    meta = account["metadata"]
    claims = {
        "aud": audiences,
        "exp": now + seconds,
        "iat": now,
        "iss": ISSUER,
        "jti": str(uuid.uuid4()),
        "kubernetes.io": {
            "namespace": namespace,
            **_bound(state, namespace, meta["name"], spec.get("boundObjectRef")),
            "serviceaccount": {"name": meta["name"], "uid": meta["uid"]},
        },
        "nbf": now,
        "sub": f"system:serviceaccount:{namespace}:{meta['name']}",
    }
    issued, expires = (datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for at in (now, now + seconds))
    named = {**sent, "name": meta["name"], "namespace": namespace, "uid": meta["uid"], "creationTimestamp": issued}
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": named,
        "spec": {"boundObjectRef": None, **spec, "audiences": audiences, "expirationSeconds": seconds},
        "status": {"token": _signed(state, claims), "expirationTimestamp": expires},
    }


def _check_uid(state: State, account: Object, uid: str | None) -> None:
    """Check that a token is requested for this account, and not an earlier one of the name (409)."""
    if uid and uid != account["uid"] and state.release.enabled("TokenRequestServiceAccountUIDValidation"):
        reason = (
            f"the UID in the token request ({uid}) does not match the UID of the service account ({account['uid']})"
        )
        message = f'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "{account["name"]}": {reason}'
        details = {"name": account["name"], "group": "authentication.k8s.io", "kind": "TokenRequest"}
        raise ApiFailure(409, "Conflict", message, details=details)


def secret_token(state: State, account: Object, secret: Object) -> str:
    """Return the token of a Secret, which does not expire."""
    meta, named = account["metadata"], secret["metadata"]
    bound = {
        "namespace": meta["namespace"],
        "secret.name": named["name"],
        "service-account.name": meta["name"],
        "service-account.uid": meta["uid"],
    }
    claims = {f"{_SECRET_CLAIM}{field}": value for field, value in bound.items()}
    subject = f"system:serviceaccount:{meta['namespace']}:{meta['name']}"
    return _signed(state, {"iss": _SECRET_ISSUER, **claims, "sub": subject})


def _secret_user(state: State, token: str, claims: Object) -> User | None:
    """Return the service account of a token that its Secret still contains."""
    namespace, secret_name, name, uid = (
        claims[f"{_SECRET_CLAIM}{field}"]
        for field in ("namespace", "secret.name", "service-account.name", "service-account.uid")
    )
    account, secret = state.store.get(ACCOUNTS, namespace, name), state.store.get(SECRETS, namespace, secret_name)
    held = ((secret or {}).get("data") or {}).get("token")
    if account is None or account["metadata"]["uid"] != uid or held != base64.b64encode(token.encode()).decode():
        return None
    return service_account(namespace, name, uid, {})


def token_user(state: State, token: str, audiences: Collection[str] = (ISSUER,)) -> User | None:
    """Return the service account of a token, or None if it is invalid, expired, for other audiences, or unbound."""
    claims = _claims(state, token)
    if claims is not None and claims["iss"] == _SECRET_ISSUER:
        return _secret_user(state, token, claims) if ISSUER in audiences else None
    if claims is None or claims["exp"] <= state.clock.time() or not matching_audiences(claims["aud"], audiences):
        return None
    bound = claims["kubernetes.io"]
    namespace, name = bound["namespace"], bound["serviceaccount"]["name"]
    account = state.store.get(ACCOUNTS, namespace, name)
    if account is None or account["metadata"]["uid"] != bound["serviceaccount"]["uid"]:
        return None
    extra = {f"{_EXTRA}credential-id": (f"JTI={claims['jti']}",)}
    for member, plural in _BINDABLE.items():
        held = bound.get(member)
        if held is None:
            continue
        key: Key = ("", plural)
        obj = state.store.get(key, "" if member == "node" else namespace, held["name"])
        if obj is None or obj["metadata"]["uid"] != held["uid"]:
            return None
        if member != "secret":
            extra |= {f"{_EXTRA}{member}-name": (held["name"],), f"{_EXTRA}{member}-uid": (held["uid"],)}
    return service_account(namespace, name, account["metadata"]["uid"], extra)


def token_audiences(state: State, token: str) -> list[str]:
    """Return the audiences of a token, none if it is invalid."""
    claims = _claims(state, token)
    return list(claims.get("aud", (ISSUER,))) if claims is not None else []


def matching_audiences(meant: Iterable[str], asking: Collection[str]) -> list[str]:
    """Return the audiences of a token that were requested."""
    return [audience for audience in meant if audience in asking]


def _bound(state: State, namespace: str, account: str, reference: Any) -> Object:
    """Return the claim that binds a token to a Pod, Secret or Node (400, 404, 409)."""
    if reference is None:
        return {}
    member, name = str(reference.get("kind", "")).lower(), reference.get("name", "")
    if member not in _BINDABLE:
        group, _, version = reference.get("apiVersion", "").rpartition("/")
        raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={reference.get('kind', '')}")
    served = state.registry.built_in("", _BINDABLE[member])
    obj = state.store.get(served.storage, "" if member == "node" else namespace, name)
    if obj is None:
        raise not_found(served, name)
    uid = obj["metadata"]["uid"]
    if reference.get("uid") not in (None, "", uid):
        reason = (
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record."
            " The object might have been deleted and then recreated"
        )
        raise conflict(replace(served, plural=served.kind), name, reason)
    if member == "pod" and (obj.get("spec") or {}).get("serviceAccountName") != account:
        reason = f'cannot bind token for serviceaccount "{account}" to pod running with different serviceaccount name.'
        raise bad_request(reason)
    return {member: {"name": name, "uid": uid}}


def _signed(state: State, claims: Object) -> str:
    # Imported at the first token: `cryptography` takes a tenth of a server's start.
    from clientgo_apiserver.auth.signing import sign  # noqa: PLC0415

    return sign(state.options.token_key, claims)


def _claims(state: State, token: str) -> Object | None:
    from clientgo_apiserver.auth.signing import claims_of  # noqa: PLC0415

    return claims_of(state.options.token_key, token)
