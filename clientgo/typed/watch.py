"""A client's open watch: raw frames decoded into events of one kind."""

from collections.abc import Iterator
from typing import Any, Generic, Literal, Self, TypeVar

import msgspec

from clientgo.errors import InvalidResponse, api_error, decode_status
from clientgo.log import get_logger
from clientgo.meta.codec import Codec, Undecodable, UnexpectedObject, identity
from clientgo.meta.listwatch import INITIAL_EVENTS_END, BadEvent, Bookmark, ChangeType, WatchEvent
from clientgo.meta.objects import ObjectMeta
from clientgo.meta.typemeta import check_response, type_meta
from clientgo.rest.limits import OpenStream
from clientgo.rest.request import JSON, EventStream, RawEvent, Request, Requester
from clientgo.rest.transport import IdleTimeout
from clientgo.typed.response import kinds_of

log = get_logger(__name__)

T = TypeVar("T")
S = TypeVar("S", bound=OpenStream[Any])

_CHANGES: dict[str, ChangeType] = {"ADDED": "ADDED", "MODIFIED": "MODIFIED", "DELETED": "DELETED"}


class StreamReader(Generic[S]):
    """A reader of a stream, which it closes at the end of a `with` block."""

    def __init__(self, stream: S) -> None:
        self._stream = stream

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the stream from any thread; a blocked iteration ends. May be called again."""
        self._stream.close()


class DecodedWatch(StreamReader[EventStream], Generic[T]):
    """The events of one stream; an ERROR frame, or any other failure Status, is raised as an `ApiError`.

    An object of another kind, or without a name, is a `BadEvent` with an `UnexpectedObject`; a bookmark of another kind
    is logged and skipped, as in client-go.
    """

    def __init__(self, stream: EventStream, codec: Codec[T], *, accept: str = JSON) -> None:
        super().__init__(stream)
        self._codec = codec
        self._accepted = kinds_of(codec, accept=accept)

    def __iter__(self) -> Iterator[WatchEvent[T] | Bookmark | BadEvent]:
        for frame in self._stream:
            change = _CHANGES.get(frame.type)
            if change is not None:
                yield self._change(change, frame.object)
                continue
            try:
                bookmark = self._special(frame)
            except InvalidResponse as error:
                log.error("watch event skipped", extra={"type": frame.type, "err": error})
                continue
            yield bookmark

    def _change(self, kind: ChangeType, raw: msgspec.Raw) -> WatchEvent[T] | BadEvent:
        try:
            check_response(raw, self._accepted)
            obj = self._codec.decode(raw)
        except InvalidResponse as error:
            return BadEvent(kind, UnexpectedObject(self._codec.api.kind, identity(raw), str(error)))
        except Undecodable as error:
            return BadEvent(kind, error)
        meta = getattr(obj, "metadata", None)
        if isinstance(meta, ObjectMeta) and not meta.name:
            return BadEvent(kind, UnexpectedObject(self._codec.api.kind, meta, "it has no name"))
        return WatchEvent(kind, obj)

    def _special(self, frame: RawEvent) -> Bookmark:
        if frame.type == "BOOKMARK":
            if (received := type_meta(frame.object)) is not None and received.kind:
                check_response(frame.object, self._accepted)
            meta = identity(frame.object)
            ended: Literal["true"] | str | None = meta.annotations.get(INITIAL_EVENTS_END)
            return Bookmark(meta.resource_version, ended == "true")
        status = decode_status(frame.object)
        if frame.type == "ERROR":
            raise api_error(status)
        message = f"the server sent a watch event of type {frame.type!r}"
        raise api_error(msgspec.structs.replace(status, message=message))


def open_watch(requester: Requester, request: Request, codec: Codec[T]) -> DecodedWatch[T]:
    """Open a watch of objects of one kind."""
    return DecodedWatch(requester.watch(request), codec, accept=request.accept)


class ObjectWatch(StreamReader[DecodedWatch[T]]):
    """A watch with changes of objects only; undecodable objects are logged and skipped.

    An idle timeout ends the iteration, as the server does. Other network errors raise `ConnectionFailed`.
    """

    def __iter__(self) -> Iterator[WatchEvent[T]]:
        try:
            for event in self._stream:
                if isinstance(event, WatchEvent):
                    yield event
                elif isinstance(event, BadEvent):
                    is_unexpected = isinstance(event.error, UnexpectedObject)
                    message = "watch event skipped" if is_unexpected else "undecodable object skipped in a watch"
                    log.warning(message, extra={"type": event.type, "err": event.error})
        except IdleTimeout as error:  # the next watch continues from the last version, as after any other end
            log.debug("idle watch ended", extra={"err": error})
