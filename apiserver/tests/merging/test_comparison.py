"""Sets of the fields in which objects differ."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.tests.merging.shapes import OBJECTS, rules
from clientgo.meta.apply.mergerules import ENTRIES, MergeRule
from clientgo.meta.jsonvalues import same
from clientgo_apiserver.merging.comparison import UntypedObject, added, compare, field_set
from clientgo_apiserver.merging.fieldsets import Tree, difference, paths


@given(OBJECTS, OBJECTS)
def test_what_one_direction_adds_the_other_removes_and_modified_fields_are_the_same(old: Any, new: Any) -> None:
    forth, back = compare(old, new, rules), compare(new, old, rules)
    added_forth, added_back = back.removed, forth.removed
    assert set(paths(added_forth)) <= set(paths(forth.changed))
    assert difference(forth.changed, added_forth) == difference(back.changed, added_back)
    assert not any(compare(old, old, rules))


@given(OBJECTS)
def test_what_is_added_to_an_empty_object_is_what_is_removed_by_emptying_it(obj: Any) -> None:
    after, before = compare({}, obj, rules), compare(obj, {}, rules)
    assert (after.changed, after.removed) == (before.removed, before.changed)
    assert set(paths(field_set(obj, rules))) <= set(paths(after.changed)) | {()}


@given(OBJECTS, st.data())
def test_fields_of_a_new_object_are_what_differs_from_an_empty_one(obj: Any, data: st.DataObject) -> None:
    zero = {key: data.draw(st.sampled_from([None, {}, value])) for key, value in obj.items() if key in "one map set"}
    assert repr(added(zero, obj, rules)) == repr(compare(zero, obj, rules).changed)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda child: st.lists(child, max_size=3) | st.dictionaries(st.sampled_from("abc"), child, max_size=3),
    max_leaves=12,
)


@given(JSON, JSON)
def test_two_values_differ_as_a_set_only_if_they_differ(old: Any, new: Any) -> None:
    assert any(compare({"x": old}, {"x": new}, lambda _: None)) is not same(old, new)


KEYED = MergeRule(list_type="map", map_keys=("n",), key_defaults=(("n", 1),))
SET = MergeRule(list_type="set")
ATOMIC = MergeRule(list_type="atomic")
ONE, TWO = 'k:{"n":1}', 'k:{"n":2}'


@pytest.mark.parametrize(
    ("old", "new", "rule", "changed", "removed"),
    [
        ({}, {"x": {"a": 1}}, None, {".": {}, "f:a": {}}, None),
        ({"x": {}}, {"x": {"a": 1}}, None, {"f:a": {}}, None),
        ({"x": None}, {"x": {"a": 1}}, None, {"f:a": {}}, None),
        ({"x": None}, {"x": {}}, None, {}, None),
        ({}, {"x": {}}, None, {}, None),
        ({}, {"x": {"a": 1}}, ATOMIC, {}, None),
        ({"x": {"a": 1}}, {"x": {"a": 2}}, ATOMIC, {}, None),
        ({}, {"x": [{"v": 1}]}, KEYED, {".": {}, ONE: {".": {}, "f:v": {}}}, None),
        ({"x": None}, {"x": [{"n": 2}]}, KEYED, {TWO: {".": {}, "f:n": {}}}, None),
        ({"x": [{"n": 1}]}, {"x": [{"n": 2}]}, KEYED, {TWO: {".": {}, "f:n": {}}}, {ONE: {".": {}, "f:n": {}}}),
        ({"x": [{"n": 1}, {"n": 2}]}, {"x": [{"n": 2}, {"n": 1}]}, KEYED, None, None),
        ({}, {"x": ["a"]}, SET, {".": {}, 'v:"a"': {}}, None),
        ({}, {"x": ["a"]}, None, {}, None),
        ({"x": [1, 2]}, {"x": [2.0, 1]}, SET, None, None),
        ({"x": 3}, {"x": 3.0}, None, None, None),
    ],
)  # fmt: skip
def test_fields_that_appear_change_and_disappear(
    old: Any, new: Any, rule: MergeRule | None, changed: Tree | None, removed: Tree | None
) -> None:
    expected = tuple({} if part is None else {"f:x": part} for part in (changed, removed))
    assert compare(old, new, lambda path: rule if path == ("x",) else None) == expected


@pytest.mark.parametrize(
    ("old", "new", "changed", "removed"),
    [
        (5, {"a": 1}, {".": {}, "f:a": {}}, None),
        ({"a": 1}, 5, {}, {"f:a": {}}),
        ([1], {"a": 1}, {".": {}, "f:a": {}}, None),
        ({"a": 1}, [1], {}, {"f:a": {}}),
        ([1], {}, {}, None),
        (5, None, {}, None),
    ],
)
def test_free_value_that_changes_its_type_is_a_field_itself(
    old: Any, new: Any, changed: Tree | None, removed: Tree | None
) -> None:
    expected = tuple({} if part is None else {"f:x": part} for part in (changed, removed))
    assert compare({"x": old}, {"x": new}, lambda path: ENTRIES if path else None) == expected


ITEM: Tree = {".": {}, "f:n": {}}


@pytest.mark.parametrize(
    ("before", "after", "changed", "removed"),
    [
        ([1, 1], [1, 1], None, None),
        ([1, 1], [1, 1, 1], {}, None),
        ([1, 1], [1], ITEM, {}),
        ([1, 1], [], None, {}),
        ([1], [1, 1], {}, ITEM),
        ([], [1, 1], {}, None),
    ],
)
def test_duplicates_are_one_field(
    before: list[int], after: list[int], changed: Tree | None, removed: Tree | None
) -> None:
    old, new = ({"x": [{"n": 2}, *({"n": n} for n in side)]} for side in (before, after))
    expected = tuple({} if part is None else {"f:x": {ONE: part}} for part in (changed, removed))
    assert compare(old, new, lambda path: KEYED if path == ("x",) else None) == expected


@pytest.mark.parametrize(
    ("value", "rule"),
    [([{"v": 1}], MergeRule(list_type="map", map_keys=("n",))), ([None], SET), ([{}], SET), ([[1]], SET)],
)
def test_item_without_identity_makes_the_fields_unknown(value: Any, rule: MergeRule) -> None:
    obj = {"x": value}
    with pytest.raises(UntypedObject, match="item without identity"):
        field_set(obj, lambda _: rule)
    with pytest.raises(UntypedObject, match="item without identity"):
        added({}, obj, lambda _: rule)
