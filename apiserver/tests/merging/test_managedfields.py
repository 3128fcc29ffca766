"""Entries of managedFields after updates and changes of scale, and those that clients send."""

from typing import Any

import pytest

from apiserver.tests.merging.shapes import rules
from clientgo.meta.apply.mergerules import MergeRule
from clientgo_apiserver.merging.fieldsets import Tree
from clientgo_apiserver.merging.managedfields import (
    FieldManager,
    ManagedType,
    UnknownVersion,
    after_scale,
    after_update,
    present_entries,
)
from clientgo_apiserver.merging.pruning import VersionView
from clientgo_apiserver.merging.serverside import apply

REPLICAS = ("f:spec", "f:replicas")
OWNED: Tree = {"f:spec": {"f:replicas": {}}}
BOTH: Tree = {"f:spec": {"f:replicas": {}, "f:x": {}}}
REST: Tree = {"f:spec": {"f:x": {}}}


def entry(name: str, fields: Any, operation: str = "Update", version: str = "v1", time: str = "t", **more: str) -> Any:
    return {**FieldManager(name, operation, version, **more).entry(fields, time)}


SCALED = entry("s", OWNED, time="", subresource="scale")


def update(entries: Any, old: Any, new: Any, name: str = "u", kind: ManagedType | None = None) -> Any:
    who = FieldManager(name, "Update", "v1")
    return after_update(entries, old, new, who, kind or ManagedType(rules), time="t9")


def test_update_takes_what_it_changes_and_joins_it_with_its_earlier_entry() -> None:
    before = [entry("u", {"f:one": {}}), entry("v", {"f:labels": {"f:k": {}, "f:l": {}}}), entry("w", {"f:set": {}})]
    old, new = {"one": 1, "labels": {"k": 1, "l": 1}, "set": []}, {"one": 1, "labels": {"k": 2, "l": 1}}
    assert update(before, old, new) == [
        entry("v", {"f:labels": {"f:l": {}}}),
        entry("u", {"f:one": {}, "f:labels": {"f:k": {}}}, time="t9"),
    ]
    assert update(before, old, old) == before


def test_later_one_of_two_entries_with_one_identity_counts() -> None:
    assert update([entry("u", {"f:a": {}}), entry("u", {"f:b": {}})], {"c": 1}, {"c": 1}) == [entry("u", {"f:b": {}})]


@pytest.mark.parametrize("strict", [False, True])
def test_entries_of_unknown_versions_are_dropped_or_end_field_management(strict: bool) -> None:
    kind = ManagedType(rules, views={"v1": VersionView(rules, lambda obj: obj)}, strict=strict)
    entries = [entry("u", {"f:one": {}}), entry("v", {"f:one": {}}, version="v0")]
    assert update(entries, {"one": 1}, {"one": 1}, kind=kind) == ([] if strict else entries[:1])
    live = {"metadata": {"managedFields": entries}, "one": 1}
    if strict:
        with pytest.raises(UnknownVersion, match="v0"):
            apply(live, {"metadata": {"name": "a"}}, FieldManager("x", "Apply", "v1"), kind, force=False, time="t")


def test_object_that_cannot_be_compared_loses_its_entries() -> None:
    kind = ManagedType(lambda _: MergeRule(list_type="map", map_keys=("n",)))
    assert update([], {}, {"items": [{"a": 1}]}, kind=kind) == []
    assert update([entry("u", {"f:one": {}})], {"one": 1}, {"items": [{"a": 1}]}, kind=kind) == []


@pytest.mark.parametrize(
    ("before", "changed", "after"),
    [
        ([entry("a", REST)], True, [entry("a", REST)]),
        ([entry("a", BOTH)], True, [SCALED, entry("a", REST)]),
        ([entry("a", BOTH, "Apply")], True, [entry("a", REST, "Apply"), SCALED]),
        ([entry("a", BOTH)], False, [entry("a", OWNED, time=""), entry("a", REST)]),
        ([entry("a", BOTH, "Apply")], False, [entry("a", BOTH, "Apply")]),
        ([entry("a", OWNED, time=""), entry("a", REST)], True, [entry("a", REST)]),
    ],
    ids=["nobody's", "changed", "applied", "unchanged", "applied and unchanged", "split before"],
)  # fmt: skip
def test_scale_takes_the_replicas_as_on_a_real_server(before: Any, changed: bool, after: Any) -> None:
    assert after_scale(before, REPLICAS, FieldManager("s", "Update", "v1", "scale"), changed=changed) == after


@pytest.mark.parametrize(
    ("fields", "readable"),
    [({"f:a": {}}, True), ({"a": {}}, False), ({"k:[]": {}}, False), ({"k:{": {}}, False), (7, False)],
)
def test_unreadable_entries_of_a_client_are_ignored(fields: Any, readable: bool) -> None:
    live = [entry("live", {"f:b": {}})]
    sent = [entry("sent", fields)]
    assert present_entries(sent, live) == (sent if readable else live)
    for bad in ({"apiVersion": ""}, {"operation": "Odd"}, {"fieldsType": "V2"}):
        assert present_entries([{**sent[0], **bad}], live) is live
