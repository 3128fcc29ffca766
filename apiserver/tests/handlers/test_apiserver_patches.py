from collections.abc import Iterable
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.tests.inprocess import (
    APPLY,
    CONFIG_MAPS,
    DEPLOYMENTS,
    FOOS,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Kube,
    deployment,
    foo,
)
from clientgo.meta.apply.fieldsets import (
    Tree,
    added,
    compare,
    contains,
    difference,
    field_set,
    intersection,
    paths,
    union,
)
from clientgo.meta.apply.mergerules import MergeRule

Path = tuple[str, ...]
PATH = st.lists(st.sampled_from(["f:a", "f:b", 'k:{"n":1}', "v:2"]), min_size=1, max_size=4).map(tuple)
PLACE = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3).map(tuple)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda child: st.lists(child, max_size=3) | st.dictionaries(st.sampled_from("abc"), child, max_size=3),
    max_leaves=12,
)


def tree_of(result: Iterable[tuple[str, ...]]) -> Tree:
    tree: Tree = {}
    for path in result:
        tree = union(tree, reduce(lambda node, element: {element: node}, reversed(path), {}))
    return tree


SETS = st.sets(PATH, max_size=12)


@given(SETS, SETS)
def test_sets_of_fields_are_joined_and_subtracted_as_sets_of_paths(item: set[Path], other: set[Path]) -> None:
    trees = tree_of(item), tree_of(other)
    assert set(paths(trees[0])) == item
    assert all(contains(trees[0], path) is (path in item) for path in other)
    assert set(paths(union(*trees))) == item | other
    assert set(paths(difference(*trees))) == item - other
    assert set(paths(intersection(*trees))) == item & other
    assert difference(trees[0], tree_of(other - item)) is trees[0]


@given(JSON, JSON)
def test_two_values_differ_as_a_set_only_if_they_differ(old: Any, new: Any) -> None:
    assert any(compare({"x": old}, {"x": new}, lambda _: None)) is (old != new)


RULES = (None, MergeRule(list_type="map", map_keys=("a",)), MergeRule(list_type="set"), MergeRule(list_type="atomic"))


@given(st.dictionaries(st.sampled_from("abcd"), JSON), st.dictionaries(PLACE, st.sampled_from(RULES)))
def test_what_is_added_to_an_empty_object_is_what_is_removed_by_emptying_it(obj: Any, rules: dict[Any, Any]) -> None:
    after, before = compare({}, obj, rules.get), compare(obj, {}, rules.get)
    assert (after.changed, after.removed) == (before.removed, before.changed)
    assert set(paths(field_set(obj, rules.get))) <= set(paths(after.changed)) | {()}


@given(st.dictionaries(st.sampled_from("abcd"), JSON), st.dictionaries(PLACE, st.sampled_from(RULES)), st.data())
def test_fields_of_a_new_object_are_what_differs_from_an_empty_one(obj: Any, rules: Any, data: st.DataObject) -> None:
    zero = {key: data.draw(st.sampled_from([None, {}, value])) for key, value in obj.items() if key in "ab"}
    assert repr(added(zero, obj, rules.get)) == repr(compare(zero, obj, rules.get).changed)


LIST_MAP = MergeRule(list_type="map", map_keys=("n",), key_defaults=(("n", 1),))


@pytest.mark.parametrize(
    ("old", "new", "rule", "changed"),
    [
        ({}, {"x": {"a": 1}}, None, {"f:x": {".": {}, "f:a": {}}}),
        ({"x": {}}, {"x": {"a": 1}}, None, {"f:x": {"f:a": {}}}),
        ({"x": None}, {"x": {"a": 1}}, None, {"f:x": {"f:a": {}}}),
        ({}, {"x": {}}, None, {"f:x": {}}),
        ({}, {"x": {"a": 1}}, MergeRule(list_type="atomic"), {"f:x": {}}),
        ({"x": {"a": 1}}, {"x": {"a": 2}}, MergeRule(list_type="atomic"), {"f:x": {}}),
        ({}, {"x": [{"v": 1}]}, LIST_MAP, {"f:x": {".": {}, 'k:{"n":1}': {".": {}, "f:v": {}}}}),
        ({"x": None}, {"x": [{"n": 2}]}, LIST_MAP, {"f:x": {'k:{"n":2}': {".": {}, "f:n": {}}}}),
        ({}, {"x": ["a"]}, MergeRule(list_type="set"), {"f:x": {".": {}, 'v:"a"': {}}}),
        ({}, {"x": ["a"]}, None, {"f:x": {}}),
    ],
)
def test_fields_of_a_value_that_appears_are_added_and_the_value_itself_if_it_was_absent(
    old: Any, new: Any, rule: MergeRule | None, changed: Tree
) -> None:
    assert compare(old, new, lambda path: rule if path == ("x",) else None) == (changed, {})


def test_a_json_patch_is_done_whole_or_not_at_all(kube: Kube) -> None:
    kube.ok("POST", FOOS, foo())
    good = {"op": "replace", "path": "/spec/replicas", "value": 3}
    bad = {"op": "test", "path": "/spec/replicas", "value": 9}
    status = kube.refused(422, "PATCH", f"{FOOS}/a", [good, bad], JSON_PATCH)
    assert status["message"] == "the server rejected our request due to an error in our request"
    assert kube.ok("GET", f"{FOOS}/a")["spec"]["replicas"] == 1
    assert kube.ok("PATCH", f"{FOOS}/a", [good], JSON_PATCH)["spec"]["replicas"] == 3


def test_json_patch_that_copies_or_does_too_much_is_rejected(kube: Kube) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "c", "annotations": {"a": "x" * 1000}}})
    double = [{"op": "copy", "from": "/metadata", "path": f"/metadata/{name}"} for name in range(40)]
    kube.refused(422, "PATCH", f"{CONFIG_MAPS}/c", double, JSON_PATCH)

    status = kube.refused(413, "PATCH", f"{CONFIG_MAPS}/c", [{"op": "test", "path": "/data"}] * 10_001, JSON_PATCH)
    limit = "The allowed maximum operations in a JSON patch is 10000, got 10001"
    assert status["message"] == f"Request entity too large: {limit}"


@pytest.mark.parametrize(
    ("code", "body", "message"),
    [
        (400, {"op": "add"}, "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        (400, [1], "json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        (400, [{"op": 1}], "json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
        (422, [{"op": "nope", "path": "/x"}], "the server rejected our request due to an error in our request"),
        (422, [{"path": "/x"}], "the server rejected our request due to an error in our request"),
    ],
)
def test_malformed_json_patch_is_a_bad_request_and_unknown_operation_invalid(
    kube: Kube, code: int, body: Any, message: str
) -> None:
    kube.ok("POST", FOOS, foo())
    assert kube.refused(code, "PATCH", f"{FOOS}/a", body, JSON_PATCH)["message"].endswith(message)


def containers(obj: dict[str, Any]) -> list[tuple[str, str]]:
    return [(item["name"], item["image"]) for item in obj["spec"]["template"]["spec"]["containers"]]


def strategic(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": list(items), **more}}}}


def test_a_strategic_merge_joins_containers_by_name_and_obeys_directives(kube: Kube) -> None:
    kube.ok("POST", DEPLOYMENTS, deployment())
    url = f"{DEPLOYMENTS}/d"
    side = {"name": "side", "image": "busybox"}
    assert containers(kube.ok("PATCH", url, strategic({"name": "nginx", "image": "n:1"}, side), STRATEGIC)) == [
        ("nginx", "n:1"),
        ("side", "busybox"),
    ]
    order = {"$setElementOrder/containers": [{"name": "side"}, {"name": "nginx"}]}
    assert containers(kube.ok("PATCH", url, strategic(side, **order), STRATEGIC))[0][0] == "side"
    gone = strategic({"name": "nginx", "$patch": "delete"})
    assert containers(kube.ok("PATCH", url, gone, STRATEGIC)) == [("side", "busybox")]
    replaced = strategic({"$patch": "replace"}, {"name": "only", "image": "o"})
    assert containers(kube.ok("PATCH", url, replaced, STRATEGIC)) == [("only", "o")]
    missing = kube.refused(500, "PATCH", url, strategic({"image": "x"}), STRATEGIC)
    assert "map[image:x] does not contain declared merge key: name" in missing["message"]


def test_a_patch_cannot_rename_or_break_its_object(kube: Kube) -> None:
    kube.ok("POST", FOOS, foo())
    kube.refused(400, "PATCH", f"{FOOS}/a", {"metadata": {"name": "b"}}, MERGE)
    kube.refused(422, "PATCH", f"{FOOS}/a", {"spec": {"deploymentName": None}}, MERGE)
    kube.refused(409, "PATCH", f"{FOOS}/a", {"metadata": {"resourceVersion": "1"}}, MERGE)
    status = kube.refused(422, "PATCH", f"{FOOS}/a?fieldValidation=Strict", {"spec": {"odd": 1}}, MERGE)
    assert 'strict decoding error: unknown field "spec.odd"' in status["message"]


def apply(kube: Kube, manager: str, spec: dict[str, Any], *, force: bool = False) -> dict[str, Any]:
    config = {**foo(), "spec": spec}
    return kube.ok("PATCH", f"{FOOS}/a?fieldManager={manager}{'&force=true' if force else ''}", config, APPLY)


def owners(obj: dict[str, Any]) -> dict[str, set[tuple[str, ...]]]:
    return {entry["manager"]: set(paths(entry["fieldsV1"])) for entry in obj["metadata"]["managedFields"]}


def test_an_apply_conflicts_with_what_others_manage_unless_forced(kube: Kube) -> None:
    apply(kube, "one", {"deploymentName": "a", "replicas": 2})
    config = foo(replicas=3)
    status = kube.refused(409, "PATCH", f"{FOOS}/a?fieldManager=two", config, APPLY)
    assert status["details"]["causes"][0]["field"] == ".spec.replicas"
    forced = apply(kube, "two", {"deploymentName": "a", "replicas": 3}, force=True)
    assert forced["spec"]["replicas"] == 3
    assert owners(forced) == {
        "one": {("f:spec", "f:deploymentName")},
        "two": {("f:spec", "f:deploymentName"), ("f:spec", "f:replicas")},
    }


def test_fields_no_longer_applied_are_removed_unless_shared(kube: Kube) -> None:
    apply(kube, "one", {"deploymentName": "a", "mode": "Fast", "ports": [{"name": "x", "port": 1}]})
    shared = apply(kube, "two", {"deploymentName": "a", "ports": [{"name": "y", "port": 2}]})
    assert [port["name"] for port in shared["spec"]["ports"]] == ["x", "y"]
    updated = apply(kube, "one", {"deploymentName": "a"})
    assert "mode" not in updated["spec"]
    assert updated["spec"]["ports"] == [{"name": "y", "port": 2}]


def test_applying_the_same_again_changes_nothing(kube: Kube) -> None:
    first = apply(kube, "one", {"deploymentName": "a", "replicas": 2})
    kube.clock.step(60)
    assert apply(kube, "one", {"deploymentName": "a", "replicas": 2}) == first


def test_an_update_takes_over_the_fields_it_changes(kube: Kube) -> None:
    apply(kube, "one", {"deploymentName": "a", "replicas": 2})
    changed = kube.ok("PATCH", f"{FOOS}/a?fieldManager=hand", {"spec": {"replicas": 4}}, MERGE)
    assert owners(changed) == {"one": {("f:spec", "f:deploymentName")}, "hand": {("f:spec", "f:replicas")}}
    status = kube.refused(409, "PATCH", f"{FOOS}/a?fieldManager=one", foo(replicas=2), APPLY)
    assert status["message"] == (
        'Apply failed with 1 conflict: conflict with "hand" using samplecontroller.k8s.io/v1alpha1: .spec.replicas'
    )


def test_an_apply_needs_a_manager(kube: Kube) -> None:
    status = kube.refused(422, "PATCH", f"{FOOS}/a", foo(), APPLY)
    assert "fieldManager: Required value: is required for apply patch" in status["message"]


def test_one_empty_entry_clears_managed_fields(kube: Kube) -> None:
    apply(kube, "one", {"deploymentName": "a"})
    assert (
        "managedFields" not in kube.ok("PATCH", f"{FOOS}/a", {"metadata": {"managedFields": [{}]}}, MERGE)["metadata"]
    )


@pytest.mark.parametrize("entry", [{"fieldsV1": {"f:spec": 7}}, {"fieldsType": "V2"}, {"operation": "Odd"}])
def test_unreadable_managed_fields_from_clients_are_ignored(kube: Kube, entry: dict[str, Any]) -> None:
    created = kube.ok("POST", FOOS, foo())
    full = {"manager": "x", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {}, **entry}
    patched = kube.ok("PATCH", f"{FOOS}/a", {"metadata": {"managedFields": [full]}}, MERGE)
    assert patched["metadata"]["managedFields"] == created["metadata"]["managedFields"]


SERVICES = "/api/v1/namespaces/default/services"
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}


def test_defaults_belong_to_the_creator_and_assigned_fields_to_nobody(kube: Kube) -> None:
    created = kube.ok("POST", SERVICES, {**SERVICE, "spec": {"type": "NodePort", "ports": [{"port": 80}]}})
    (entry,) = created["metadata"]["managedFields"]
    port: Tree = {".": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {}}
    defaulted = ("externalTrafficPolicy", "internalTrafficPolicy", "sessionAffinity", "type")
    other_items: Tree = {f"f:{field}": {} for field in defaulted}
    ports = {".": {}, 'k:{"port":80,"protocol":"TCP"}': port}
    assert entry["fieldsV1"] == {"f:spec": {"f:ports": ports, **other_items}}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"nope": 1}, ".spec.nope: field not declared in schema"),
        ({"ports": 5}, ".spec.ports: expected list, got &{5}"),
        ({"ports": [5]}, ".spec.ports: element 0: associative list with keys may not have non-map elements"),
        ({"externalName": 5}, ".spec.externalName: expected string, got &value.valueUnstructured{Value:5}"),
        (
            {"ports": [{"port": "x"}]},
            '.spec.ports[port="x",protocol="TCP"].port: expected numeric (int or float), got string',
        ),
        ({"ports": [{"port": 1}, {"port": 1}]}, '.spec.ports: duplicate entries for key [port=1,protocol="TCP"]'),
    ],
)
def test_applied_configuration_must_fit_the_schema(kube: Kube, spec: dict[str, Any], message: str) -> None:
    status = kube.refused(500, "PATCH", f"{SERVICES}/s?fieldManager=m", {**SERVICE, "spec": spec}, APPLY)
    assert status["message"] == f"failed to create typed patch object (/s; /v1, Kind=Service): {message}"


SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}}


def test_replicas_are_applied_and_owned_through_the_scale_subresource(kube: Kube) -> None:
    kube.ok("POST", DEPLOYMENTS, deployment())
    url = f"{DEPLOYMENTS}/d/scale?fieldManager=scaler"
    conflict = kube.refused(409, "PATCH", url, {**SCALE, "spec": {"replicas": 7}}, APPLY)
    assert conflict["details"]["causes"][0]["field"] == ".spec.replicas"
    assert kube.ok("PATCH", f"{url}&force=true", {**SCALE, "spec": {"replicas": 7}}, APPLY)["spec"] == {"replicas": 7}
    entries = kube.ok("GET", f"{DEPLOYMENTS}/d")["metadata"]["managedFields"]
    local = {"operation": "Apply", "subresource": "scale", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    assert local.items() <= entries[0].items()
    assert "time" not in entries[0]
    assert "f:replicas" not in entries[1]["fieldsV1"]["f:spec"]


def test_scaling_is_recorded_only_if_the_replicas_have_an_owner(kube: Kube) -> None:
    config = deployment()
    del config["spec"]["replicas"]
    kube.ok("PATCH", f"{DEPLOYMENTS}/d?fieldManager=m", config, APPLY)
    kube.ok("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 3}}, MERGE)
    applied = kube.ok("PATCH", f"{DEPLOYMENTS}/d?fieldManager=m", deployment(), APPLY)
    assert [entry["manager"] for entry in applied["metadata"]["managedFields"]] == ["m"]


def test_oldest_updates_are_merged_beyond_ten_managers(kube: Kube) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"k0": "v"}}
    kube.ok("POST", f"{CONFIG_MAPS}?fieldManager=m0", config)
    for number in range(1, 13):
        kube.clock.step(1)
        patch = {"data": {f"k{number}": "v"}}
        patched = kube.ok("PATCH", f"{CONFIG_MAPS}/c?fieldManager=m{number}", patch, MERGE)
    first, *other_items = patched["metadata"]["managedFields"]
    assert (first["manager"], set(first["fieldsV1"]["f:data"])) == (
        "ancient-changes",
        {".", *(f"f:k{n}" for n in range(4))},
    )
    assert [entry["manager"] for entry in other_items] == [f"m{number}" for number in range(4, 13)]


def test_parents_whose_last_field_is_no_longer_applied_are_removed_but_not_entries_of_maps(kube: Kube) -> None:
    config = deployment()
    config["metadata"]["annotations"] = {"a": "b"}
    config["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 2}}
    kube.ok("PATCH", f"{DEPLOYMENTS}/d?fieldManager=m", config, APPLY)
    applied = kube.ok("PATCH", f"{DEPLOYMENTS}/d?fieldManager=m", deployment(), APPLY)
    assert "annotations" not in applied["metadata"]
    assert applied["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": "25%", "maxUnavailable": "25%"}


@pytest.mark.parametrize(
    ("order", "patch", "message"),
    [
        (["a"], {"name": "b", "image": "i"}, "The order in patch list:\n[map[image:i name:b]]\n doesn't match "),
        (["b"], {"image": "i"}, "map: map[image:i] does not contain declared merge key: name"),
        (["b"], {"name": "nginx", "$patch": "x"}, "unknown patch type: x in map: map[$patch:x name:nginx]"),
    ],
)
def test_strategic_patch_that_contradicts_itself_is_an_error_of_the_server(
    kube: Kube, order: list[str], patch: dict[str, Any], message: str
) -> None:
    kube.ok("POST", DEPLOYMENTS, deployment())
    named = {"$setElementOrder/containers": [{"name": name} for name in order]} if "image" in patch else {}
    status = kube.refused(500, "PATCH", f"{DEPLOYMENTS}/d", strategic(patch, **named), STRATEGIC)
    assert message in status["message"]


def test_list_that_the_object_lacks_is_taken_from_a_strategic_patch_as_it_is(kube: Kube) -> None:
    kube.ok("POST", DEPLOYMENTS, deployment())
    ports = [{"containerPort": 80, "protocol": protocol} for protocol in ("TCP", "UDP")]
    patched = kube.ok("PATCH", f"{DEPLOYMENTS}/d", strategic({"name": "nginx", "ports": ports}), STRATEGIC)
    assert patched["spec"]["template"]["spec"]["containers"][0]["ports"] == ports
