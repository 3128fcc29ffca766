"""Change log of one resource, the selection of objects, and the watches that read the log."""

import threading
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from clientgo.clock import Clock
from clientgo.errors import BadRequest
from clientgo.meta.codec import encode_value
from clientgo.meta.selectors import FieldTerm, Selector, everything, parse_field_selector, parse_selector
from clientgo.rest.request import RawEvent

Object = dict[str, Any]

_ALL_LABELS = everything()


@dataclass(frozen=True, slots=True)
class Selection:
    """Objects of one namespace (all if empty) whose labels and fields match."""

    namespace: str = ""
    labels: Selector = _ALL_LABELS
    fields: tuple[FieldTerm, ...] = ()

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Return whether the object is selected."""
        meta = obj.get("metadata") or {}
        if self.namespace and meta.get("namespace", "") != self.namespace:
            return False
        return self.labels.matches(meta.get("labels") or {}) and all(term.matches(obj) for term in self.fields)


EVERYTHING = Selection()
"""Every object of every namespace."""


def select(namespace: str = "", label_selector: str = "", field_selector: str = "") -> Selection:
    """Parse both selectors; every field is supported, because a fake knows no schema.

    Raises:
        BadRequest: a selector is invalid.
    """
    try:
        return Selection(namespace, parse_selector(label_selector), parse_field_selector(field_selector))
    except ValueError as error:
        raise BadRequest(str(error)) from error


@dataclass(frozen=True, slots=True)
class Change:
    """One write: the object before (None if it was created) and after (None if it was deleted).

    `last` is the state that the event of a deletion has: the one before, with the version of the deletion.
    """

    version: int
    old: Object | None
    new: Object | None
    last: Object | None = None


@dataclass(slots=True)
class ChangeLog:
    """All changes of one resource, in order; guarded by `changed`, which is notified after each."""

    changed: threading.Condition
    clock: Clock
    changes: list[Change] = field(default_factory=list)

    def append(self, change: Change) -> None:
        """Append a change; the caller holds `changed`."""
        self.changes.append(change)

    def since(self, version: int) -> list[Change]:
        """Return the changes after `version`, the last first; the caller holds `changed`."""
        return self.changes[self.after(version) :][::-1]

    def after(self, version: int) -> int:
        """Return the index of the first change after `version`; the caller holds `changed`."""
        return bisect_right(self.changes, version, key=lambda change: change.version)


class TrackerWatch:
    """Watch on a tracker: an `EventStream` that keeps only its position in the change log."""

    def __init__(
        self,
        log: ChangeLog,
        selection: Selection,
        first: Sequence[Object],
        *,
        after: int,
        timeout: float = 0.0,
        bookmarks: bool = False,
    ) -> None:
        self._log = log
        self._selection = selection
        self._first = list(first)
        self._next = log.after(after)
        self._last = after
        self._deadline = log.clock.now() + timeout if timeout else None
        self._bookmarks = bookmarks
        self._closed = False

    def __iter__(self) -> Iterator[RawEvent]:
        first, self._first = self._first, []
        for obj in first:
            yield _frame("ADDED", obj)
        while (batch := self._wait()) is not None:
            for change in batch:
                self._last = change.version
                if (event := seen_by(self._selection, change)) is not None:
                    yield event
        if self._bookmarks and not self._closed:
            yield _frame("BOOKMARK", {"metadata": {"resourceVersion": str(self._last)}})

    def close(self) -> None:
        """End the watch from any thread; a blocked iteration ends, and unread events are dropped."""
        with self._log.changed:
            self._closed = True
            self._log.changed.notify_all()

    def _wait(self) -> list[Change] | None:
        log = self._log
        with log.changed:
            while not self._closed:
                if self._next < len(log.changes):
                    batch = log.changes[self._next :]
                    self._next = len(log.changes)
                    return batch
                if self._deadline is not None and log.clock.now() >= self._deadline:
                    return None
                log.clock.wait(log.changed, self._deadline)
            return None


def seen_by(selection: Selection, change: Change) -> RawEvent | None:
    """Return the event a watch with that selection sends, or None; an object that no longer matches is DELETED."""
    before = change.old is not None and selection.matches(change.old)
    if change.new is not None and selection.matches(change.new):
        return _frame("MODIFIED" if before else "ADDED", change.new)
    if before and change.old is not None:
        return _frame(
            "DELETED", change.last or change.old if change.new is None else _last_selected(change.old, change.new)
        )
    return None


def _last_selected(old: Object, new: Object) -> Object:
    """Return the object that left a selection, as a server sends it: its last selected state at the new version."""
    version = new["metadata"].get("resourceVersion")
    return {**old, "metadata": {**old["metadata"], "resourceVersion": version}} if version else old


def _frame(kind: str, obj: Object) -> RawEvent:
    return RawEvent(kind, msgspec.Raw(encode_value(obj)))
