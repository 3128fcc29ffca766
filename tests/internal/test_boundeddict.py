"""Bounded dict."""

import pytest

from clientgo.internal.boundeddict import BoundedDict


def test_size_below_one_is_rejected() -> None:
    with pytest.raises(ValueError, match="invalid cache size 0"):
        BoundedDict[str, int](0)


def test_setting_a_key_makes_it_the_newest() -> None:
    entries = BoundedDict[str, str](2)
    for key in ("a", "b", "a", "c"):
        entries[key] = key
    assert [*entries.items()] == [("a", "a"), ("c", "c")]


def test_using_a_key_makes_it_the_newest_and_reading_it_does_not() -> None:
    entries = BoundedDict[str, int](2)
    entries.update({"a": 1, "b": 2})
    assert (entries.use("a"), entries.get("b"), entries.use("c")) == (1, 2, None)
    entries["d"] = 4
    assert [*entries] == ["a", "d"]


def test_dict_of_size_one_holds_the_last_entry() -> None:
    entries = BoundedDict[str, str](1)
    entries["a"] = "a"
    entries["b"] = "b"
    assert [*entries] == ["b"]


def test_no_method_exceeds_the_size() -> None:
    entries = BoundedDict[int, int](2)
    entries.update(dict.fromkeys(range(3), 0))
    entries |= {4: 0, 5: 0, 6: 0}
    entries.setdefault(7, 0)
    assert [*entries] == [6, 7]


def test_size_may_shrink() -> None:
    entries = BoundedDict[int, int](3)
    entries.update({1: 1, 2: 2, 3: 3})
    entries.size = 1
    entries[4] = 4
    assert [*entries] == [4]


class Observed(BoundedDict[str, int]):
    """Records its length at each eviction."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.lengths: list[int] = []

    def popitem(self, last: bool = True) -> tuple[str, int]:
        self.lengths.append(len(self))
        return super().popitem(last)


def test_size_is_not_exceeded_while_a_key_is_set() -> None:
    entries = Observed(2)
    for name in "abcbd":
        entries[name] = 0
    assert entries.lengths == [2, 2]
    assert [*entries] == ["b", "d"]
