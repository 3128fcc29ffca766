"""The objects of one key, by name, with the window of their past that a snapshot is made from.

The past is kept as events, each holding what was there before it. A snapshot of revision R is today's state with the
events after R taken back; nothing is copied while nobody pages.
"""

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Iterator

from clientgo.envtest.apiserver.stored import Entry, Event, Name, Watcher


class Bucket:
    """The objects, the history and the watchers of one key."""

    __slots__ = ("entries", "events", "names", "watchers")

    def __init__(self) -> None:
        self.entries: dict[Name, Entry] = {}
        self.names: list[Name] = []  # sorted, as etcd orders keys
        self.events: deque[Event] = deque()
        self.watchers: list[Watcher] = []

    def put(self, name: Name, entry: Entry) -> None:
        """Keep this entry under its name."""
        if name not in self.entries:
            insort(self.names, name)
        self.entries[name] = entry

    def drop(self, name: Name) -> None:
        """Forget the entry of this name, which is there."""
        del self.entries[name]
        del self.names[bisect_left(self.names, name)]

    def restore(self, event: Event) -> None:
        """Put back what was there before the event, the newest of this name."""
        if event.old is not None:
            self.put(event.name, event.old)
        else:
            self.drop(event.name)

    def since(self, revision: int) -> list[Event]:
        """The events after `revision`, in order."""
        found: list[Event] = []
        for event in reversed(self.events):
            if event.revision <= revision:
                break
            found.append(event)
        return found[::-1]

    def present(self, namespace: str, after: Name | None) -> list[Entry]:
        """What is there now in one namespace (all when empty) behind `after`, by name."""
        return [self.entries[name] for name in _range(self.names, namespace, after)]

    def past(self, at: int, namespace: str, after: Name | None) -> list[Entry]:
        """The same as of revision `at`, after which every event is kept."""
        changed = {event.name: event.old for event in reversed(self.since(at))}
        if not changed:
            return self.present(namespace, after)
        names = sorted({*self.entries, *changed})
        found = (changed.get(name, self.entries.get(name)) for name in _range(names, namespace, after))
        return [entry for entry in found if entry is not None]


def _range(names: list[Name], namespace: str, after: Name | None) -> Iterator[Name]:
    """The names of one namespace (all when empty) behind `after`, in order."""
    begin = bisect_left(names, (namespace, "")) if namespace else 0
    if after is not None:
        begin = max(begin, bisect_right(names, after))
    end = bisect_left(names, (namespace + "\x00", "")) if namespace else len(names)
    for index in range(begin, end):
        yield names[index]
