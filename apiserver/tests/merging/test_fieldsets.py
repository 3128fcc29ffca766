"""Sets of fields: as sets of paths, in the order of conflicts, and as clients send them."""

from collections.abc import Iterable
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.tests.merging.shapes import OBJECTS, rules
from clientgo.meta.apply.mergerules import ENTRIES, MergeRule
from clientgo_apiserver.merging.comparison import field_set
from clientgo_apiserver.merging.fieldsets import (
    Tree,
    contains,
    difference,
    intersection,
    is_entry,
    paths,
    read_tree,
    show,
    tree_of,
    union,
    with_atomic_fields,
    with_named_fields,
)

Path = tuple[str, ...]
PATHS = st.sets(
    st.lists(st.sampled_from(["f:a", "f:b", 'k:{"n":1}', "v:2"]), min_size=1, max_size=4).map(tuple), max_size=12
)


def tree(of: Iterable[Path]) -> Tree:
    return reduce(union, map(tree_of, of), {})


@given(PATHS, PATHS)
def test_sets_of_fields_are_joined_and_subtracted_as_sets_of_paths(item: set[Path], other: set[Path]) -> None:
    trees = tree(item), tree(other)
    assert set(paths(trees[0])) == item
    assert all(contains(trees[0], path) is (path in item) for path in other)
    assert set(paths(union(*trees))) == item | other
    assert set(paths(difference(*trees))) == item - other
    assert set(paths(intersection(*trees))) == item & other
    assert difference(trees[0], tree(other - item)) is trees[0]
    assert read_tree(trees[0]) == trees[0]


@given(OBJECTS)
def test_declared_fields_above_the_paths_of_a_set_are_added_to_it(obj: Any) -> None:
    fields = field_set(obj, rules)
    parents = {path[:end] for path in paths(fields) for end in range(1, len(path))}
    named = {path for path in parents if path[-1].startswith("f:") and not is_entry(path[-1][2:], rules(above(path)))}
    assert set(paths(with_named_fields(fields, rules))) == set(paths(fields)) | named


def above(path: Path) -> Path:
    return tuple(element[2:] for element in path[:-1] if element.startswith("f:"))


def test_paths_come_in_the_order_of_conflicts() -> None:
    fields: Tree = {
        "f:b": {},
        "f:a": {"f:x": {}},
        "f:l": {'k:{"p":80}': {".": {}, "f:p": {}}, 'k:{"p":9}': {}, 'k:{"p":"x"}': {}, 'v:"s"': {}, "v:3": {}},
    }
    assert [show(path) for path in paths(fields)] == [
        ".b", ".a.x", ".l[p=9]", ".l[p=80]", '.l[p="x"]', ".l[=3]", '.l[="s"]', ".l[p=80].p",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"f:a": {".": {}}}, {"f:a": {}}),
        ({"f:a": {"x:b": {}}, "y:": {}}, {"f:a": {}}),
        ({'k:{"b":1, "a":2.0}': {}, 'v: "<"': {}, "i:0": {}}, {'k:{"a":2,"b":1}': {}, 'v:"\\u003c"': {}, "i:0": {}}),
    ],
)
def test_set_of_a_client_is_read_in_canonical_form(sent: Any, expected: Tree) -> None:
    assert read_tree(sent) == expected


@pytest.mark.parametrize(
    "sent", [7, {"f:a": 7}, {"a": {}}, {"": {}}, {"k:[]": {}}, {"k:{": {}}, {"v:": {}}, {"i:x": {}}]
)
def test_set_of_a_client_that_cannot_be_read_is_an_error(sent: Any) -> None:
    with pytest.raises(ValueError, match=r"invalid"):
        read_tree(sent)


LIST = MergeRule(list_type="map", map_keys=("n",))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (MergeRule(list_type="atomic"), {"f:x": {}, "f:y": {"f:b": {}}}),
        (None, {"f:x": {}, "f:y": {"f:b": {}}}),
        (
            MergeRule(list_type="map", map_keys=("n",), atomic_items=True),
            {"f:x": {'k:{"n":1}': {}}, "f:y": {"f:b": {}}},
        ),
        (LIST, {"f:x": {'k:{"n":1}': {"f:a": {}}}, "f:y": {"f:b": {}}}),
    ],
)
def test_fields_below_one_that_became_atomic_are_replaced_by_it(rule: MergeRule | None, expected: Tree) -> None:
    before: Tree = {"f:x": {'k:{"n":1}': {"f:a": {}}}, "f:y": {"f:b": {}}}
    assert with_atomic_fields(before, lambda path: rule if path == ("x",) else ENTRIES) == expected
