"""Sets of completion indexes, compared with sets of integers."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo_apiserver.registry.jobindexes import IndexSet

INDEXES = st.sets(st.integers(0, 30))


@given(INDEXES, INDEXES)
def test_sets_of_ranges_are_sets_of_indexes(first: set[int], second: set[int]) -> None:
    mine, theirs = IndexSet.of(first), IndexSet.of(second)
    for ranges, indexes in ((mine, first), (mine | theirs, first | second), (mine & theirs, first & second)):
        assert [index for index in range(40) if index in ranges] == sorted(indexes)
        assert (ranges.size, bool(ranges)) == (len(indexes), bool(indexes))
        assert str(IndexSet.parse(str(ranges))) == str(ranges)
        assert [*ranges.missing(20)] == [index for index in range(20) if index not in indexes]
        assert not indexes or ranges.first == min(indexes)


@pytest.mark.parametrize(("indexes", "text"), [([0, 1], "0,1"), ([0, 1, 2], "0-2"), ([4, 0, 2, 3], "0,2-4"), ([], "")])
def test_pairs_are_no_ranges(indexes: list[int], text: str) -> None:
    assert str(IndexSet.of(indexes)) == text


def test_set_of_all_indexes_is_as_small_as_one_of_one() -> None:
    everything = IndexSet([range(2**31 - 1)])
    assert (str(everything), everything.size, 2**31 - 2 in everything) == ("0-2147483646", 2**31 - 1, True)
    assert [*islice((everything & IndexSet([range(5, 2**31)])).missing(2**31 - 1), 3)] == [0, 1, 2]
