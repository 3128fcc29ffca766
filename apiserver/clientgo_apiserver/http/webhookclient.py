"""Client of webhooks: calls by the library's HTTP client in threads, with failures in the words of Go's client.

Each call has a thread of its own while it lasts, so a webhook that hangs delays only the requests that need it. Without
a cluster network, services cannot be resolved: a webhook needs a `url`, or its service an endpoint in
`ServerOptions.webhook_services`.
"""

import asyncio
import socket
import ssl
import threading
from base64 import b64decode
from binascii import Error as NotBase64
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial
from posixpath import normpath
from typing import Any, NamedTuple, TypeVar, get_args, get_origin
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

import msgspec

from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import ConfigError, ConnectionFailed
from clientgo.internal.calloutcome import CallOutcome
from clientgo.internal.patterns import lazy_pattern
from clientgo.rest.config import Config
from clientgo.rest.connections.dial import Dialer
from clientgo.rest.connections.http1 import TooLarge
from clientgo.rest.connections.pool import PoolTransport
from clientgo.rest.connections.tcp import Resolve
from clientgo.rest.limits import Deadline, InFlightRequest, started_deadline
from clientgo.rest.transport import HTTPReply
from clientgo.stop.eventloop import call_in_loop
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import StopScope, TaskScope
from clientgo_apiserver.api.gotext import json_type
from clientgo_apiserver.api.limits import MAX_RESPONSE_BYTES
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.http.decode import parse_json, parse_yaml

R = TypeVar("R")
W = TypeVar("W", bound="WebhookReview")
_Key = tuple[str, str, str]

ANY_SERVICE = "*"
"""Key in `webhook_services` of the endpoint of all other services."""

_MAX_CONCURRENT = 64  # calls for one request
_MAX_CALLS = 512  # calls at a time, and with them threads
_MAX_IDLE = 8  # connections to keep open, for each webhook server
_MAX_POOLS = 32
_MAX_REASON = 200
_HEADERS = (("User-Agent", "kube-apiserver"), ("Accept", "application/json"), ("Content-Type", "application/json"))
_SAFE = "/%:@!$&'()*+,;=~-._"
_SCHEME = "k8s.io/apiserver/pkg/util/webhook/client.go:71"
_UNREAD = "couldn't get version/kind; json parse error: "
_TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_MISTYPED = lazy_pattern(r"Expected `[^`]+`, got `([^`]+)` - at `\$\.([^`]+)`")
_GO_NAMES = {"str": "string", "int": "number", "float": "number"}
_GO_TYPES = {str: "string", int: "int32", bool: "bool", bytes: "[]uint8", Any: "runtime.RawExtension"}


class WebhookEndpoint(msgspec.Struct, frozen=True):
    """URL of a webhook, and the CA (PEM) that signs its certificate; without one, the system's CAs.

    In place of a Service, the CA has precedence over the `caBundle`, which is for the certificate of the Service.
    """

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


class WebhookReview(msgspec.Struct, rename="camel"):
    """Base of the reviews that webhooks return. As in Go, which decodes into a type, the names may be absent."""

    api_version: str | None = None
    kind: str | None = None


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
    return WebhookEndpoint(base.url.rstrip("/") + _clean(path), base.ca or ca)


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
        self._resolve = resolve
        self._ending = TaskScope()
        self._threads = Group(stop=self._ending.event)
        self._slots = asyncio.Semaphore(_MAX_CALLS)
        self._lock = threading.Lock()
        self._pools: OrderedDict[_Key, PoolTransport] = OrderedDict()  # guarded by _lock

    def __repr__(self) -> str:
        return f"<WebhookClient of {len(self._pools)} servers>"

    async def post(self, endpoint: WebhookEndpoint, review: Any, seconds: float, answer_type: type[W]) -> W:
        """Return the webhook's response, a review of the same kind with status 200, as a msgspec struct of this type.

        Raises:
            CallFailed: no connection, no complete response within `seconds`, or another response.
            ApiFailure: 503, the server stops.
        """
        url = f"{endpoint.url}{'&' if '?' in endpoint.url else '?'}timeout={seconds:g}s"
        try:
            reply = await self._call(url, endpoint.ca, msgspec.json.encode(review), seconds)
        except (ConnectionFailed, ConfigError, TimeoutError, ValueError) as error:
            raise CallFailed(f'Post "{url}": {_explained(error, url)}') from error
        if reply.status != 200:
            text = reply.body.decode(errors="replace").strip()[:_MAX_REASON]
            raise CallFailed(f"the server answered {reply.status}{': ' + text if text else ''}")
        return _decode(reply.body, answer_type, (review["apiVersion"], review["kind"]))

    def close(self) -> None:
        """Fail the calls that have no response yet (503), and all later ones; their threads end."""
        self._ending.stop()
        self.close_idle()

    def close_idle(self) -> None:
        """Close the connections that no call uses; calls of another event loop may follow."""
        self._slots = asyncio.Semaphore(_MAX_CALLS)
        with self._lock:
            pools, self._pools = self._pools, OrderedDict()
        for pool in pools.values():
            pool.close()

    async def _call(self, url: str, ca: str, body: bytes, seconds: float) -> HTTPReply:
        deadline, slots = started_deadline(seconds), self._slots
        async with asyncio.timeout(seconds):
            await slots.acquire()
        try:
            if self._ending.event.is_set():
                raise _stopping()
            return await self._in_thread(partial(self._send, urlsplit(url), ca, body, deadline))
        except ConnectionFailed as error:
            if error.stopping:
                raise _stopping() from None
            raise
        finally:
            slots.release()

    async def _in_thread(self, send: Callable[[StopScope], HTTPReply]) -> HTTPReply:
        scope, loop = TaskScope(), asyncio.get_running_loop()
        future: asyncio.Future[CallOutcome[HTTPReply]] = loop.create_future()

        def call() -> None:
            call_in_loop(loop, _deliver, future, CallOutcome.of(partial(send, scope)))

        self._threads.start(call, name="webhook-call")
        try:
            outcome = await future
        finally:
            scope.stop()  # if the request was cancelled
        return outcome.get()

    def _send(self, url: SplitResult, ca: str, body: bytes, deadline: Deadline, scope: StopScope) -> HTTPReply:
        target = f"{quote(url.path, safe=_SAFE)}?{quote(url.query, safe=_SAFE)}"
        pool = self._pool(url, ca)
        with InFlightRequest(deadline.timeout, SYSTEM_CLOCK, (scope, self._ending)) as request:
            request.start()
            try:
                return pool.request("POST", target, _HEADERS, body, request.remaining())
            except ConnectionFailed as error:
                raise request.stopped(error) or error from error.__cause__

    def _pool(self, url: SplitResult, ca: str) -> PoolTransport:
        key = url.scheme, url.netloc, ca
        with self._lock:
            if key not in self._pools:
                config = Config(f"{url.scheme}://{url.netloc}", ca_data=ca)
                dialer = Dialer(config, environ={}, resolve=self._resolve)
                self._pools[key] = PoolTransport(dialer, max_idle=_MAX_IDLE, max_response_bytes=MAX_RESPONSE_BYTES)
            self._pools.move_to_end(key)
            if len(self._pools) > _MAX_POOLS:
                self._pools.popitem(last=False)[1].close()
            return self._pools[key]


def _deliver(future: asyncio.Future[CallOutcome[HTTPReply]], outcome: CallOutcome[HTTPReply]) -> None:
    if not future.done():
        future.set_result(outcome)


def _stopping() -> ApiFailure:
    return ApiFailure(503, "ServiceUnavailable", "apiserver is shutting down", headers=(("Retry-After", "1"),))


def _decode(body: bytes, answer_type: type[W], names: tuple[str, str]) -> W:
    """Decode the JSON or YAML of a review, with errors in the words of Go's client."""
    if not body:
        raise CallFailed("0-length response with status code: 200 and content type: application/json")
    is_json = body.lstrip().startswith(b"{")
    try:
        value = parse_json(body) if is_json else parse_yaml(body)
    except ValueError as error:
        raise CallFailed(f"{_UNREAD if is_json else ''}{error}") from error
    if not isinstance(value, dict | None):
        reason = f"json: cannot unmarshal {json_type(value)} into Go value of type {_TYPE_META}"
        raise CallFailed(f"{_UNREAD}{reason}")
    try:
        review = msgspec.convert(value or {}, answer_type)
    except msgspec.ValidationError as error:
        mistyped = _MISTYPED.fullmatch(str(error))
        raise CallFailed(f"json: {error}" if mistyped is None else _explain(answer_type, *mistyped.groups())) from error
    version, kind = review.api_version or names[0], review.kind or names[1]
    if (version, kind) == (f"{names[0]}beta1", names[1]):
        raise CallFailed(f"converting (v1beta1.{kind}) to (v1.{kind}): unknown conversion")
    if (version, kind) != names:
        raise CallFailed(f'no kind "{kind}" is registered for version "{version}" in scheme "{_SCHEME}"')
    return review


def _explain(answer_type: type[Any], kind: str, path: str) -> str:
    """Return how Go reports that the value at this path is of this kind."""
    names, owner, expected = [], "", _GoField(answer_type)
    for part in path.replace("[...]", "[]").split("."):
        name, *indexes = part.split("[")
        names.append(name)
        owner, expected = expected.struct_name, expected.member(name, len(indexes))
    is_meta = path in ("apiVersion", "kind")
    field = f"{'' if is_meta else owner}.{'.'.join(names)}"
    type_name = "types.UID" if name == "uid" else expected.type_name
    reason = f"json: cannot unmarshal {_GO_NAMES.get(kind, kind)} into Go struct field {field} of type {type_name}"
    return f"{_UNREAD if is_meta else ''}{reason}"


class _GoField(NamedTuple):
    """A field of a review by its annotation, and how Go names it."""

    annotation: Any

    @property
    def struct_name(self) -> str:
        """Name of the Go struct that the field holds."""
        return str(self.annotation.__name__).lstrip("_").removeprefix("Review")

    @property
    def type_name(self) -> str:
        """Name of the field's Go type."""
        if get_origin(self.annotation) is list:
            return f"[]{_GoField(get_args(self.annotation)[0]).type_name}"
        if get_origin(self.annotation) is dict:
            return f"map[string]{_GoField(get_args(self.annotation)[1]).type_name}"
        return _GO_TYPES.get(self.annotation) or f"v1.{self.struct_name}"

    def member(self, name: str, depth: int) -> "_GoField":
        """Return a field of the struct, or what that holds `depth` levels below."""
        fields = msgspec.structs.fields(self.annotation)
        annotation = next(field.type for field in fields if field.encode_name == name)
        annotation = next((each for each in get_args(annotation) if type(None) in get_args(annotation)), annotation)
        for _ in range(depth):
            annotation = get_args(annotation)[-1]
        return _GoField(annotation)


def _explained(error: Exception, url: str) -> str:
    cause = error.__cause__ or error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"tls: failed to verify certificate: {cause.verify_message}"
    if isinstance(error, TimeoutError) or (isinstance(error, ConnectionFailed) and error.timeout):
        return "context deadline exceeded"
    if isinstance(error, ConnectionFailed) and error.refused:
        return f"dial tcp {urlsplit(url).netloc}: connect: connection refused"
    if isinstance(cause, TooLarge):
        return f"the response is larger than {MAX_RESPONSE_BYTES} bytes"
    return str(cause)
