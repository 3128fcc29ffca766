"""Order of the items of a list that merges by its items, after an apply (structured-merge-diff)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.apply.mergerules import MergeRule
from clientgo_apiserver.merging.serverside import merge

ITEMS = st.lists(st.sampled_from("abcdefgh"), unique=True)


def merged(live: list[str], config: list[str]) -> list[str]:
    result: list[str] = merge(live, config, lambda _: MergeRule(list_type="set"), ())
    return result


@pytest.mark.parametrize(
    ("live", "config", "expected"),
    [
        ("abc", "ca", "bca"),
        ("abc", "cba", "cba"),
        ("ab", "cb", "acb"),
        ("xaybz", "bna", "xybzna"),
        ("", "ba", "ba"),
        ("ab", "", "ab"),
        ("aab", "a", "ab"),
        ("aab", "b", "aab"),
    ],
)
def test_items_of_both_lists_are_in_the_order_of_the_configuration(live: str, config: str, expected: str) -> None:
    assert "".join(merged([*live], [*config])) == expected


def test_items_with_keys_are_ordered_like_those_of_a_set_and_merged() -> None:
    live = [{"k": "a", "x": 1}, {"k": "b", "x": 2}]
    config = [{"k": "b", "y": 3}, {"k": "a", "y": 4}]
    rule = MergeRule(list_type="map", map_keys=("k",))
    result = merge(live, config, lambda path: None if path else rule, ())
    assert result == [{"k": "b", "x": 2, "y": 3}, {"k": "a", "x": 1, "y": 4}]


@given(ITEMS, ITEMS)
def test_no_item_is_lost_and_each_list_keeps_its_order(live: list[str], config: list[str]) -> None:
    result = merged(live, config)
    assert [item for item in result if item in config] == config
    assert [item for item in result if item not in config] == [item for item in live if item not in config]


@given(ITEMS)
def test_list_that_is_applied_again_does_not_change(config: list[str]) -> None:
    assert merged(config, config) == config
