"""Lists of type set and map: duplicate items, and an item and the old one with its keys."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo_apiserver.crds.listtypes import counterparts, list_errors

SCHEMA: dict[str, Any] = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "port"]}


def item(name: Any, port: Any = 1, **fields: Any) -> dict[str, Any]:
    return {"name": name, "port": port, **fields}


def test_the_counterpart_is_the_first_old_item_with_all_keys() -> None:
    old = [item("a", old=1), item("a", 2), item("a", old=2), "text", {"name": "b"}]
    find = counterparts(SCHEMA, old)
    assert find(item("a", new=True)) == item("a", old=1)
    assert find(item("a", 2)) == item("a", 2)


@pytest.mark.parametrize("new", [item("c"), {"name": "b"}, item("a", None), "text", item("a", True)])
def test_item_without_equal_keys_has_no_counterpart(new: Any) -> None:
    assert counterparts(SCHEMA, [item("a"), {"name": "b"}])(new) is None


@pytest.mark.parametrize("old", [None, {}, "text"])
def test_what_is_no_list_has_no_counterparts(old: Any) -> None:
    assert counterparts(SCHEMA, old)(item("a")) is None


def test_list_without_keys_has_no_counterparts() -> None:
    assert counterparts({}, [item("a")])(item("a")) is None


SET: dict[str, Any] = {"type": "array", "x-kubernetes-list-type": "set"}
SCALARS = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from("ab")


def errors(schema: dict[str, Any], value: Any) -> list[tuple[str, str]]:
    return [(cause.field, cause.reason) for cause in list_errors(schema, value)]


@given(st.lists(SCALARS, max_size=6))
def test_set_has_an_error_for_each_value_that_it_repeats(items: list[Any]) -> None:
    distinct = [(type(value), value) for value in items]
    repeated = {value for value in distinct if distinct.count(value) > 1}
    assert len(errors(SET, items)) == len(repeated)


def test_items_of_a_map_without_a_key_are_told_apart_from_those_with_it() -> None:
    assert errors(SCHEMA, [{"name": "a"}, item("a")]) == []
    assert errors(SCHEMA, [{"name": "a"}, {"name": "a", "other": 1}]) == [("[1]", "FieldValueDuplicate")]


def test_item_of_a_map_must_be_an_object() -> None:
    assert errors(SCHEMA, [item("a"), "text", "text"]) == [("[1]", "FieldValueInvalid")]


def test_lists_are_checked_on_all_levels() -> None:
    schema = {"properties": {"a": {"items": SET}, "b": {"additionalProperties": SET}}}
    value = {"a": [[1, 1], [1]], "b": {"x": [2, 2]}, "c": [3, 3]}
    assert [field for field, _ in errors(schema, value)] == ["a[0][1]", "b[x][1]"]


@pytest.mark.parametrize("list_type", ["atomic", ""])
def test_other_lists_may_repeat_items(list_type: str) -> None:
    assert errors({"x-kubernetes-list-type": list_type}, [1, 1]) == []
