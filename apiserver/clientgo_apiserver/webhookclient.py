"""Client of webhooks: HTTP/1.1 calls on the server's event loop, with failures in the words of Go's client.

A call occupies neither a thread nor a slot, and each lookup of a name has a thread of its own, so a webhook that hangs
delays only the requests that need it. Without a cluster network, services cannot be resolved: a webhook needs a `url`,
or its service an endpoint in `ServerOptions.webhook_services`.
"""

import asyncio
import re
import socket
import ssl
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from posixpath import normpath
from typing import Any, TypeVar
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

import httptools
import msgspec

from clientgo.tls import client_context
from clientgo_apiserver.hostlookups import HostLookups, Resolve
from clientgo_apiserver.http.decode import parse_json
from clientgo_apiserver.http.status import ApiFailure
from clientgo_apiserver.limits import MAX_RESPONSE_BYTES

R = TypeVar("R")
Key = tuple[str, str, str]

ANY_SERVICE = "*"
"""Key in `webhook_services` of the endpoint of all other services."""

_MAX_CONCURRENT = 64  # calls for one request
_MAX_IDLE = 8  # connections to keep open, for each webhook server
_MAX_REASON = 200
_READ = 64 * 1024
_CONTEXTS = 32
_SAFE = "/%:@!$&'()*+,;=~-._"
_MISTYPED = re.compile(r"Expected `([^`]+)`, got `([^`]+)` - at `\$\.([^`]+)`")
_GO_NAMES = {"str": "string", "int": "number", "float": "number", "object": "object", "array": "array", "bool": "bool"}


@dataclass(frozen=True, slots=True)
class WebhookEndpoint:
    """URL of a webhook, and the CA (PEM) that signs its certificate; without one, the system's CAs."""

    url: str
    ca: str = ""


class ReviewStatus(msgspec.Struct, rename="camel", omit_defaults=True):
    """A metav1.Status in a webhook's response. Its members are those of Go's type, so that clients can decode them."""

    status: str | None = None
    message: str | None = None
    reason: str | None = None
    details: "ReviewStatusDetails | None" = None
    code: int | None = None


class ReviewStatusDetails(msgspec.Struct, rename="camel", omit_defaults=True):
    """The details of a metav1.Status."""

    name: str | None = None
    group: str | None = None
    kind: str | None = None
    uid: str | None = None
    causes: "list[ReviewStatusCause] | None" = None
    retry_after_seconds: int | None = None


class ReviewStatusCause(msgspec.Struct, omit_defaults=True):
    """A cause of a metav1.Status."""

    reason: str | None = None
    message: str | None = None
    field: str | None = None


class CallFailed(Exception):
    """The webhook did not return a usable response; the message gives the reason."""


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
        address = f"https://{short}.{namespace}.svc:{service.get('port') or 443}{_clean(path)}?timeout={seconds:g}s"
        raise CallFailed(f'Post "{address}": service "{short}" not found')
    if base is None:
        reason = "this server has no network of services: start it with --webhook-dir, or give clientConfig a url"
        raise CallFailed(f"service {name} cannot be resolved: {reason}")
    return WebhookEndpoint(base.url.rstrip("/") + _clean(path), ca or base.ca)


def _clean(path: str) -> str:
    """Return the path as Go's client joins it: without empty parts, and without a slash at the end."""
    return "/" + normpath(f"/{path}").lstrip("/")


async def concurrently(calls: Iterable[Coroutine[Any, Any, R]]) -> list[R]:
    """Await coroutines that call webhooks, some at a time; return their results, or raise the first error in order."""
    slots = asyncio.Semaphore(_MAX_CONCURRENT)

    async def one_of_many(call: Coroutine[Any, Any, R]) -> R:
        async with slots:
            return await call

    outcomes = await asyncio.gather(*map(one_of_many, calls), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return outcomes  # type: ignore[return-value]  # mypy does not see that errors were raised


class WebhookClient:
    """Posts reviews to webhooks over keep-alive connections, until `close`. It belongs to one event loop at a time."""

    def __init__(self, *, resolve: Resolve = socket.getaddrinfo) -> None:
        self._lookups = HostLookups(resolve)
        self._idle: dict[Key, list[_Connection]] = {}
        self._calls: set[asyncio.Task[_Response]] = set()
        self._closed = False

    def __repr__(self) -> str:
        return f"<WebhookClient {len(self._calls)} calls, {sum(map(len, self._idle.values()))} idle connections>"

    async def post(self, endpoint: WebhookEndpoint, review: Any, seconds: float, answer_type: type[R]) -> R:
        """Return the webhook's response, a JSON object with status 200, as a msgspec struct of this type.

        Raises:
            CallFailed: no connection, no complete response within `seconds`, or another response.
            ApiFailure: 503, the server stops.
        """
        url = f"{endpoint.url}{'&' if '?' in endpoint.url else '?'}timeout={seconds:g}s"
        try:
            async with asyncio.timeout(seconds):
                response = await self._call(urlsplit(url), endpoint.ca, msgspec.json.encode(review))
        except (OSError, EOFError, ValueError, httptools.HttpParserError) as error:
            raise CallFailed(f'Post "{url}": {_explained(error, url)}') from error
        if response.status != 200:
            text = response.body.decode(errors="replace").strip()[:_MAX_REASON]
            raise CallFailed(f"the server answered {response.status}{': ' + text if text else ''}")
        return _decode(response.body, answer_type)

    def close(self) -> None:
        """Fail the calls that have no response yet (503), and all later ones."""
        self._closed = True
        for call in self._calls:
            call.cancel()
        self.close_idle()

    def close_idle(self) -> None:
        """Close the connections that no call uses."""
        self._lookups.forget()
        idle, self._idle = self._idle, {}
        for connection in (connection for connections in idle.values() for connection in connections):
            connection.abort()

    async def _call(self, url: SplitResult, ca: str, body: bytes) -> "_Response":
        if self._closed:
            raise _stopping()
        call = asyncio.ensure_future(self._exchange(url, ca, body))
        self._calls.add(call)
        try:
            return await call
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if (caller is None or not caller.cancelling()) and self._closed:
                raise _stopping() from None
            raise
        finally:
            self._calls.discard(call)

    async def _exchange(self, url: SplitResult, ca: str, body: bytes) -> "_Response":
        key = url.scheme, url.netloc, ca
        target = f"{quote(url.path, safe=_SAFE)}?{quote(url.query, safe=_SAFE)}"
        head = f"POST {target} HTTP/1.1\r\nHost: {url.netloc}\r\nUser-Agent: kube-apiserver\r\n"
        head += f"Accept: application/json\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        connection = self._idle_connection(key) or await self._connect(url, ca)
        reusable = False
        try:
            response = await connection.exchange(head.encode() + body)
            reusable = response.keep_alive and not self._closed
            return response
        finally:
            idle = self._idle.setdefault(key, [])
            if reusable and len(idle) < _MAX_IDLE:
                idle.append(connection)
            else:
                connection.abort()

    async def _connect(self, url: SplitResult, ca: str) -> "_Connection":
        """Return a connection to the first address that accepts one; raise the error of the last."""
        addresses = await self._lookups.addresses(url.hostname or "")
        for address in addresses[:-1]:
            with suppress(OSError):
                return await _Connection.open(address, url, ca)
        return await _Connection.open(addresses[-1], url, ca)

    def _idle_connection(self, key: Key) -> "_Connection | None":
        idle = self._idle.get(key, [])
        while idle:
            connection = idle.pop()
            if not connection.ended:
                return connection
            connection.abort()
        return None


class _Connection:
    """One connection to a webhook's server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, address: str, url: SplitResult, ca: str) -> "_Connection":
        """Connect to an address of the URL's host."""
        secure = url.scheme == "https"
        port = url.port or (443 if secure else 80)
        options: dict[str, Any] = {"ssl": _context(ca), "server_hostname": url.hostname} if secure else {}
        return cls(*await asyncio.open_connection(address, port, **options))

    @property
    def ended(self) -> bool:
        """True if the peer has closed the connection, or the loop has lost it."""
        return self._reader.at_eof() or self._writer.is_closing()

    async def exchange(self, message: bytes) -> "_Response":
        """Send a request and return its response. It is never sent again: the webhook may have handled it."""
        response = _Response()
        self._writer.write(message)
        while not response.complete:
            data = await self._reader.read(_READ)
            response.feed(data) if data else response.end()
        return response

    def abort(self) -> None:
        """Close the connection without waiting for the peer."""
        self._writer.transport.abort()


class _Response:
    """A response while it arrives; the methods `on_*` are those of the parser's protocol."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._parts: list[bytes] = []
        self._size = 0
        self._delimited = False
        self.complete = False
        self.keep_alive = False
        self.status = 0

    @property
    def body(self) -> bytes:
        """The body as far as it has arrived."""
        return b"".join(self._parts)

    def feed(self, data: bytes) -> None:
        """Parse received bytes; raise `HttpParserError` or `ValueError`."""
        self._size += len(data)
        if self._size > MAX_RESPONSE_BYTES:
            raise ValueError(f"the response is larger than {MAX_RESPONSE_BYTES} bytes")
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            raise ValueError("unrequested switch of protocols") from None

    def end(self) -> None:
        """Handle the end of the connection, which ends a body without a length; raise `EOFError`."""
        if not self.status or self._delimited:
            raise EOFError("unexpected EOF" if self._size else "EOF")
        self.complete = True

    def on_header(self, name: bytes, _: bytes) -> None:
        self._delimited = self._delimited or name.lower() in (b"content-length", b"transfer-encoding")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        self.status = status if status >= 200 else 0

    def on_body(self, data: bytes) -> None:
        self._parts.append(data)

    def on_message_complete(self) -> None:
        if not self.status:
            self._delimited = False  # an interim response (1xx): the final one follows
            return
        self.keep_alive = not self.complete and self._parser.should_keep_alive()  # a second message was not asked for
        self.complete = True


def _stopping() -> ApiFailure:
    return ApiFailure(503, "ServiceUnavailable", "apiserver is shutting down", headers=(("Retry-After", "1"),))


def _decode(body: bytes, answer_type: type[R]) -> R:
    try:
        value = parse_json(body)
    except ValueError as error:
        raise CallFailed(f"couldn't get version/kind; json parse error: {error}") from error
    if not isinstance(value, dict):
        raise CallFailed("expected a JSON object")
    try:
        return msgspec.convert(value, answer_type)
    except msgspec.ValidationError as error:
        mistyped = _MISTYPED.fullmatch(str(error))
        if mistyped is None:
            raise CallFailed(f"json: {error}") from error
        expected, got = (_GO_NAMES.get(name.partition(" ")[0], name) for name in (mistyped[1], mistyped[2]))
        field = f"{answer_type.__name__.lstrip('_')}.{mistyped[3]}"
        reason = f"json: cannot unmarshal {got} into Go struct field {field} of type {expected}"
        raise CallFailed(reason) from error


def _explained(error: Exception, url: str) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"tls: failed to verify certificate: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "context deadline exceeded"
    if isinstance(error, ConnectionRefusedError):
        return f"dial tcp {urlsplit(url).netloc}: connect: connection refused"
    return str(error)


@lru_cache(maxsize=_CONTEXTS)
def _context(ca: str) -> ssl.SSLContext:
    return client_context(ca)
