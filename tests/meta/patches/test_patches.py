"""JSON Merge Patch on plain values."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.patches import mergepatch

NAMES = st.text("ab/~", max_size=2)
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | NAMES
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=3)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


@given(OBJECTS, OBJECTS)
def test_created_merge_patch_leads_to_its_target(old: dict[str, Any], new: dict[str, Any]) -> None:
    # A merge patch cannot set null: null removes.
    old, new = without_nulls(old), without_nulls(new)
    before = copy.deepcopy(old)
    assert mergepatch.apply(old, mergepatch.create(old, new)) == new
    assert old == before


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        pytest.param({"a": 1, "b": {"c": 2}}, {"b": {"c": None, "d": 3}}, {"a": 1, "b": {"d": 3}}, id="nested"),
        pytest.param({"a": [1, 2]}, {"a": [3]}, {"a": [3]}, id="lists are replaced"),
        pytest.param({}, {"a": {"b": None}}, {"a": {}}, id="nulls are removed from new objects"),
        pytest.param({"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}, id="an object replaces a scalar"),
        pytest.param({"a": [1]}, {"a": [{"b": None}, None]}, {"a": [{}, None]}, id="nulls are removed in lists"),
        pytest.param({"a": {}}, {"a": [{"b": None}]}, {"a": [{"b": None}]}, id="a list replaces an object as it is"),
    ],
)
def test_merge_patch(target: object, patch: object, expected: object) -> None:
    assert mergepatch.apply(target, patch) == expected
