"""Requests to one API server: credentials, retries, throttle, warnings, metrics around a `Transport`.

Bytes in, bytes out: what the bytes mean is `clientgo.typed`'s business. A refusal is raised as the `ApiError` it is.
"""

import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConnectionFailed, error_from_response
from clientgo.meta.objects import EMPTY_MAP
from clientgo.metrics import provider
from clientgo.rest.auth import credentials_for
from clientgo.rest.config import Config, Impersonation
from clientgo.rest.dial import Dialer, server_url
from clientgo.rest.flowcontrol import RateLimiter, TokenBucketRateLimiter
from clientgo.rest.http1 import Headers
from clientgo.rest.notices import WarningHandler, WarningLogger, warnings_in
from clientgo.rest.request import JSON, EventStream, Request
from clientgo.rest.requestmetrics import ERROR, RequestMetrics
from clientgo.rest.retry import MAX_RETRIES, Retry, after_answer, after_break, with_previous
from clientgo.rest.throttle import Throttle
from clientgo.rest.transport import HTTPReply, HTTPStream, PoolTransport, Transport
from clientgo.rest.urlbackoff import BackoffTransport, backoff_from
from clientgo.rest.urls import query_string, seconds_text, target_of
from clientgo.rest.watch import EmptyStream, WatchStream
from clientgo.version import VERSION

log = logging.getLogger(__name__)

SILENCE = 75.0
"""Seconds a server may be silent during a request when nothing else is set; itself, it ends ordinary ones after 60."""

NOT_AGAIN = "stopping: the request was not sent again"

Kinds = tuple[str, str, bool]
"""The Content-Type of what is sent (empty for no body), what is accepted as an answer, and whether that is a stream."""

_READ: Kinds = ("", JSON, False)
_WATCH: Kinds = ("", JSON, True)

_ARCH = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64"}
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
        self.config = config
        self._clock = clock
        self._stop = stop if stop is not None else _NEVER
        self._credentials = credentials_for(config, clock)
        self._where = server_url(config).geturl()
        self._transport = self._paused(
            transport
            or PoolTransport(Dialer(config, certificate=self._credentials.certificate, environ=environ), clock=clock),
            environ,
        )
        self._on_warning = on_warning or WarningLogger()
        self._max_retries = max_retries
        self._timeout = config.timeout
        self._fixed_headers = _fixed_headers(config)
        self._headers_made: dict[tuple[str, Kinds], Headers] = {}
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
        kinds = _READ if body is None else (request.content_type, JSON, False)
        return self._send(request.method, target_of(request), body, kinds, request.timeout)

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
        target, silence = target_of(request), request.timeout or self._timeout or SILENCE
        try:
            answer = self._retrying("GET", lambda: self._open(target, silence))
        except ConnectionFailed as error:
            if not error.sent or error.refused or error.timeout or self._stop.is_set():
                raise
            log.debug("watch ended while it was opened", extra={"url": target, "err": error})
            return EmptyStream()
        if isinstance(answer, HTTPReply):
            raise error_from_response(answer.status, answer.body, answer.headers)
        return WatchStream(answer, self._where)

    def close(self) -> None:
        """Close the connections; requests under way finish first."""
        self._transport.close()

    def _paused(self, transport: Transport, environ: Mapping[str, str]) -> Transport:
        backoff = backoff_from(environ, self._clock)
        if backoff is None:
            return transport
        return BackoffTransport(transport, self._where, backoff, clock=self._clock, stop=self._stop)

    def _send(self, method: str, target: str, body: bytes | None, kinds: Kinds, timeout: float | None) -> bytes:
        silence = SILENCE
        if timeout is not None or (timeout := self._timeout) is not None:
            silence = timeout
            target += f"{'&' if '?' in target else '?'}timeout={seconds_text(timeout)}"
        reply = self._retrying(method, lambda: self._once(method, target, body, kinds, silence))
        if 200 <= reply.status < 300:
            return reply.body
        raise error_from_response(reply.status, reply.body, reply.headers)

    def _once(self, method: str, target: str, body: bytes | None, kinds: Kinds, silence: float) -> HTTPReply:
        if self._throttle is not None:
            waited = self._throttle.wait(method, target)
            if self._metrics.enabled:
                self._metrics.throttled(method, waited)
        headers = self._headers(kinds)
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

    def _open(self, target: str, silence: float) -> HTTPReply | HTTPStream:
        # Watches pass the throttle: a cache that falls behind costs the server more than a watch does.
        headers = self._headers(_WATCH)
        began = self._clock.now()
        code = ERROR
        try:
            stream = self._transport.stream(
                "GET", target, headers, silence, idle_timeout=self.config.watch_idle_timeout
            )
            code = str(stream.status)
        finally:
            if self._metrics.enabled:
                self._metrics.answered("GET", code, self._clock.now() - began, 0, 0)
        if 200 <= stream.status < 300:
            return stream
        return HTTPReply(stream.status, stream.headers, b"".join(stream))

    def _retrying(self, method: str, attempt: Callable[[], A]) -> A:
        done, previous = 0, None
        while True:
            try:
                answer = attempt()
            except ConnectionFailed as error:
                retry = after_break(done, method, error, limit=self._max_retries)
                if retry is None:
                    told = with_previous(error, previous)
                    if told is error:
                        raise
                    raise told from error
                if not self._wait(retry, method, ERROR):
                    raise with_previous(ConnectionFailed(NOT_AGAIN), error) from error
                previous = error
            else:
                if answer.status < 300 and "warning" not in answer.headers:
                    return answer
                self._notice(answer)
                retry = after_answer(done, answer.status, answer.headers, limit=self._max_retries)
                if retry is None or not self._wait(retry, method, str(answer.status)):
                    return answer
            done = retry.attempt

    def _notice(self, answer: _Answer) -> None:
        for text in warnings_in(answer.headers.get("warning", "")):
            self._on_warning(text)
        # A certificate belongs to its connection: only a new one can show a certificate file's new content.
        if answer.status == 401 and (self._credentials.rejected() or self.config.client_certificate_file):
            self._transport.reset()

    def _wait(self, retry: Retry, method: str, code: str) -> bool:
        """Let the time before a retry pass; False when stopped."""
        log.debug("request is retried", extra={"verb": method, "why": str(retry)})
        if self._clock.sleep(self._stop, retry.wait):
            return False
        if self._metrics.enabled:
            self._metrics.retried(method, code)
        return True

    def _headers(self, kinds: Kinds) -> Headers:
        key = (self._credentials.authorization(), kinds)
        made = self._headers_made.get(key)
        if made is None:
            if len(self._headers_made) > 32:
                self._headers_made.clear()  # tokens change every hour or so
            made = self._headers_made[key] = self._make_headers(*key)
        return made

    def _make_headers(self, authorization: str, kinds: Kinds) -> Headers:
        content_type, accept, streamed = kinds
        headers = [("Accept", accept)]
        if authorization:
            headers.append(("Authorization", authorization))
        if content_type:
            headers.append(("Content-Type", content_type))
        # API servers compress answers above 128 KiB, never watches.
        if not streamed and not self.config.disable_compression:
            headers.append(("Accept-Encoding", "gzip"))
        return (*headers, *self._fixed_headers)


def default_user_agent(path: str | None = None) -> str:
    """`<program>/<version> (<os>/<arch>) clientgo/<version>`, with Go's names of systems and machines.

    The program is the one at `path`, or this one. It comes first because the API server takes what stands before the
    slash for the field manager of writes that name none: two programs must not seem to be one.
    """
    script = Path(sys.argv[0] if path is None else path)
    name = script.parent.name if script.name == "__main__.py" else script.name.removesuffix(".py")
    program = re.sub(r"^-.*|[^A-Za-z0-9._-]", "", name) or "python"  # a dash begins what stands for no file: -c, -m
    machine = os.uname().machine if hasattr(os, "uname") else "unknown"
    return f"{program}/{VERSION} ({sys.platform}/{_ARCH.get(machine, machine)}) clientgo/{VERSION}"


def _fixed_headers(config: Config) -> Headers:
    return (("User-Agent", config.user_agent or default_user_agent()), *_impersonation(config.impersonate))


def _impersonation(who: Impersonation) -> Headers:
    headers = [("Impersonate-User", who.user)] if who.user else []
    if who.uid:
        headers.append(("Impersonate-Uid", who.uid))
    headers += [("Impersonate-Group", group) for group in who.groups]
    headers += [
        (f"Impersonate-Extra-{query_string({'': key})[1:]}", value)
        for key, values in who.extra.items()
        for value in values
    ]
    return tuple(headers)
