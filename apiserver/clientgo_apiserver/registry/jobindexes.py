"""Sets of completion indexes of Jobs, as ranges: `0-2147483646` takes no more memory than `0`."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator


class IndexSet:
    """Set of indexes, which prints as in a Job's status: `0,2-4`."""

    def __init__(self, ranges: Iterable[range] = ()) -> None:
        self._ranges: list[range] = []
        for each in sorted((each for each in ranges if each), key=lambda each: each.start):
            if self._ranges and each.start <= self._ranges[-1].stop:
                last = self._ranges[-1]
                self._ranges[-1] = range(last.start, max(last.stop, each.stop))
            else:
                self._ranges.append(each)

    @classmethod
    def of(cls, indexes: Iterable[int]) -> "IndexSet":
        """Return the set of these indexes."""
        return cls(range(index, index + 1) for index in indexes)

    @classmethod
    def parse(cls, text: str | None) -> "IndexSet":
        """Return the set of a valid text."""
        limits = (part.partition("-") for part in (text or "").split(",") if part)
        return cls(range(int(first), int(last or first) + 1) for first, _, last in limits)

    def __contains__(self, index: int) -> bool:
        following = bisect_right(self._ranges, index, key=lambda each: each.start)
        return following > 0 and index in self._ranges[following - 1]

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def __or__(self, other: "IndexSet") -> "IndexSet":
        return IndexSet([*self._ranges, *other._ranges])

    def __and__(self, other: "IndexSet") -> "IndexSet":
        common, mine, theirs = [], [*self._ranges], [*other._ranges]
        while mine and theirs:
            first, second = mine[-1], theirs[-1]
            common.append(range(max(first.start, second.start), min(first.stop, second.stop)))
            (mine if first.start >= second.start else theirs).pop()
        return IndexSet(common)

    def missing(self, count: int) -> Iterator[int]:
        """Yield the indexes below `count` that are not in the set."""
        starts = (0, *(each.stop for each in self._ranges))
        for start, stop in zip(starts, (*(each.start for each in self._ranges), count), strict=True):
            yield from range(start, min(stop, count))

    def __str__(self) -> str:
        return ",".join(
            str(each.start) if len(each) == 1 else f"{each.start}{',' if len(each) == 2 else '-'}{each.stop - 1}"
            for each in self._ranges
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    @property
    def size(self) -> int:
        """Number of indexes; `len` is limited to the size of a list."""
        return sum(map(len, self._ranges))

    @property
    def first(self) -> int:
        """The smallest index of a set that is not empty."""
        return self._ranges[0].start
