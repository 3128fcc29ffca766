"""JSON Patch: creation, and application as kube-apiserver does it."""

import copy
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.jsonvalues import canonical
from clientgo.meta.patches import PatchError
from clientgo.meta.patches.jsonpatch import MAX_COPIED_BYTES, apply, diff

NAMES = st.text(alphabet="ab/~0-é", max_size=3)
LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0]) | NAMES
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(NAMES, inner, max_size=4))


@given(VALUES, VALUES)
def test_created_patch_leads_to_its_target(old_value: Any, new_value: Any) -> None:
    old, new = {"it": old_value}, {"it": new_value}
    before = copy.deepcopy(old)
    patch = diff(old, new)
    # An independent implementation: ours could have the same bug in diff and apply.
    assert canonical(jsonpatch.apply_patch(old, [dict(item) for item in patch])) == canonical(new)
    assert canonical(apply(old, patch)) == canonical(new)
    assert canonical(old) == canonical(before)
    assert (patch == []) == (canonical(old) == canonical(new))


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        pytest.param({"a": 1}, {"a": 1}, [], id="nothing"),
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, [("replace", "/a/c", 3)], id="a leaf"),
        pytest.param({}, {"x/y~z": {"n": 1}}, [("add", "/x~1y~0z", {"n": 1})], id="escaped"),
        pytest.param({"a": 1, "b": None}, {"b": None}, [("remove", "/a")], id="removed"),
        pytest.param([1, 2, 3], [1, 3], [("remove", "/1")], id="item gone"),
        pytest.param([1, 2, 3], [1, 2, 9, 3], [("add", "/2", 9)], id="item come"),
        pytest.param([1, {"a": 1}, 3], [1, {"a": 2}, 3], [("replace", "/1/a", 2)], id="inside an item"),
        pytest.param([1, 2, 3, 4], [9], [("replace", "/0", 9), ("remove", "/3"), ("remove", "/2"), ("remove", "/1")]),
        pytest.param({"a": True}, {"a": 1}, [("replace", "/a", 1)], id="true is not one"),
        pytest.param({"a": {"b": 1}}, {"a": None}, [("replace", "/a", None)], id="null"),
    ],
)
def test_created_patch_names_only_what_differs(old: Any, new: Any, patch: list[tuple[Any, ...]]) -> None:
    assert [tuple(item.values()) for item in diff(old, new)] == patch


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "move", "from": "/a/b", "path": "/c"}, {"a": {}, "l": [1, 2], "c": 1}),
        ({"op": "copy", "from": "/l", "path": "/a/l"}, {"a": {"b": 1, "l": [1, 2]}, "l": [1, 2]}),
        ({"op": "add", "path": "/l/-", "value": 3}, {"a": {"b": 1}, "l": [1, 2, 3]}),
        ({"op": "add", "path": "/l/2", "value": 3}, {"a": {"b": 1}, "l": [1, 2, 3]}),
        ({"op": "test", "path": "/a/b", "value": 1}, {"a": {"b": 1}, "l": [1, 2]}),
        ({"op": "replace", "path": "", "value": [5]}, [5]),
        ({"op": "replace", "path": "ignored/a/b", "value": 2}, {"a": {"b": 2}, "l": [1, 2]}),
        ({"op": "move", "from": "/a", "path": "/a"}, {"a": {"b": 1}, "l": [1, 2]}),
        ({"op": "replace", "path": "/c", "value": 1}, {"a": {"b": 1}, "l": [1, 2], "c": 1}),
        ({"op": "copy", "from": "/a/c", "path": "/c"}, {"a": {"b": 1}, "l": [1, 2], "c": None}),
        ({"op": "test", "path": "/a/c", "value": None}, {"a": {"b": 1}, "l": [1, 2]}),
        ({"op": "add", "path": "/c"}, {"a": {"b": 1}, "l": [1, 2], "c": None}),
        ({"op": "add", "path": "/l/-1", "value": 3}, {"a": {"b": 1}, "l": [1, 2, 3]}),
        ({"op": "add", "path": "/l/+01", "value": 3}, {"a": {"b": 1}, "l": [1, 3, 2]}),
        ({"op": "remove", "path": "/l/-2"}, {"a": {"b": 1}, "l": [2]}),
    ],
)
def test_operation_is_applied_as_the_api_server_applies_it(operation: dict[str, Any], result: Any) -> None:
    assert apply({"a": {"b": 1}, "l": [1, 2]}, [operation]) == result


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/none"},
        {"op": "replace", "path": "/none/x", "value": 1},
        {"op": "replace", "path": "/l/2", "value": 1},
        {"op": "add", "path": "", "value": {}},
        {"op": "copy", "from": "/a", "path": ""},
        {"op": "copy", "path": "/a"},
        {"op": "move", "from": "/none", "path": "/a"},
        {"op": "remove", "path": "/l/-3"},
        {"op": "add", "path": "/none/x", "value": 1},
        {"op": "add", "path": "/l/3", "value": 1},
        {"op": "add", "path": "/l/²", "value": 1},
        {"op": "add", "path": "/a/b/c", "value": 1},
        {"op": "test", "path": "/none/x", "value": None},
        {"op": "add", "path": "x", "value": 1},
        {"op": "add", "value": 1},
        {"op": "test", "path": "/a/b", "value": True},
        {"op": "move", "from": "/a", "path": "/a/b"},
        {"op": "remove", "path": ""},
        {"op": "replace", "path": "", "value": 5},
        {"op": "copy", "from": "", "path": "/c"},
        {"op": "move", "from": "", "path": "/c"},
        {"op": "burn", "path": "/a"},
        {},
    ],
)
def test_operation_that_cannot_be_applied_is_rejected(operation: dict[str, Any]) -> None:
    with pytest.raises(PatchError, match=r"^[^\n]{10,}$"):
        apply({"a": {"b": 1}, "l": [1, 2]}, [operation])


def test_patch_that_doubles_a_value_again_and_again_is_rejected() -> None:
    double: list[dict[str, Any]] = [{"op": "copy", "from": "/a", "path": f"/a/{name}"} for name in range(64)]
    with pytest.raises(PatchError, match=f"the patch copies more than {MAX_COPIED_BYTES} bytes"):
        apply({"a": {"text": "x" * 100}}, double)


def test_copy_is_independent_of_its_source() -> None:
    steps: list[dict[str, Any]] = [
        {"op": "add", "path": "/a/b", "value": [1]},
        {"op": "copy", "from": "/a", "path": "/c"},
        {"op": "add", "path": "/a/b/-", "value": 2},
        {"op": "remove", "path": "/c/b/0"},
    ]
    assert apply({"a": {}}, steps) == {"a": {"b": [1, 2]}, "c": {"b": []}}


@given(VALUES, st.lists(st.tuples(st.sampled_from(["add", "replace"]), NAMES, VALUES), max_size=5))
def test_neither_the_value_nor_the_patch_is_changed(value: Any, steps: list[tuple[str, str, Any]]) -> None:
    document = {"it": value, "a": {}}
    patch = [
        {"op": op, "path": "/a/" + name.replace("~", "~0").replace("/", "~1"), "value": new} for op, name, new in steps
    ]
    patch += [{"op": "copy", "from": "/a", "path": "/it"}, {"op": "add", "path": "/it/x", "value": 1}]
    before = canonical(document), canonical(patch)
    assert apply(document, patch)["it"]["x"] == 1
    assert (canonical(document), canonical(patch)) == before
