"""A client's open watch: raw frames decoded into events of one kind."""

from collections.abc import Iterator
from typing import Any, Generic, Literal, Self, TypeVar, cast

import msgspec

from clientgo.errors import api_error, decode_status
from clientgo.log import get_logger
from clientgo.meta.codec import Codec, Undecodable, identity
from clientgo.meta.listwatch import INITIAL_EVENTS_END, BadEvent, Bookmark, ChangeType, WatchEvent
from clientgo.rest.request import EventStream, OpenStream, RawEvent
from clientgo.rest.transport import IdleTimeout

log = get_logger(__name__)

T = TypeVar("T")
S = TypeVar("S", bound=OpenStream[Any])


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
    """The events of one stream; an ERROR frame is raised as an `ApiError`."""

    def __init__(self, stream: EventStream, codec: Codec[T]) -> None:
        super().__init__(stream)
        self._codec = codec

    def __iter__(self) -> Iterator[WatchEvent[T] | Bookmark | BadEvent]:
        for frame in self._stream:
            kind = frame.type
            if kind in ("ADDED", "MODIFIED", "DELETED"):
                yield self._change(cast(ChangeType, kind), frame.object)
            else:
                yield _special(frame)

    def _change(self, kind: ChangeType, raw: msgspec.Raw) -> WatchEvent[T] | BadEvent:
        try:
            return WatchEvent(kind, self._codec.decode(raw))
        except Undecodable as error:
            return BadEvent(kind, error)


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
                    log.warning("undecodable object skipped in a watch", extra={"err": event.error})
        except IdleTimeout as error:  # the next watch continues from the last version, as after any other end
            log.debug("idle watch ended", extra={"err": error})


def _special(frame: RawEvent) -> Bookmark:
    if frame.type == "BOOKMARK":
        meta = identity(frame.object)
        ended: Literal["true"] | str | None = meta.annotations.get(INITIAL_EVENTS_END)
        return Bookmark(meta.resource_version, ended == "true")
    status = decode_status(frame.object)
    if frame.type == "ERROR":
        raise api_error(status)
    raise api_error(msgspec.structs.replace(status, message=f"the server sent a watch event of type {frame.type!r}"))
