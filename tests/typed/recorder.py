"""A requester that records requests and returns scripted responses, without HTTP."""

from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec

from clientgo.errors import ClientGoError
from clientgo.meta.codec import encode_value
from clientgo.rest.request import EventStream, RawEvent, Request


class Frames:
    """A stream of the given frames, `(type, object)`, and perhaps of an error at its end."""

    def __init__(self, *frames: tuple[str, Any], error: ClientGoError | None = None) -> None:
        self.closed = False
        self._frames = frames
        self._error = error

    def __iter__(self) -> Iterator[RawEvent]:
        for kind, obj in self._frames:
            yield RawEvent(kind, msgspec.Raw(obj if isinstance(obj, bytes) else encode_value(obj)))
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        self.closed = True


class Recorder:
    """Answers each request with the next answer: a value to be sent as JSON, bytes, or an error to raise."""

    def __init__(self, *answers: Any) -> None:
        self.requests: list[Request] = []
        self._answers = deque(answers)

    @property
    def last(self) -> Request:
        """The request that came last."""
        return self.requests[-1]

    @property
    def last_body(self) -> Any:
        """Its body, read."""
        return msgspec.json.decode(self.last.body or b"null")

    def do(self, request: Request) -> bytes:
        response = self._answer(request)
        return response if isinstance(response, bytes) else encode_value(response)

    def watch(self, request: Request) -> EventStream:
        response = self._answer(request)
        assert isinstance(response, Frames)
        return response

    def _answer(self, request: Request) -> Any:
        self.requests.append(request)
        response = self._answers.popleft()
        if isinstance(response, Exception):
            raise response
        return response
