"""ASGI application: HTTP on one side, `Api` on the other, without a framework or router.

Streams are ended when the client disconnects, and all of them when the server stops. A slow client costs bounded
memory: one that does not read its response, or does not finish its request, is disconnected.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from itertools import count
from typing import Any

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.internal.patterns import lazy_pattern
from clientgo_apiserver.api.status import ApiFailure, too_large
from clientgo_apiserver.api.users import ANONYMOUS
from clientgo_apiserver.auth.flows import flow_uids
from clientgo_apiserver.faults import Fault, Faults
from clientgo_apiserver.handlers.dispatch import Api, attributes_of
from clientgo_apiserver.handlers.watching import WatchServer
from clientgo_apiserver.http.messages import (
    HTTPRequest,
    HTTPResponse,
    Stream,
    json_response,
    parse_query,
    read_headers,
    warning_headers,
)
from clientgo_apiserver.http.rendering import GZIP_HEADERS, accepts_gzip, compress, gzip_member, is_compressible
from clientgo_apiserver.http.steps import in_thread
from clientgo_apiserver.http.upgrades import Upgrade
from clientgo_apiserver.serving import sockets
from clientgo_apiserver.serving.watchdog import PATH, RunningRequests
from clientgo_apiserver.serving.wire import Exchange, sink, watch_stalls

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


_CONTROL = lazy_pattern("[\x00-\x08\x0a-\x1f\x7f]")
"""What no value of a header may contain."""

_FLOW = "X-Kubernetes-Pf-Flowschema-Uid: %s\r\nX-Kubernetes-Pf-Prioritylevel-Uid: %s\r\n"
_UNCACHED = "Cache-Control: no-cache, private\r\n"
# Audit ids are numbered, because random ones cost 5 us each.
_AUDIT_PREFIX = str(uuid.uuid4())[:24]
_audit_numbers = count(1)


class App:
    """Serves one `Api` over ASGI, with fault injection."""

    def __init__(self, api: Api, faults: Faults, clock: Clock = SYSTEM_CLOCK) -> None:
        self.api = api
        self.requests = RunningRequests(clock)
        api.extra[PATH] = self.requests.answer
        self._faults = faults
        self._streams: set[Stream] = set()
        self._ending = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, as ASGI defines it."""
        if scope["type"] == "websocket":
            await self._upgrade(scope, (receive, send))
        if scope["type"] != "http":
            return
        exchange: Exchange = scope["state"]["exchange"]
        body = exchange.body
        if body is None:
            try:
                body = await self._body(receive, exchange)
            except EOFError:
                return  # the client is gone, and an incomplete request must not be handled
        request = _read_request(scope, read_headers(scope["headers"]), body or b"")
        if body is None:
            failure = too_large(self.api.state.options.max_body)
            await self._send(json_response(failure.body, failure.code), request, exchange)
            return
        self.requests.add(request)
        try:
            await self._respond(request, (receive, send), exchange)
        finally:
            self.requests.remove(request)

    async def _respond(self, request: HTTPRequest, connection: tuple[Receive, Send], exchange: Exchange) -> None:
        matching = self._faults.matching(request)
        response: HTTPResponse | Stream | None
        if matching:
            response = await self._faulty(request, matching)
        else:
            result = await self.api.answer(request)
            if isinstance(result, HTTPResponse) and self.api.state.store.committed:
                response = result
            else:
                response = await self._completed(result)
        if response is None:
            exchange.transport.abort()
        elif isinstance(response, HTTPResponse):
            if is_compressible(request, response):
                response = await in_thread(compress, response)
            await self._send(response, request, exchange)
            watch_stalls(exchange.transport, self.api.state.options.stall_seconds)
        else:
            await self._stream(response, request, connection, exchange, matching)

    async def _upgrade(self, scope: Scope, connection: tuple[Receive, Send]) -> None:
        """Handle a request for a WebSocket."""
        abort: Callable[[], object] = scope["state"]["abort"]
        headers = {**read_headers(scope["headers"]), "sec-websocket-protocol": ",".join(scope["subprotocols"])}
        request = _read_request(scope, headers, b"")
        request.upgradable = True
        matching = self._faults.matching(request)
        result = await self._faulty(request, matching) if matching else await self.api.answer(request)
        if isinstance(result, Upgrade):
            await sockets.serve(result, connection, abort, pause=sockets.STARTING)
            return
        response = None if result is None else await self._completed(result)
        if isinstance(response, HTTPResponse):
            await sockets.refuse(response, connection)
        else:
            abort()

    async def _send(self, response: HTTPResponse, request: HTTPRequest, exchange: Exchange) -> None:
        body = response.body
        headers = f"content-length: {len(body)}\r\n{_lines(response.headers)}" + self._headers(
            request, response.content_type, cached=any(name == "Cache-Control" for name, _ in response.headers)
        )
        await exchange.respond(response.status, headers, b"" if request.method == "HEAD" else body)

    def _headers(self, request: HTTPRequest, content_type: str, *, cached: bool = False) -> str:
        """Return the headers of every response."""
        uids = flow_uids(self.api.state.store, attributes_of(request))
        flow = _FLOW % uids if uids[0] else ""
        content = f"Content-Type: {content_type}\r\n" if content_type else ""
        return f"Audit-Id: {request.audit_id}\r\n{flow}{content}{'' if cached else _UNCACHED}"

    async def _body(self, receive: Receive, exchange: Exchange) -> bytes | None:
        """Return the body within a time limit; None if it is too large."""
        options = self.api.state.options
        patience = asyncio.get_running_loop().call_later(options.stall_seconds, exchange.transport.abort)
        try:
            return await _read_body(receive, options.max_body)
        finally:
            patience.cancel()

    async def _completed(self, response: Any) -> HTTPResponse | Stream:
        """Return the response once changes are committed and documents are made."""
        if not self.api.state.store.committed:
            response = await self._committed(response)
        return await in_thread(response) if callable(response) else response

    async def _committed(self, response: Any) -> Any:
        """Return the response once the changes it shows are committed, or an error if they are not."""
        turn: asyncio.Future[ApiFailure | None] = asyncio.get_running_loop().create_future()

        def resolve(failure: ApiFailure | None) -> None:
            if not turn.done():
                turn.set_result(failure)

        self.api.state.store.when_committed(resolve)
        failure = await turn
        if failure is None:
            return response
        if not isinstance(response, HTTPResponse) and not callable(response):
            response.close()
        return json_response(failure.body, failure.code)

    async def _faulty(self, request: HTTPRequest, matching: list[Fault]) -> HTTPResponse | Stream | None:
        """Return the response after fault injection; None if the connection is closed instead."""
        for fault in matching:
            if fault.delay:
                await asyncio.sleep(fault.delay)
        if any(fault.drop == "before" for fault in matching):
            return None
        for fault in matching:
            if fault.code:
                return fault.answer()
        response = await self._completed(await self.api.answer(request))
        return None if any(fault.drop == "after" for fault in matching) else response

    def close_streams(self) -> None:
        """End every watch, and those that clients open meanwhile, so that connections close in an orderly way."""
        self._ending = True
        for stream in list(self._streams):
            stream.close()

    async def _stream(
        self,
        stream: Stream,
        request: HTTPRequest,
        connection: tuple[Receive, Send],
        exchange: Exchange,
        matching: list[Fault],
    ) -> None:
        receive, send = connection
        self._streams.add(stream)
        if self._ending:
            stream.close()

        async def until_disconnect() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            stream.close()

        gone = asyncio.ensure_future(until_disconnect())
        try:
            headers = warning_headers(request)
            pack: Callable[[bytes], bytes] = bytes
            if accepts_gzip(request) and self._is_compressible(stream):
                headers, pack = [*headers, *GZIP_HEADERS], gzip_member
            exchange.begin_stream(stream.status, _lines(headers) + self._headers(request, stream.content_type))
            if isinstance(stream, WatchServer) and not matching:
                stream.direct = sink(exchange, self.api.state.options.watch_buffer, pack)
            if await _carry(stream, send, matching, pack):
                async with asyncio.timeout(self.api.state.options.stall_seconds):
                    await send(_piece(b"", more=False))
            else:
                exchange.transport.abort()
        except TimeoutError:
            exchange.transport.abort()
        finally:
            gone.cancel()
            stream.close()
            self._streams.discard(stream)

    def _is_compressible(self, stream: Stream) -> bool:
        streams_list = isinstance(stream, WatchServer) and stream.is_streaming_list
        return streams_list and self.api.state.release.enabled("WatchListCompression")


async def _carry(stream: Stream, send: Send, matching: list[Fault], pack: Callable[[bytes], bytes]) -> bool:
    """Send the stream's chunks, each packed by `pack`, until it ends.

    Return False if a fault or a client that does not read ends it.
    """
    silent = any(fault.silent for fault in matching)
    cut = min((fault.cut for fault in matching if fault.cut), default=0)
    frames = 0
    async for chunk in stream.chunks():
        if silent:
            continue
        lines = chunk.splitlines(keepends=True) if cut else ()
        if cut and frames + len(lines) >= cut:
            last_lines = lines[: cut - frames]
            await send(_piece(pack(b"".join(last_lines)[: -max(1, len(last_lines[-1]) // 2)])))
            return False
        frames += len(lines)
        await send(_piece(pack(chunk)))
        # Waits until the client has read it: later frames are buffered, and counted, by the stream.
        await send(_piece(b""))
    return not (isinstance(stream, WatchServer) and stream.overflowed)


def _lines(headers: list[tuple[str, str]]) -> str:
    if not headers:
        return ""
    for name, value in headers:
        if _CONTROL.search(value):
            raise ValueError(f"invalid value of the header {name}: {value!r} contains a control character")
    return "".join([f"{name}: {value}\r\n" for name, value in headers])


def _piece(body: bytes, *, more: bool = True) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}


def _read_request(scope: Scope, headers: dict[str, str], body: bytes) -> HTTPRequest:
    query = parse_query(scope["query_string"].decode("latin-1"))
    user = scope["state"].get("user", ANONYMOUS)  # from the client certificate
    request = HTTPRequest(scope.get("method", "GET"), scope["path"], query, headers, body, user, served=True)
    sent = headers.get("audit-id", "")
    request.audit_id = sent if sent and sent.isprintable() else f"{_AUDIT_PREFIX}{next(_audit_numbers):012x}"
    request.source = (scope.get("client") or ("",))[0]
    return request


async def _read_body(receive: Receive, limit: int) -> bytes | None:
    """Return the body, or None if it is longer than `limit`.

    Raises:
        EOFError: the client disconnected before the end of the body.
    """
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise EOFError
        body: bytes = message.get("body", b"")
        if not message.get("more_body") and not chunks:
            return body
        chunks.append(body)
        size += len(body)
        if size > limit:
            return None
        if not message.get("more_body"):
            return b"".join(chunks)
