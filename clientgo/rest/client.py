"""Requests to one API server: credentials, retries, throttle, warnings, metrics around a `Transport`.

Bytes in, bytes out: what the bytes mean is `clientgo.typed`'s business. A refusal is raised as the `ApiError` it is.
"""

import logging
import os
import threading
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConnectionFailed, error_from_response
from clientgo.meta.objects import EMPTY_MAP
from clientgo.metrics import provider
from clientgo.rest.clientmetrics import ERROR, RequestMetrics
from clientgo.rest.config import Config, server_url
from clientgo.rest.flowcontrol import RateLimiter, Throttle, TokenBucketRateLimiter
from clientgo.rest.headers import Kinds, RequestHeaders
from clientgo.rest.headers import default_user_agent as default_user_agent
from clientgo.rest.limits import (
    Deadline,
    before_sending,
    require_permission,
    start_deadline,
    stop_of_request,
    time_left,
)
from clientgo.rest.request import JSON, ByteStream, EventStream, Request
from clientgo.rest.retry import (
    MAX_RETRIES,
    BackoffTransport,
    Retry,
    backoff_from,
    chain_errors,
    is_resource_version_too_large,
    retry_for_error,
    retry_for_response,
)
from clientgo.rest.transport import HTTPReply, HTTPStream, Transport
from clientgo.rest.urls import MAX_REDIRECTS, query_string, redirect_target, seconds_text, target_of
from clientgo.rest.warnings import WarningHandler, WarningLogger, warnings_in
from clientgo.rest.watchstream import EmptyStream, WatchStream

log = logging.getLogger(__name__)

SILENCE = 75.0
"""Seconds a server may be silent during a request when nothing else is set; itself, it ends ordinary ones after 60."""

NOT_AGAIN = "stopping: the request was not sent again"
OUT_OF_TIME = "the timeout of the request has passed: it was not sent again"

_NEVER = threading.Event()


class _Answer(Protocol):
    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...


A = TypeVar("A", bound=_Answer)


class RESTClient:
    """Sends requests to the server of a `Config`; safe for any number of threads. Implements `Requester`.

    `stop`, once set, ends waits for retries and for the throttle. `on_warning` is given each warning's text; by default
    it is logged, once per text. A `rate_limiter` goes before the configuration's `qps` and `burst`, and may be shared.
    `environ` may ask for a proxy, and for pauses before requests to a failing server.

    Raises:
        ConfigError: the configuration is unusable.
    """

    supports_watch_list = True
    """Lists may be asked for as watches (KEP-3157): servers have it since 1.32, and older ones say that they don't."""

    def __init__(
        self,
        config: Config,
        *,
        transport: Transport | None = None,
        clock: Clock = SYSTEM_CLOCK,
        stop: threading.Event | None = None,
        on_warning: WarningHandler | None = None,
        rate_limiter: RateLimiter | None = None,
        max_retries: int = MAX_RETRIES,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        # Imported here, as in _connections, because whoever needs but types, listers or fakes needs no credentials.
        from clientgo.rest.auth import credentials_for  # noqa: PLC0415
        from clientgo.rest.body_log import BodyLog  # noqa: PLC0415

        self.config = config
        self._clock = clock
        self._stop = stop if stop is not None else _NEVER
        self._credentials = credentials_for(config, clock)
        self._where = server_url(config).geturl()
        self._transport = self._paused(transport or self._connections(environ), environ)
        self._on_warning = on_warning or WarningLogger()
        self._max_retries = max_retries
        self._timeout = config.timeout
        self._headers = RequestHeaders(config, self._credentials.authorization)
        self._bodies = BodyLog()
        self._metrics = RequestMetrics(provider(), server_url(config).netloc)
        self._throttle: Throttle | None = None
        if rate_limiter is None and config.qps > 0:
            rate_limiter = TokenBucketRateLimiter(config.qps, config.burst, clock=clock)
        if rate_limiter is not None:
            self._throttle = Throttle(rate_limiter, clock, self._stop)

    def __repr__(self) -> str:
        return f"<RESTClient {self._where}>"

    def do(self, request: Request) -> bytes:
        """The body of the answer; raises `ApiError` or `ConnectionFailed`."""
        body = request.body
        kinds = ("" if body is None else request.content_type, request.accept, False)
        lag = request.retry_lagging
        return self._send(request.method, target_of(request), body, kinds, request.timeout, retry_lagging=lag)

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
        """The body of the answer to any path below the server's address; raises `ApiError` or `ConnectionFailed`."""
        target = f"{path}?{query_string(query)}" if query else path
        return self._send(method, target, body, ("" if body is None else content_type, accept, False), None)

    def watch(self, request: Request) -> EventStream:
        """Open a watch; raises `ApiError` or `ConnectionFailed` if it can't be opened.

        A server that closes the connection while the watch is opened gives an empty stream, as one that ends it then.
        A timeout is for the opening; how long the watch lasts is what its query says.
        """
        try:
            answer, seconds = self._opened(request), float(request.query.get("timeoutSeconds") or 0)
            return WatchStream(answer, self._where, seconds=seconds, idle_timeout=self.config.watch_idle_timeout)
        except ConnectionFailed as error:
            if not error.broken or self._stop.is_set():
                raise
            log.debug("watch ended while it was opened", extra={"url": request.path, "err": error})
            return EmptyStream()

    def stream(self, request: Request) -> ByteStream:
        """Open a stream of a body's bytes; raises `ApiError` or `ConnectionFailed` if it can't be opened.

        A timeout is for the opening. Later the server may be silent; TCP keep-alive notices if its machine is gone.
        """
        answer = self._opened(request)
        answer.idle_timeout = None
        return answer

    def close(self) -> None:
        """Close the connections; requests under way finish first."""
        self._transport.close()

    def _connections(self, environ: Mapping[str, str]) -> Transport:
        # Imported here because they load urllib3 and TLS, 50 ms and more.
        from clientgo.rest.connections.dial import Dialer  # noqa: PLC0415
        from clientgo.rest.connections.pool import PoolTransport  # noqa: PLC0415

        dialer = Dialer(self.config, certificate=self._credentials.certificate, environ=environ, clock=self._clock)
        return PoolTransport(dialer, max_response_bytes=self.config.max_response_bytes, clock=self._clock)

    def _paused(self, transport: Transport, environ: Mapping[str, str]) -> Transport:
        backoff = backoff_from(environ, self._clock)
        if backoff is None:
            return transport
        return BackoffTransport(transport, self._where, backoff, clock=self._clock, stop=self._stop)

    def _send(
        self,
        method: str,
        target: str,
        body: bytes | None,
        kinds: Kinds,
        timeout: float | None,
        *,
        retry_lagging: bool = True,
    ) -> bytes:
        silence, own = SILENCE, timeout is not None
        if timeout is not None or (timeout := self._timeout) is not None:
            silence = timeout
            target += f"{'&' if '?' in target else '?'}timeout={seconds_text(timeout)}"
        shown = self._bodies.on
        if shown:
            self._bodies.sent(method, target, body)
        with Deadline(timeout, self._clock) as deadline:
            # The configuration's timeout starts after the first wait for the throttle, as in client-go: it is meant
            # for the server. A request's own is its caller's, who waits for the throttle as well.
            if own:
                deadline.start()
            reply = self._retrying(
                method,
                target,
                lambda target: self._once(method, target, body, kinds, silence),
                retry_lagging=retry_lagging,
            )
        if shown:
            self._bodies.received(method, target, reply.status, reply.body)
        if 200 <= reply.status < 300:
            return reply.body
        raise error_from_response(reply.status, reply.body, reply.headers)

    def _once(self, method: str, target: str, body: bytes | None, kinds: Kinds, silence: float) -> HTTPReply:
        if self._throttle is not None:
            waited = self._throttle.wait(method, target)
            if self._metrics.enabled:
                self._metrics.throttled(method, waited)
        start_deadline()
        headers = self._headers.of(kinds)
        silence = before_sending(silence)
        if not self._metrics.enabled:
            return self._transport.request(method, target, headers, body, silence)
        began = self._clock.now()
        code, received = ERROR, 0
        try:
            reply = self._transport.request(method, target, headers, body, silence)
            code, received = str(reply.status), len(reply.body)
        finally:
            self._metrics.answered(method, code, self._clock.now() - began, len(body or b""), received)
        return reply

    def _open(self, target: str, accept: str, silence: float) -> HTTPReply | HTTPStream:
        # Watches pass the throttle: a cache that falls behind costs the server more than a watch does.
        headers = self._headers.of(("", accept, True))
        silence = before_sending(silence)
        began = self._clock.now()
        code = ERROR
        try:
            stream = self._transport.stream("GET", target, headers, silence, idle_timeout=silence)
            code = str(stream.status)
        finally:
            if self._metrics.enabled:
                self._metrics.answered("GET", code, self._clock.now() - began, 0, 0)
        if 200 <= stream.status < 300:
            return stream
        return HTTPReply(stream.status, stream.headers, b"".join(stream))

    def _opened(self, request: Request) -> HTTPStream:
        timeout = request.timeout or self._timeout
        with Deadline(timeout, self._clock) as deadline:
            deadline.start()
            answer = self._retrying(
                "GET",
                target_of(request),
                lambda target: self._open(target, request.accept, timeout or SILENCE),
                retry_lagging=request.retry_lagging,
            )
        if isinstance(answer, HTTPReply):
            raise error_from_response(answer.status, answer.body, answer.headers)
        return answer

    def _retrying(self, method: str, target: str, send: Callable[[str], A], *, retry_lagging: bool) -> A:
        done, previous = 0, None
        while True:
            try:
                answer = self._following(method, target, send)
            except ConnectionFailed as error:
                retry = retry_for_error(done, method, error, limit=self._max_retries)
                if retry is None:
                    told = chain_errors(error, previous)
                    if told is error:
                        raise
                    raise told from error
                if ended := self._wait(retry, method, ERROR):
                    over = ConnectionFailed(ended, timeout=ended == OUT_OF_TIME)
                    raise chain_errors(over, error) from error
                previous = error
            else:
                if answer.status < 300 and "warning" not in answer.headers:
                    return answer
                self._notice(answer)
                if not retry_lagging and isinstance(answer, HTTPReply) and is_resource_version_too_large(answer):
                    return answer
                retry = retry_for_response(done, answer.status, answer.headers, limit=self._max_retries)
                if retry is None or self._wait(retry, method, str(answer.status)):
                    return answer
            done = retry.attempt

    def _following(self, method: str, target: str, send: Callable[[str], A]) -> A:
        """Send a request, and follow the redirects of a read within the server's address."""
        answer = send(target)
        followed = 0
        while 300 <= answer.status < 400 and method in ("GET", "HEAD") and followed < MAX_REDIRECTS:
            found = redirect_target(self._where, target, answer.status, answer.headers)
            if found is None:
                break
            target, answer = found, send(found)
            followed += 1
        return answer

    def _notice(self, answer: _Answer) -> None:
        for text in warnings_in(answer.headers.get("warning", "")):
            self._on_warning(text)
        # A certificate belongs to its connection: only a new one can show a certificate file's new content.
        if answer.status == 401 and (self._credentials.rejected() or self.config.client_certificate_file):
            self._transport.reset()

    def _wait(self, retry: Retry, method: str, code: str) -> str:
        """Wait before a retry; return why there is none, empty if there is one.

        Raises:
            LeaseNotHeld: the request must not be sent any more; the wait ends as soon as that is known.
        """
        log.debug("request is retried", extra={"verb": method, "why": str(retry)})
        left = time_left()
        # Until the deadline even if the retry is due later: else the caller might retry sooner than the server allows.
        if self._clock.sleep(stop_of_request(self._stop), max(0.0, min(retry.wait, left))):
            require_permission()
            return NOT_AGAIN
        if retry.wait >= left:
            return OUT_OF_TIME
        if self._metrics.enabled:
            self._metrics.retried(method, code)
        return ""
