"""JSON Merge Patch and strategic merge patch on plain values."""

import copy
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.apply.mergerules import merge_rule
from clientgo.meta.patches import PatchError, mergepatch, strategic

NAMES = st.text("ab/~", max_size=2)
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | NAMES
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=3)
POD = partial(merge_rule, "Pod")


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return value


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
    ],
)
def test_merge_patch(target: object, patch: object, expected: object) -> None:
    assert mergepatch.apply(target, patch) == expected


def containers(*items: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"containers": list(items)}}


def finalizers(*items: str) -> dict[str, Any]:
    return {"metadata": {"finalizers": list(items)}}


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        pytest.param(
            containers({"name": "a", "image": "1"}, {"name": "b"}), containers({"name": "a", "image": "2"}),
            containers({"name": "a", "image": "2"}, {"name": "b"}), id="items merge by key",
        ),
        pytest.param(
            containers({"name": "a"}, {"name": "b"}), containers({"name": "a", "$patch": "delete"}),
            containers({"name": "b"}), id="an item is deleted",
        ),
        pytest.param(
            containers({"name": "a"}), containers({"$patch": "replace"}, {"name": "b"}),
            containers({"name": "b"}), id="the list is replaced",
        ),
        pytest.param({"args": ["x"]}, {"args": ["y"]}, {"args": ["y"]}, id="other lists are replaced"),
        pytest.param(finalizers("x", "z"), finalizers("y", "x"), finalizers("y", "x", "z"), id="sets are joined"),
        pytest.param(
            containers({"name": "a"}), containers({"name": "b"}), containers({"name": "b"}, {"name": "a"}),
            id="new items come first",
        ),
        pytest.param(
            finalizers("x", "y"), {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"]}}, finalizers("y"),
            id="items are deleted from a set",
        ),
        pytest.param({"s": {"a": 1, "b": 2}}, {"s": {"$retainKeys": ["a"]}}, {"s": {"a": 1}}, id="keys are retained"),
        pytest.param({"s": {"a": 1}}, {"s": {"$patch": "replace", "b": 1}}, {"s": {"b": 1}}, id="a map is replaced"),
        pytest.param({"s": {"a": 1}}, {"s": {"a": None}}, {"s": {}}, id="null deletes"),
    ],
)  # fmt: skip
def test_strategic_merge_patch(target: object, patch: object, expected: object) -> None:
    before = copy.deepcopy(target)
    assert strategic.apply(target, patch, POD) == expected
    assert target == before


@pytest.mark.parametrize("patch", [{"$patch": "burn"}, containers({"image": "1"})])
def test_strategic_merge_patch_is_rejected(patch: dict[str, Any]) -> None:
    with pytest.raises(PatchError):
        strategic.apply(containers({"name": "a"}), patch, POD)
