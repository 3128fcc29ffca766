"""Removal of what a manager applies no more, beside a naive model on sets of paths."""

from typing import Any

import pytest
from hypothesis import given

from apiserver.tests.merging.shapes import OBJECTS, PLAIN, rules
from clientgo.meta.apply.mergerules import FieldPath, items
from clientgo_apiserver.merging.comparison import field_set
from clientgo_apiserver.merging.fieldsets import is_entry, is_merged, paths
from clientgo_apiserver.merging.managedfields import FieldManager, ManagedType, after_update
from clientgo_apiserver.merging.pruning import VersionView, prune
from clientgo_apiserver.merging.serverside import Applied, apply

Paths = set[FieldPath]
KIND = ManagedType(rules)
VIEW = VersionView(rules, lambda obj: obj)


def applied(live: Any, config: Any, name: str, *, force: bool = True) -> Any:
    result = apply(live, {"metadata": {"name": "a"}, **config}, by(name), KIND, force=force, time="t")
    return stored(result)


def by(name: str, operation: str = "Apply") -> FieldManager:
    return FieldManager(name, operation, "v1")


def stored(result: Applied) -> Any:
    return {**result.obj, "metadata": {**result.obj["metadata"], "managedFields": result.entries}}


def updated(live: Any, **fields: Any) -> Any:
    new = {**live, **fields}
    entries = after_update(live["metadata"]["managedFields"], live, new, by("u", "Update"), KIND, time="t")
    return {**new, "metadata": {**new["metadata"], "managedFields": entries}}


def owned(live: Any, name: str) -> Paths:
    return {
        path for entry in live["metadata"]["managedFields"] if entry["manager"] == name
        for path in paths(entry["fieldsV1"])
    }  # fmt: skip


def content(live: Any) -> Any:
    return {field: value for field, value in live.items() if field != "metadata"}


def named(fields: Paths) -> Paths:
    parents = {path[:end] for path in fields for end in range(1, len(path))}
    return fields | {path for path in parents if path[-1][:2] == "f:" and not is_entry(path[-1][2:], rule_above(path))}


def rule_above(path: FieldPath) -> Any:
    return rules(tuple(element[2:] for element in path[:-1] if element[:2] == "f:"))


def fields_of(value: Any) -> Paths:
    return named(set(paths(field_set(value, rules))))


def without(value: Any, gone: Paths, at: FieldPath = (), field_path: FieldPath = ()) -> Any:
    rule = rules(field_path)
    if isinstance(value, dict):
        remaining = {field: child for field, child in value.items() if (*at, f"f:{field}") not in gone}
        return {
            field: without(child, gone, (*at, f"f:{field}"), (*field_path, field)) for field, child in remaining.items()
        }
    if isinstance(value, list) and rule is not None and is_merged(rule):
        elements = items(value, rule)
        return [without(item, gone, (*at, name), field_path) for name, item in elements if (*at, name) not in gone]
    return value


def naive_prune(merged: Any, last: Paths, managed: Paths) -> Any:
    every, last = fields_of(merged), named(last)
    pruned = without(merged, every - fields_of(without(merged, last)) - named(managed))
    return without(merged, (every - fields_of(pruned)) & last)


@given(OBJECTS, OBJECTS, OBJECTS)
def test_fields_are_removed_as_by_a_naive_model(merged: Any, last: Any, managed: Any) -> None:
    sets = [field_set(obj, rules) for obj in (last, managed)]
    expected = naive_prune(merged, *(set(paths(fields)) for fields in sets))
    assert prune(merged, sets[0], VIEW, [(VIEW, sets[1])]) == expected


@given(OBJECTS, OBJECTS)
def test_only_applier_replaces_what_it_applied(first: Any, second: Any) -> None:
    live = applied(applied({}, first, "x"), second, "x")
    assert fields_of(content(live)) == fields_of(second)
    assert owned(live, "x") == set(paths(field_set(second, rules)))
    again = applied(live, second, "x", force=False)
    assert (fields_of(content(again)), owned(again, "x")) == (fields_of(second), owned(live, "x"))


@given(PLAIN, PLAIN, PLAIN)
def test_apply_keeps_the_fields_of_another_applier(first: Any, other: Any, second: Any) -> None:
    live = applied(applied({}, first, "x"), other, "y")
    after = applied(live, {}, "x")
    assert owned(after, "y") == owned(live, "y") <= fields_of(content(after))
    forced = applied(live, second, "x")
    assert owned(forced, "x") | owned(forced, "y") <= fields_of(content(forced))


ITEM, TWO = {"n": 1, "a": 1}, {"n": 2}


@pytest.mark.parametrize(
    ("before", "change", "after", "expected"),
    [
        ({"items": [ITEM, TWO]}, {"items": [{"n": 1, "a": 2}, TWO]}, {"items": [TWO]}, {"items": [TWO]}),
        ({"items": [ITEM]}, {"items": [{"n": 1, "a": 2}]}, {}, {}),
        ({"items": [ITEM]}, {"items": [ITEM, {"n": 2}]}, {}, {"items": [{"n": 2}]}),
        ({"map": {"k": {"a": 1}}}, {"map": {"k": {"a": 2}}}, {"map": {}}, {"map": {}}),
        ({"map": {"k": {"a": 1}}}, {"map": {"k": {"a": 1, "b": 2}}}, {}, {"map": {}}),
        ({"struct": {"a": 1}}, {"struct": {"a": 1, "inner": {"b": 2}}}, {}, {"struct": {"inner": {"b": 2}}}),
        ({"struct": {"a": 1, "inner": {"b": 1}}}, {"struct": {"a": 2, "inner": {"b": 1}}}, {}, {"struct": {"a": 2}}),
        ({"open": {"k": {"l": 1}}}, {"open": {"k": {"l": 2}}}, {"open": {}}, {"open": {}}),
        ({"set": ["x", "y"]}, {"set": ["x", "y", "z"]}, {"set": ["x"]}, {"set": ["x", "z"]}),
        ({"whole": {"a": 1}}, {"whole": {"a": 2}}, {}, {"whole": {"a": 2}}),
        ({"one": 1, "struct": {"a": 1}}, {"one": 2}, {}, {"one": 2}),
        ({"labels": {"k": 1, "l": 1}}, {"labels": {"k": 1, "l": 2}}, {}, {"labels": {"l": 2}}),
    ],
    ids=[
        "item of which a field was updated", "all items", "item of another manager",
        "entry of which a field was updated", "entry to which a field was added",
        "struct with a field of another manager", "struct of which a field was updated",
        "entry of a free map", "member of a set", "atomic map that was updated", "scalar that was updated", "label",
    ],
)  # fmt: skip
def test_item_or_entry_belongs_to_whoever_applied_it_and_a_struct_to_whoever_has_a_field_of_it(
    before: Any, change: Any, after: Any, expected: Any
) -> None:
    live = updated(applied({}, before, "x"), **change)
    assert content(applied(live, after, "x")) == expected


def test_last_set_is_read_in_its_version_and_others_in_theirs() -> None:
    def renamed(old: str, new: str, version: str) -> VersionView:
        def convert(obj: Any) -> Any:
            out = {new if field == old else field: value for field, value in obj.items()}
            return {**out, "apiVersion": version}

        return VersionView(lambda _: None, lambda obj: obj if obj["apiVersion"] == version else convert(obj))

    views = {"v1": renamed("size", "replicas", "v1"), "v2": renamed("replicas", "size", "v2")}
    kind = ManagedType(lambda _: None, views=views)

    def write(live: Any, name: str, version: str, **config: Any) -> Any:
        body = {"apiVersion": version, "metadata": {"name": "a"}, **config}
        return stored(apply(live, body, FieldManager(name, "Apply", version), kind, force=False, time="t"))

    first = write({}, "x", "v1", replicas=1, a="x")
    assert content(write(views["v2"].convert(first), "x", "v2", a="x")) == {"apiVersion": "v2", "a": "x"}
    shared = write(views["v2"].convert(first), "y", "v2", size=1)
    assert content(write(views["v1"].convert(shared), "x", "v1", a="x"))["replicas"] == 1
    assert content(write(shared, "x", "v2", a="x"))["size"] == 1
