"""Calls of webhooks: their address, the CA to trust, and errors in the words of Go's client.

Without a cluster network, services cannot be resolved: a webhook needs a `url`, or its service an endpoint in
`ServerOptions.webhook_services`.
"""

import ssl
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping
from functools import lru_cache
from posixpath import normpath
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec
import urllib3

from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.state import ANY_SERVICE, WebhookEndpoint
from clientgo.tls import client_context

_LARGEST_REASON = 200
_POOLS = 32


class CallFailed(Exception):
    """The webhook did not return a usable response; the message says why."""


def endpoint_of(
    client: Mapping[str, Any], services: Mapping[str, WebhookEndpoint], *, seconds: float, exists: bool = True
) -> WebhookEndpoint:
    """Return the endpoint of a `clientConfig`; `services` maps `namespace/name`, or `*` for all others, to endpoints.

    `exists` tells whether its Service exists, and `seconds` the time limit of the call, for messages.

    Raises:
        CallFailed: the address of its service is unknown, or its CA is not base64.
    """
    try:
        ca = b64decode(client.get("caBundle") or "", validate=True).decode(errors="replace")
    except (NotBase64, TypeError) as error:
        raise CallFailed(f"unable to load root certificates: {error}") from error
    if client.get("url"):
        url = urlsplit(client["url"])
        return WebhookEndpoint(urlunsplit(url._replace(path=_clean(url.path))), ca)
    service = client.get("service") or {}
    namespace, short, path = (service.get(member) or "" for member in ("namespace", "name", "path"))
    name = f"{namespace}/{short}"
    base = services.get(name) or services.get(ANY_SERVICE)
    if base is None and not exists:
        url = f"https://{short}.{namespace}.svc:{service.get('port') or 443}{_clean(path)}?timeout={seconds:g}s"
        raise CallFailed(f'Post "{url}": service "{short}" not found')
    if base is None:
        why = "this server has no network of services: start it with --webhook-dir, or give clientConfig a url"
        raise CallFailed(f"service {name} cannot be resolved: {why}")
    return WebhookEndpoint(base.url.rstrip("/") + _clean(path), ca or base.ca)


def _clean(path: str) -> str:
    """Return the path as Go's client joins it: without empty parts, and without a slash at the end."""
    return "/" + normpath(f"/{path}").lstrip("/")


def post(endpoint: WebhookEndpoint, body: Object, seconds: float) -> Object:
    """Return the webhook's response; connecting and answering may each take `seconds`.

    Raises:
        CallFailed: no connection, a timeout, or a response other than a JSON object with status 200.
    """
    url = f"{endpoint.url}{'&' if '?' in endpoint.url else '?'}timeout={seconds:g}s"
    try:
        pool = _pool(endpoint.ca)
        answer = pool.request(
            "POST",
            url,
            body=msgspec.json.encode(body),
            headers={"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "kube-apiserver"},
            timeout=urllib3.Timeout(connect=seconds, read=seconds),
        )
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        raise CallFailed(f'Post "{url}": {_explained(error, endpoint.url)}') from error
    if answer.status != 200:
        text = answer.data.decode(errors="replace").strip()[:_LARGEST_REASON]
        raise CallFailed(f"the server answered {answer.status}{': ' + text if text else ''}")
    try:
        value = msgspec.json.decode(answer.data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CallFailed(f"couldn't get version/kind; json parse error: {error}") from error
    if not isinstance(value, dict):
        raise CallFailed("expected a JSON object")
    return value


def _explained(error: Exception, url: str) -> str:
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    for one in causes:
        if isinstance(one, ssl.SSLCertVerificationError):
            return f"tls: failed to verify certificate: {one.verify_message}"
        if isinstance(one, ConnectionRefusedError):
            return f"dial tcp {urlsplit(url).netloc}: connect: connection refused"
    late = any(isinstance(one, urllib3.exceptions.TimeoutError | TimeoutError) for one in causes)
    return "context deadline exceeded" if late else str(error)


@lru_cache(maxsize=_POOLS)
def _pool(ca: str) -> urllib3.PoolManager:
    """Return the connection pool of a CA; calls come from many threads."""
    return urllib3.PoolManager(ssl_context=client_context(ca), retries=False, maxsize=8)
