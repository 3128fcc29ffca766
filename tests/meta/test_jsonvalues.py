"""Comparison of JSON values by the rules of JSON and Kubernetes."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.kubernetes.types.apps_v1 import ControllerRevision
from clientgo.meta.apply.mergerules import MergeRule, items
from clientgo.meta.applyconfiguration import owned
from clientgo.meta.jsonvalues import canonical, is_among, same, same_text
from clientgo.meta.patches import PatchError, jsonpatch, mergepatch
from clientgo_apiserver.merging import strategic
from clientgo_apiserver.merging.comparison import compare
from clientgo_apiserver.merging.managedfields import equal_ignoring_timestamps
from clientgo_apiserver.merging.mergelists import UnmergeablePatch

LEAVES = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 0.5, 1.0, -0.0]) | st.sampled_from("ab")
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner))
PAIRS = [
    ({"a": True}, {"a": 1}),
    ({"a": 0}, {"a": False}),
    ({"a": [1]}, {"a": [True]}),
    ({"a": {"b": 0.0}}, {"a": {"b": False}}),
]


def by_hand(item: Any, other: Any) -> bool:
    """The rule, written without regard to speed."""
    if isinstance(item, bool) or isinstance(other, bool):
        return item is other
    if isinstance(item, dict) and isinstance(other, dict):
        return item.keys() == other.keys() and all(by_hand(value, other[name]) for name, value in item.items())
    if isinstance(item, list) and isinstance(other, list):
        return len(item) == len(other) and all(map(by_hand, item, other))
    return bool(item == other)


@given(VALUES, VALUES)
def test_comparison_is_that_of_json(item: Any, other: Any) -> None:
    assert same(item, other) == by_hand(item, other) == (canonical(item) == canonical(other))
    assert same(item, json.loads(json.dumps(item, sort_keys=True)))


@pytest.mark.parametrize(("item", "other"), PAIRS)
def test_boolean_is_never_a_number(item: Any, other: Any) -> None:
    assert not same(item, other)
    assert canonical(item) != canonical(other)
    assert not is_among(item, [other])
    assert is_among(item, [other, item])


def test_numbers_are_compared_by_value() -> None:
    assert same({"a": 1}, {"a": 1.0})
    assert not same_text({"a": 1}, {"a": 1.0})
    assert same(2**63, 2.0**63)
    assert not same(2**53 + 1, 2.0**53)


@pytest.mark.parametrize("item", [math.nan, [math.nan], {"a": [1, math.nan]}, [None, math.nan]])
def test_nan_is_not_even_equal_to_itself(item: Any) -> None:
    assert not same(item, item)


def test_values_nested_too_deep_for_the_encoder_are_compared() -> None:
    item: Any = True
    other: Any = 1
    for _ in range(400):
        item, other = [item], {"a": other}
    assert same(item, item)
    assert same(other, other)
    assert not same(item, other)


def test_free_form_content_of_typed_objects_is_compared_as_json() -> None:
    first, other = ControllerRevision(data={"a": True}), ControllerRevision(data={"a": 1})
    assert first == other
    assert not same(first, other)
    assert same(first, ControllerRevision(data={"a": True}))


@pytest.mark.parametrize(("item", "other"), PAIRS)
def test_patches_and_field_sets_see_the_change(item: dict[str, Any], other: dict[str, Any]) -> None:
    assert mergepatch.create(item, other) == other
    assert canonical(mergepatch.apply(item, mergepatch.create(item, other))) == canonical(other)
    assert jsonpatch.diff(item, other)
    assert compare(item, other, lambda _: None).changed
    assert not equal_ignoring_timestamps({**item, "metadata": {}}, {**other, "metadata": {}})
    with pytest.raises(PatchError, match="test failed"):
        jsonpatch.apply(item, [{"op": "test", "path": "/a", "value": other["a"]}])


def test_items_of_lists_are_identified_as_json() -> None:
    numbers = MergeRule(list_type="set", merge=True)
    assert [element for element, _ in items([True, 1, 1.0, "1"], numbers)] == ["v:true", "v:1", "v:1", 'v:"1"']
    keyed = MergeRule(list_type="map", map_keys=("on",), patch_key="on", merge=True)
    assert [element for element, _ in items([{"on": True}, {"on": 1}], keyed)] == ['k:{"on":true}', 'k:{"on":1}']
    merged = strategic.apply({"a": [{"on": 1, "b": 1}]}, {"a": [{"on": True, "b": 2}]}, lambda _: keyed)
    assert canonical(merged) == canonical({"a": [{"on": True, "b": 2}, {"on": 1, "b": 1}]})
    with pytest.raises(UnmergeablePatch, match="types are not identical"):
        strategic.apply({"a": [1, 0]}, {"a": [True]}, lambda _: numbers)
    assert canonical(owned({"a": [1, True]}, {"f:a": {"v:true": {}}}, lambda _: None)) == canonical({"a": [True]})
