"""The objects of one key, by name, with the window of their past that a snapshot is made from.

The past is kept as events, each holding what was there before it. A snapshot of revision R is today's state with the
events after R taken back; nothing is copied while nobody pages.
"""

from bisect import bisect_left, insort
from collections import deque

from clientgo.apiserver.storage.stored import Entry, Event, Name, Watcher
from clientgo.apiserver.storage.window import Range, Window


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

    def present(self, within: Range) -> Window:
        """What is there now; the window holds until the next write."""
        return Window(self.entries, self.names, within)

    def past(self, at: int, within: Range) -> Window:
        """The same as of revision `at`, after which every event is kept."""
        # The oldest event of a name comes last: what was there before it is what was there then.
        changed = {event.name: event.old for event in reversed(self.since(at))}
        return Window(self.entries, self.names, within, changed)
