"""Objects of one key by name, with the window of their past from which snapshots are made.

The past is kept as events, each with the entry before it. A snapshot of revision R is the current state with the events
after R undone, so nothing is copied while no client pages. A page costs what it shows and the events since its
revision, regardless of the number of objects.
"""

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge

from clientgo.apiserver.storage.stored import Entry, Name, StorageEvent, Watcher

_UNCHANGED: Mapping[Name, Entry | None] = {}


@dataclass(frozen=True, slots=True)
class Range:
    """Names of one namespace (all if empty) after `after`."""

    namespace: str = ""
    after: Name | None = None

    def __contains__(self, name: Name) -> bool:
        return (not self.namespace or name[0] == self.namespace) and (self.after is None or name > self.after)

    def of(self, names: Sequence[Name]) -> range:
        """Return their indexes among sorted names."""
        begin = bisect_left(names, (self.namespace, "")) if self.namespace else 0
        if self.after is not None:
            begin = max(begin, bisect_right(names, self.after))
        return range(begin, bisect_left(names, (self.namespace + "\x00", "")) if self.namespace else len(names))


class Window:
    """Entries in the order of their names, looked up as they are read and counted without being read.

    A window is valid until the next write.
    """

    __slots__ = ("_changed", "_entries", "_gone", "_names", "_new", "_places")

    def __init__(
        self,
        entries: Mapping[Name, Entry],
        names: Sequence[Name],
        within: Range,
        changed: Mapping[Name, Entry | None] = _UNCHANGED,
    ) -> None:
        """Take the sorted `names` of `entries`, and in `changed` the former entries (None if there was none)."""
        self._entries, self._names, self._changed = entries, names, changed
        self._places = within.of(names)
        inside = [(name, then) for name, then in changed.items() if name in within]
        self._gone = sorted(name for name, then in inside if then is not None and name not in entries)
        self._new = sum(then is None and name in entries for name, then in inside)

    def __len__(self) -> int:
        return len(self._places) + len(self._gone) - self._new

    def __iter__(self) -> Iterator[Entry]:
        there = (self._names[place] for place in self._places)
        for name in merge(there, self._gone) if self._gone else there:
            entry = self._changed[name] if name in self._changed else self._entries[name]
            if entry is not None:
                yield entry


class Bucket:
    """Objects, history and watchers of one key."""

    __slots__ = ("entries", "events", "names", "watchers")

    def __init__(self) -> None:
        self.entries: dict[Name, Entry] = {}
        self.names: list[Name] = []  # sorted, as etcd orders keys
        self.events: deque[StorageEvent] = deque()
        self.watchers: list[Watcher] = []

    def put(self, name: Name, entry: Entry) -> None:
        """Store the entry under its name."""
        if name not in self.entries:
            insort(self.names, name)
        self.entries[name] = entry

    def drop(self, name: Name) -> None:
        """Remove the entry of this name, which must exist."""
        del self.entries[name]
        del self.names[bisect_left(self.names, name)]

    def restore(self, event: StorageEvent) -> None:
        """Restore the entry from before the event, the latest of this name."""
        if event.old is not None:
            self.put(event.name, event.old)
        else:
            self.drop(event.name)

    def since(self, revision: int) -> list[StorageEvent]:
        """Return the events after `revision`, in order."""
        found: list[StorageEvent] = []
        for event in reversed(self.events):
            if event.revision <= revision:
                break
            found.append(event)
        return found[::-1]

    def present(self, within: Range) -> Window:
        """Return the current entries; the window is valid until the next write."""
        return Window(self.entries, self.names, within)

    def past(self, at: int, within: Range) -> Window:
        """Return the entries as of revision `at`, after which every event is kept."""
        # The oldest event of a name comes last: its old entry is the one at that revision.
        changed = {event.name: event.old for event in reversed(self.since(at))}
        return Window(self.entries, self.names, within, changed)
