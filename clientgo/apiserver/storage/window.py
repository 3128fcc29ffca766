"""A part of what is stored, in the order of names: what one page of a list is taken from."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge

from clientgo.apiserver.storage.stored import Entry, Name

_UNCHANGED: Mapping[Name, Entry | None] = {}


@dataclass(frozen=True, slots=True)
class Range:
    """The names of one namespace (all when empty) behind `after`."""

    namespace: str = ""
    after: Name | None = None

    def __contains__(self, name: Name) -> bool:
        return (not self.namespace or name[0] == self.namespace) and (self.after is None or name > self.after)

    def of(self, names: Sequence[Name]) -> range:
        """Where they stand among sorted names."""
        begin = bisect_left(names, (self.namespace, "")) if self.namespace else 0
        if self.after is not None:
            begin = max(begin, bisect_right(names, self.after))
        return range(begin, bisect_left(names, (self.namespace + "\x00", "")) if self.namespace else len(names))


class Window:
    """Entries in the order of their names: looked up one by one as they are taken, counted without being looked at.

    So a page costs what it shows and the events since its revision, however many objects there are. A window holds
    until the next write to what it looks at.
    """

    __slots__ = ("_changed", "_entries", "_gone", "_names", "_new", "_places")

    def __init__(
        self,
        entries: Mapping[Name, Entry],
        names: Sequence[Name],
        within: Range,
        changed: Mapping[Name, Entry | None] = _UNCHANGED,
    ) -> None:
        """`names` are those of `entries`, sorted; `changed` has what was another entry then, None where was none."""
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
