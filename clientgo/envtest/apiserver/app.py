"""The server as a bare ASGI callable: bytes of HTTP on one side, `Api` on the other. No framework, no router.

Streams are ended when the client goes away, and all of them when the server stops.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from clientgo.envtest.apiserver.api import Api
from clientgo.envtest.apiserver.messages import Request, Response, Stream, json_response, parse_query
from clientgo.envtest.apiserver.status import too_large

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class _Spelled(bytes):
    """A header name that keeps its spelling.

    Go's servers write `Content-Type`; uvicorn writes whatever `lower` gives. Header names have no case, yet scripts
    and players of recorded conversations look them up by the spelling they know.
    """

    def lower(self) -> "_Spelled":
        """The name as it is."""
        return self


_CONTENT_TYPE = _Spelled(b"Content-Type")
_CACHE_CONTROL = (_Spelled(b"Cache-Control"), b"no-cache, private")


class App:
    """Serves one `Api` over ASGI."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self._streams: set[Stream] = set()

    def __repr__(self) -> str:
        return f"<App {len(self._streams)} streams>"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI defines it."""
        if scope["type"] != "http":
            return
        body = await _read_body(receive, self.api.state.options.max_body)
        if body is None:
            failure = too_large(self.api.state.options.max_body)
            await _send_response(send, scope, json_response(failure.body, failure.code))
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        query = parse_query(scope["query_string"].decode("latin-1"))
        answer = self.api.answer(Request(scope["method"], scope["path"], query, headers, body))
        if callable(answer):
            answer = await asyncio.to_thread(answer)
        if isinstance(answer, Response):
            await _send_response(send, scope, answer)
        else:
            await self._stream(answer, receive, send)

    def close_streams(self) -> None:
        """End every watch; their connections close in an orderly way."""
        for stream in list(self._streams):
            stream.close()

    async def _stream(self, stream: Stream, receive: Receive, send: Send) -> None:
        self._streams.add(stream)
        gone = asyncio.ensure_future(_until_disconnect(receive, stream))
        try:
            head = [(_CONTENT_TYPE, stream.content_type.encode()), _CACHE_CONTROL]
            await send({"type": "http.response.start", "status": stream.status, "headers": head})
            # An empty piece of body makes the head leave at once: clients wait for it, not for the first event.
            await send({"type": "http.response.body", "body": b"", "more_body": True})
            async for chunk in stream.chunks():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()
            stream.close()
            self._streams.discard(stream)


async def _until_disconnect(receive: Receive, stream: Stream) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    stream.close()


async def _read_body(receive: Receive, limit: int) -> bytes | None:
    """The whole body, or None when it is longer than `limit`."""
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        return body
    parts, size = [body], len(body)
    while message.get("more_body"):
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            return None
    return b"".join(parts)


async def _send_response(send: Send, scope: Scope, answer: Response) -> None:
    head = [
        (_CONTENT_TYPE, answer.content_type.encode()),
        (b"content-length", str(len(answer.body)).encode()),
        _CACHE_CONTROL,
        *((_Spelled(name.encode()), value.encode()) for name, value in answer.headers),
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": head})
    body = b"" if scope["method"] == "HEAD" else answer.body
    await send({"type": "http.response.body", "body": body})
