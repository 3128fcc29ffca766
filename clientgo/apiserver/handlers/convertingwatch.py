"""A watch of a kind that a webhook converts: events wait, in order, until their objects are converted."""

import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from clientgo.apiserver.apiextensions.conversion import StoredForm
from clientgo.apiserver.handlers.reading import render
from clientgo.apiserver.handlers.watching import WatchStream
from clientgo.apiserver.http.messages import Query
from clientgo.apiserver.http.negotiation import Form
from clientgo.apiserver.http.status import ApiFailure
from clientgo.apiserver.registry.registry import Resource
from clientgo.apiserver.registry.views import from_storage
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.selection import Selection
from clientgo.apiserver.suspension import Paused

Object = dict[str, Any]

_PLAIN = Form()
_OBJECTS = ("ADDED", "MODIFIED", "DELETED")


class ConvertingWatch:
    """Wraps a watch of the objects as they are stored, and shows them as the resource does."""

    status = 200
    content_type = "application/json"

    def __init__(
        self, state: State, resource: Resource, *, namespace: str, query: Query, selection: Selection, form: Form
    ) -> None:
        self._state = state
        self._resource = resource
        self._form = form
        self._include = query.get("includeObject") or "Metadata"
        self._headers_sent = False
        stored = dataclasses.replace(resource, converter=StoredForm())
        self._inner = WatchStream(state, stored, namespace=namespace, query=query, selection=selection, form=_PLAIN)

    def __repr__(self) -> str:
        return f"<ConvertingWatch {self._inner!r}>"

    def close(self) -> None:
        """Take no more events."""
        self._inner.close()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Frames as they come; one that cannot be converted is an ERROR, and the last."""
        async for chunk in self._inner.chunks():
            for line in chunk.splitlines():
                frame = msgspec.json.decode(line)
                try:
                    yield await self._shown(frame)
                except ApiFailure as failure:
                    yield _encoded({"type": "ERROR", "object": failure.body})
                    self.close()
                    return

    async def _shown(self, frame: Object) -> bytes:
        if frame["type"] not in _OBJECTS:
            return _encoded(frame)
        while True:
            try:
                obj = from_storage(self._resource, frame["object"])
                break
            except Paused as paused:
                await self._state.carrier.ask(paused.questions)
        shown = render(self._resource, obj, self._form, self._include)
        if self._form.kind == "Table" and self._headers_sent:
            shown = {**shown, "columnDefinitions": None}
        self._headers_sent = True
        return _encoded({**frame, "object": shown})


def _encoded(frame: Object) -> bytes:
    return msgspec.json.encode(frame) + b"\n"
