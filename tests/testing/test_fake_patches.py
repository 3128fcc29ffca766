"""The patches of the API on plain values, against an independent implementation where there is one."""

import copy
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.testing.patches import BadPatch, json_patch, merge_patch, strategic_merge_patch

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab/~", max_size=2)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text("ab/~", max_size=2), VALUES, max_size=3)


@given(OBJECTS, OBJECTS)
def test_a_foreign_json_patch_leads_to_its_target(old: dict[str, Any], new: dict[str, Any]) -> None:
    before = copy.deepcopy(old)
    assert json_patch(old, jsonpatch.make_patch(old, new).patch) == new
    assert old == before


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        pytest.param([{"op": "add", "path": "/l/-", "value": 3}], {"l": [1, 2, 3], "m": {"a~/": 1}}, id="append"),
        pytest.param([{"op": "add", "path": "/l/0", "value": 0}], {"l": [0, 1, 2], "m": {"a~/": 1}}, id="insert"),
        pytest.param([{"op": "remove", "path": "/m/a~0~1"}], {"l": [1, 2], "m": {}}, id="escaped"),
        pytest.param([{"op": "move", "from": "/l/0", "path": "/x"}], {"l": [2], "m": {"a~/": 1}, "x": 1}, id="move"),
        pytest.param([{"op": "copy", "from": "/l", "path": "/m"}], {"l": [1, 2], "m": [1, 2]}, id="copy"),
        pytest.param([{"op": "replace", "path": "", "value": {}}], {}, id="whole"),
        pytest.param([{"op": "test", "path": "/l/1", "value": 2}], {"l": [1, 2], "m": {"a~/": 1}}, id="test"),
    ],
)
def test_json_patch_operations(operations: list[dict[str, Any]], expected: object) -> None:
    assert json_patch({"l": [1, 2], "m": {"a~/": 1}}, operations) == expected


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/l/0", "value": True},
        {"op": "remove", "path": "/l/2"},
        {"op": "replace", "path": "/none", "value": 1},
        {"op": "add", "path": "/l/9", "value": 1},
        {"op": "add", "path": "/l/0/x", "value": 1},
        {"op": "add", "path": "no-slash", "value": 1},
        {"op": "remove", "path": ""},
        {"op": "leap", "path": "/l"},
    ],
)
def test_a_json_patch_that_cannot_be_applied_is_refused(operation: dict[str, Any]) -> None:
    with pytest.raises(BadPatch):
        json_patch({"l": [1, 2]}, [operation])


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        pytest.param({"a": 1, "b": {"c": 2}}, {"b": {"c": None, "d": 3}}, {"a": 1, "b": {"d": 3}}, id="nested"),
        pytest.param({"a": [1, 2]}, {"a": [3]}, {"a": [3]}, id="lists are replaced"),
        pytest.param({}, {"a": {"b": None}}, {"a": {}}, id="nulls never stay"),
        pytest.param({"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}, id="an object takes a scalar's place"),
    ],
)
def test_merge_patch(target: object, patch: object, expected: object) -> None:
    assert merge_patch(target, patch) == expected


def containers(*items: dict[str, Any]) -> dict[str, Any]:
    return {"containers": list(items)}


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
        pytest.param({"finalizers": ["x"]}, {"finalizers": ["y", "x"]}, {"finalizers": ["x", "y"]}, id="sets join"),
        pytest.param(
            {"finalizers": ["x", "y"]}, {"$deleteFromPrimitiveList/finalizers": ["x"]}, {"finalizers": ["y"]},
            id="items leave a set",
        ),
        pytest.param({"s": {"a": 1, "b": 2}}, {"s": {"$retainKeys": ["a"]}}, {"s": {"a": 1}}, id="keys are retained"),
        pytest.param({"s": {"a": 1}}, {"s": {"$patch": "replace", "b": 1}}, {"s": {"b": 1}}, id="a map is replaced"),
        pytest.param({"s": {"a": 1}}, {"s": {"a": None}}, {"s": {}}, id="null deletes"),
    ],
)  # fmt: skip
def test_strategic_merge_patch(target: object, patch: object, expected: object) -> None:
    before = copy.deepcopy(target)
    assert strategic_merge_patch(target, patch) == expected
    assert target == before
