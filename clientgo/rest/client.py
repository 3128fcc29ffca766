"""REST client: adds credentials, retries, rate limiting, warnings and metrics to a `Transport`.

It sends and returns bytes, which `clientgo.typed` encodes and decodes. Error responses are raised as `ApiError`, and so
is a failure Status with an HTTP status of 200.
"""

import copy
import os
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError, ConnectionFailed
from clientgo.log import get_logger
from clientgo.meta.objects import EMPTY_MAP
from clientgo.meta.typemeta import ANY_RESPONSE, check_response, invalid_response
from clientgo.metrics import safe_provider
from clientgo.rest.auth import credentials_for
from clientgo.rest.body_log import bodies_are_logged, log_received, log_sent
from clientgo.rest.bounds import MAX_ERROR_BYTES, MAX_FRAME, MAX_REDIRECTS, MAX_RETRIES, SILENCE, read_error
from clientgo.rest.clientmetrics import ERROR, RequestMetrics
from clientgo.rest.config import Config, server_url
from clientgo.rest.flowcontrol import RequestRateLimiter, Throttle, TokenBucketRateLimiter
from clientgo.rest.headers import (
    MediaTypes,
    RequestHeaders,
    WarningHandler,
    WarningLogger,
    handle_warnings,
    media_types_of,
)
from clientgo.rest.limits import InFlightRequest, require_permission
from clientgo.rest.request import (
    JSON,
    ByteStream,
    EventStream,
    Request,
    follow_redirects,
    query_string,
    seconds_text,
    target_of,
)
from clientgo.rest.retry import Retry, chain_errors, retry_for_error, retry_for_response
from clientgo.rest.transport import (
    AnyResponse,
    Duplex,
    Headers,
    HTTPReply,
    HTTPStream,
    Received,
    StoppableDuplex,
    StoppableStream,
    Transport,
    upgradable,
)
from clientgo.rest.watchstream import WatchStream
from clientgo.stop.stopping import GRACE, Scopes, current_scopes, scope_of

log = get_logger(__name__)

_READS = ("GET", "HEAD")

STOPPED = "stopping: request not retried"
OUT_OF_TIME = "timeout of the request exceeded: not retried"

A = TypeVar("A", bound=AnyResponse)
K = TypeVar("K")


class _Call(msgspec.Struct, frozen=True):
    """Values shared by all attempts of a request."""

    method: str
    body: bytes | None
    media_types: MediaTypes
    read_timeout: float
    """Seconds that the server may be silent."""
    limits: InFlightRequest


class RESTClient:
    """Sends requests to the server of a `Config`; safe for any number of threads. Implements `Requester`.

    `stop`, once set, ends all requests, as the stop event of the thread that sends them does: waits and reads at once,
    writes after `stop_grace` seconds, each with a `ConnectionFailed` whose `stopping` is True. Later requests have as
    long together, unless the server answers.

    `on_warning` is called with the text of each warning; by default each text is logged once. A `rate_limiter` takes
    precedence over the configuration's `qps` and `burst`, and may be shared. `environ` may configure a proxy.

    Raises:
        ConfigError: the configuration is unusable.
    """

    supports_watch_list = lists_in_parts = True
    """Informers may use streaming lists (KEP-3157), which servers before 1.32 reject, and read lists from a stream."""

    def __init__(
        self,
        config: Config,
        *,
        transport: Transport | None = None,
        clock: Clock = SYSTEM_CLOCK,
        stop: threading.Event | None = None,
        stop_grace: float = GRACE,
        on_warning: WarningHandler | None = None,
        rate_limiter: RequestRateLimiter | None = None,
        max_retries: int = MAX_RETRIES,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        _check_config(config)
        self.config = config
        self._clock = clock
        self._scopes: Scopes = () if stop is None else (scope_of(stop),)
        self._stop_grace = stop_grace
        self._credentials = credentials_for(config, clock)
        self.server = server_url(config).geturl()
        """The server's address."""
        self._transport = transport or self._connections(os.environ if environ is None else environ)
        self._on_warning = on_warning or WarningLogger()
        self._max_retries = max_retries
        self._timeout = config.timeout
        self._headers = RequestHeaders(config, self._credentials.authorization)
        self._metrics = RequestMetrics(safe_provider(), server_url(config).netloc)
        self._throttle: Throttle | None = None
        if rate_limiter is None and config.qps > 0:
            rate_limiter = TokenBucketRateLimiter(config.qps, config.burst, clock=clock)
        if rate_limiter is not None:
            self._throttle = Throttle(rate_limiter, clock, self._metrics)

    def __repr__(self) -> str:
        return f"<RESTClient {self.server}>"

    def with_stop(self, stop: threading.Event) -> "RESTClient":
        """Return a client with the same connections and rate limiter, whose requests end with `stop` too."""
        client = copy.copy(self)
        client._scopes = (*self._scopes, scope_of(stop))
        return client

    def do(self, request: Request) -> bytes:
        """Send a request and return the response body; raise `ApiError` or `ConnectionFailed`."""
        body, lag = request.body, request.retry_lagging
        media_types = media_types_of("" if body is None else request.content_type, request.accept)
        return self._send(request.method, target_of(request), body, media_types, request.timeout, retry_lagging=lag)

    def raw(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = EMPTY_MAP,
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = "application/json, */*",
    ) -> bytes:
        """Send a request to any path below the server's address; return the response body."""
        target = f"{path}?{query_string(query)}" if query else path
        return self._send(method, target, body, media_types_of("" if body is None else content_type, accept), None)

    def watch(self, request: Request) -> EventStream:
        """Open a watch; raise `ApiError` or `ConnectionFailed` if that fails.

        If the server closes the connection while the watch is opened, the stream is empty. The request's timeout
        limits only the opening; `timeoutSeconds` in the query limits the watch.
        """
        try:
            return WatchStream(
                self._opened("GET", request, self._open, StoppableStream),
                self.server,
                seconds=float(request.query.get("timeoutSeconds") or 0),
                bookmarks=request.query.get("allowWatchBookmarks") == "true",
                idle_timeout=self.config.watch_idle_timeout,
                max_frame=min(MAX_FRAME, self.config.max_response_bytes or MAX_FRAME),
            )
        except ConnectionFailed as error:
            if not error.broken:
                raise
            log.debug("watch ended while it was being opened", extra={"url": request.path, "err": error})
            return Received()

    def stream(self, request: Request) -> ByteStream:
        """Open a stream of a body's bytes; raise `ApiError` or `ConnectionFailed` if that fails.

        The request's timeout limits only the opening. Later the server may be silent, except in a list. A list with a
        timeout is received at once, as the timeout concerns the whole body.
        """
        if request.verb != "list":
            response = self._opened("GET", request, self._open, StoppableStream)
            response.idle_timeout = None
            return response
        if request.timeout is not None or self._timeout is not None or bodies_are_logged():
            return Received(self.do(request))
        keep = partial(StoppableStream, max_bytes=self.config.max_response_bytes)
        return self._opened("GET", request, partial(self._open, throttle=self._throttle), keep)

    def upgrade(self, request: Request, headers: Headers) -> Duplex:
        """Switch the protocol of a new connection; raise `ApiError` or `ConnectionFailed` if that fails.

        The request is not sent again if its connection breaks: a command may have been run.
        """
        return self._opened("CONNECT", request, partial(self._switch, headers), StoppableDuplex)

    def close(self) -> None:
        """Close the connections; requests in progress finish first."""
        self._transport.close()
        self._credentials.close()

    def _connections(self, environ: Mapping[str, str]) -> Transport:
        # Imported here because they load TLS, 50 ms and more.
        from clientgo.rest.connections import dial, pool  # noqa: PLC0415

        dialer = dial.Dialer(self.config, certificate=self._credentials.certificate, environ=environ, clock=self._clock)
        return pool.PoolTransport(dialer, max_response_bytes=self.config.max_response_bytes, clock=self._clock)

    def _send(
        self,
        method: str,
        target: str,
        body: bytes | None,
        media_types: MediaTypes,
        timeout: float | None,
        *,
        retry_lagging: bool = True,
    ) -> bytes:
        read_timeout, is_request_timeout = SILENCE, timeout is not None
        if timeout is not None or (timeout := self._timeout) is not None:
            read_timeout = timeout
            target += f"{'&' if '?' in target else '?'}timeout={seconds_text(timeout)}"
        log_bodies = bodies_are_logged()
        if log_bodies:
            log_sent(method, target, body)
        try:
            with self._in_flight(timeout, reads=method in _READS) as current:
                # The configuration's timeout starts after the first wait for the rate limiter, as in client-go: it is
                # meant for the server. A request's own timeout includes that wait.
                if is_request_timeout:
                    current.start()
                call = _Call(method, body, media_types, read_timeout, current)
                reply = self._send_with_retries(
                    call, target, partial(self._send_once, call), retry_lagging=retry_lagging
                )
            if log_bodies:
                log_received(method, target, reply.status, reply.body)
            if 200 <= reply.status < 300:
                check_response(reply.body, ANY_RESPONSE)
                return reply.body
            raise reply.error()
        except ClientGoError as error:
            error.request = f"{method} {target.partition('?')[0]}"
            raise

    def _send_once(self, call: _Call, target: str) -> HTTPReply:
        method, body, limits = call.method, call.body, call.limits
        if self._throttle is not None:
            self._throttle.wait(limits, method, target)
        limits.start()
        headers = self._headers.of(call.media_types)
        read_timeout = limits.before_sending(call.read_timeout)
        if not self._metrics.enabled:
            return self._transport.request(method, target, headers, body, read_timeout)
        send = partial(self._transport.request, method, target, headers, body)
        return self._observe(call, read_timeout, send)

    def _open(self, call: _Call, target: str, throttle: Throttle | None = None) -> HTTPReply | HTTPStream:
        # Watches bypass the rate limiter: a cache that falls behind costs the server more than a watch does.
        if throttle is not None:
            throttle.wait(call.limits, call.method, target)
        headers = self._headers.of(call.media_types)
        read_timeout = call.limits.before_sending(call.read_timeout)
        send = partial(self._transport.stream, "GET", target, headers, idle_timeout=read_timeout)
        stream = self._observe(call, read_timeout, send)
        if 200 <= stream.status < 300:
            if (encoding := stream.headers.get("content-encoding", "identity")) != "identity":
                stream.close()
                raise invalid_response("a stream", f"one with the content encoding {encoding[:40]!r}", self.server)
            return stream
        limit = min(MAX_ERROR_BYTES, self.config.max_response_bytes or MAX_ERROR_BYTES)
        return HTTPReply(stream.status, stream.headers, read_error(stream, limit, self._clock))

    def _observe(self, call: _Call, read_timeout: float, send: Callable[[float], A]) -> A:
        """Call `send` with the seconds it may take, and record the outcome."""
        began, status, received = self._clock.now(), 0, 0
        try:
            response = send(read_timeout)
            status, received = response.status, len(response.body) if isinstance(response, HTTPReply) else 0
        finally:
            if self._metrics.enabled:
                seconds = self._clock.now() - began
                self._metrics.answered(call.method, str(status or ERROR), seconds, len(call.body or b""), received)
        return response

    def _switch(self, headers: Headers, call: _Call, target: str) -> HTTPReply | Duplex:
        send = partial(upgradable(self._transport).upgrade, target, self._headers.of(call.media_types) + headers)
        return self._observe(call, call.limits.before_sending(call.read_timeout), send)

    def _opened(
        self,
        method: str,
        request: Request,
        send: Callable[[_Call, str], HTTPReply | A],
        keep: Callable[[A, InFlightRequest], K],
    ) -> K:
        timeout = self._timeout if request.timeout is None else request.timeout
        try:
            with self._in_flight(timeout) as current:
                current.start()
                media_types = MediaTypes("", request.accept, watch=True)
                call = _Call(method, None, media_types, SILENCE if timeout is None else timeout, current)
                response = self._send_with_retries(
                    call, target_of(request), partial(send, call), retry_lagging=request.retry_lagging
                )
                if isinstance(response, HTTPReply):
                    raise response.error()
                return keep(response, current)
        except ClientGoError as error:
            error.request = f"{method} {request.path}"
            raise

    def _in_flight(self, timeout: float | None, *, reads: bool = True) -> InFlightRequest:
        scopes = self._scopes
        for scope in current_scopes():
            if scope not in scopes:
                scopes = (*scopes, scope)
        return InFlightRequest(timeout, self._clock, scopes, reads=reads, grace=self._stop_grace)

    def _send_with_retries(self, call: _Call, target: str, send: Callable[[str], A], *, retry_lagging: bool) -> A:
        done, previous, refreshed = 0, None, False
        while True:
            try:
                response = send(target)
                if 300 <= response.status < 400 and call.method in _READS:
                    response = follow_redirects(self.server, target, response, send, MAX_REDIRECTS)
            except ConnectionFailed as error:
                retry = self._retry_after(call, done, error, previous)
                previous = error
            else:
                if response.status < 300 and "warning" not in response.headers:
                    return response
                handle_warnings(self._on_warning, response.headers)
                if response.status == 401 and self._refreshed() and not refreshed:
                    refreshed = True
                    continue
                if not retry_lagging and isinstance(response, HTTPReply) and response.lags:
                    return response
                next_retry = retry_for_response(done, response.status, response.headers, limit=self._max_retries)
                if next_retry is None or self._wait(call, next_retry, str(response.status)):
                    return response
                retry = next_retry
            done = retry.attempt

    def _retry_after(self, call: _Call, done: int, error: ConnectionFailed, previous: ConnectionFailed | None) -> Retry:
        """Wait and return the retry of a failed attempt; raise the error if there is none."""
        if (stopped := call.limits.stopped(error)) is not None:
            raise stopped from error
        retry = retry_for_error(done, call.method, error, limit=self._max_retries)
        if retry is None:
            if (chained := chain_errors(error, previous)) is not error:
                raise chained from error
            raise error
        if ended := self._wait(call, retry, ERROR):
            over = ConnectionFailed(ended, timeout=ended == OUT_OF_TIME, stopping=ended == STOPPED)
            raise chain_errors(over, error) from error
        return retry

    def _refreshed(self) -> bool:
        """Handle a 401; return whether the request, which the server did not process, has other credentials now."""
        refreshed = self._credentials.rejected()
        # A certificate belongs to its connection: only a new one can show a certificate file's new content.
        if refreshed or self.config.client_certificate_file:
            self._transport.reset()
        return refreshed

    def _wait(self, call: _Call, retry: Retry, code: str) -> str:
        """Wait before a retry; return an empty text, or the reason not to retry.

        Raises:
            LeaseNotHeld: the request must not be sent any more; the wait ends as soon as this is detected.
        """
        log.debug("retrying request", extra={"verb": call.method, "why": str(retry)})
        remaining = call.limits.remaining()
        # Wait until the deadline even if the retry is due later: the caller must not retry before the server allows it.
        if self._clock.sleep(call.limits.stop_for_wait(), max(0.0, min(retry.wait, remaining))):
            require_permission()
            return STOPPED
        if retry.wait >= remaining:
            return OUT_OF_TIME
        if self._metrics.enabled:
            self._metrics.retried(call.method, code)
        return ""


def _check_config(config: object) -> None:
    if not isinstance(config, Config):
        raise TypeError(f"expected a Config, such as load_config(), got a {type(config).__name__}")
