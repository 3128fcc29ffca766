"""Server-side apply and managedFields, beside the answers of a real server."""

from typing import Any

import pytest

from apiserver.tests.inprocess import (
    APPLY,
    CONFIG_MAPS,
    DEFINITIONS,
    DEPLOYMENTS,
    FOOS,
    GROUP,
    JSON_PATCH,
    MERGE,
    SERVICES,
    STRATEGIC,
    Kube,
    definition,
    deployment,
    foo,
)
from clientgo_apiserver.merging.fieldsets import Tree, paths

Object = dict[str, Any]


def apply(kube: Kube, manager: str, spec: dict[str, Any], *, force: bool = False) -> dict[str, Any]:
    config = {**foo(), "spec": spec}
    return kube.ok("PATCH", f"{FOOS}/a?fieldManager={manager}{'&force=true' if force else ''}", config, APPLY)


def owners(obj: dict[str, Any]) -> dict[str, set[tuple[str, ...]]]:
    return {entry["manager"]: set(paths(entry["fieldsV1"])) for entry in obj["metadata"]["managedFields"]}


def test_apply_conflicts_with_what_others_manage_unless_forced(kube: Kube) -> None:
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


def test_update_takes_over_the_fields_it_changes(kube: Kube) -> None:
    apply(kube, "one", {"deploymentName": "a", "replicas": 2})
    changed = kube.ok("PATCH", f"{FOOS}/a?fieldManager=hand", {"spec": {"replicas": 4}}, MERGE)
    assert owners(changed) == {"one": {("f:spec", "f:deploymentName")}, "hand": {("f:spec", "f:replicas")}}
    status = kube.refused(409, "PATCH", f"{FOOS}/a?fieldManager=one", foo(replicas=2), APPLY)
    assert status["message"] == (
        'Apply failed with 1 conflict: conflict with "hand" using samplecontroller.k8s.io/v1alpha1: .spec.replicas'
    )


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1","k":"2"}}', 1),
        (b'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: "1"\n  k: "2"\n', 6),
    ],
    ids=["JSON", "YAML"],
)
def test_key_that_is_applied_twice_is_rejected_or_warned_of(kube: Kube, body: bytes, line: int) -> None:
    url, reason = f"{CONFIG_MAPS}/a?fieldManager=m", f'line {line}: key "k" already set in map'
    message = kube.refused(400, "PATCH", f"{url}&fieldValidation=Strict", body, APPLY)["message"]
    start = "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:"
    assert message == f"{start}\n  {reason}"
    for query, warnings in (("", [reason]), ("&fieldValidation=Ignore", [])):
        response = kube.send("PATCH", url + query, body, APPLY)
        assert response.json()["data"] == {"k": "2"}
        assert [text.partition('"')[2][:-1].replace('\\"', '"') for _, text in response.headers] == warnings


def test_apply_needs_a_manager(kube: Kube) -> None:
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


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("x", "(/; /v1, Kind=Service): .metadata: expected map, got &{x}"),
        (["a"], "(/; /v1, Kind=Service): .metadata: expected map, got &{[a]}"),
        ({"name": 5}, "(/; /v1, Kind=Service): .metadata.name: expected string, got &value.valueUnstructured{Value:5}"),
    ],
)
def test_metadata_of_an_applied_configuration_must_fit_the_schema(kube: Kube, metadata: Any, message: str) -> None:
    configuration = {**SERVICE, "metadata": metadata}
    status = kube.refused(500, "PATCH", f"{SERVICES}/s?fieldManager=m", configuration, APPLY)
    assert status["message"] == f"failed to create typed patch object {message}"


@pytest.mark.parametrize(("body", "kind"), [([], "array"), (False, "bool"), ("", "string")])
def test_applied_configuration_is_a_map(kube: Kube, body: Any, kind: str) -> None:
    status = kube.refused(400, "PATCH", f"{SERVICES}/s?fieldManager=m", body, APPLY)
    assert f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}" in status["message"]


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


def workload(*containers: Object, **more: Any) -> Object:
    labels = {"app": "x"}
    pods = {"metadata": {"labels": labels}, "spec": {"containers": [*containers], **more}}
    spec = {"selector": {"matchLabels": labels}, "template": pods}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}


C, D = ({"name": name, "image": "1"} for name in "cd")
VOLUMES = [{"name": name, "configMap": {"name": name}} for name in "vw"]
PATCHES = {
    "image": {"containers": [{"name": "c", "image": "2"}]},
    "variable": {"containers": [{"name": "c", "env": [{"name": "A", "value": "1"}]}]},
    "volume": {"volumes": [{"name": "v", "configMap": {"name": "v", "defaultMode": 256}}]},
}


@pytest.mark.parametrize("changed", PATCHES)
@pytest.mark.parametrize("manager", ["x", "other"])
def test_item_of_which_a_field_was_updated_is_removed_with_its_applier(kube: Kube, changed: str, manager: str) -> None:
    url = f"{DEPLOYMENTS}/d?fieldManager="
    kube.ok("PATCH", f"{url}x", workload(C, D, volumes=VOLUMES), APPLY)
    patch = {"spec": {"template": {"spec": PATCHES[changed]}}}
    kube.ok("PATCH", f"{url}{manager}", patch, STRATEGIC)
    pods = kube.ok("PATCH", f"{url}x", workload(D, volumes=VOLUMES[1:]), APPLY)["spec"]["template"]["spec"]
    assert [item["name"] for item in (*pods["containers"], *pods["volumes"])] == ["d", "w"]


def test_item_of_which_another_applier_has_a_field_is_not_complete_without_the_first(kube: Kube) -> None:
    url = f"{DEPLOYMENTS}/d?fieldManager="
    kube.ok("PATCH", f"{url}x", workload(C, D), APPLY)
    kube.ok("PATCH", f"{url}y", workload({"name": "c", "command": ["a"]}), APPLY)
    status = kube.refused(422, "PATCH", f"{url}x", workload(D), APPLY)
    fields = [cause["field"] for cause in status["details"]["causes"]]
    assert fields == ["spec.template.spec.containers[0].image"]


def test_port_of_a_service_is_removed_after_an_update_of_its_target(kube: Kube) -> None:
    def service(*ports: int) -> Object:
        return {**SERVICE, "spec": {"ports": [{"name": f"p{port}", "port": port} for port in ports]}}

    url = f"{SERVICES}/s?fieldManager="
    kube.ok("PATCH", f"{url}x", service(80, 81), APPLY)
    kube.ok("PATCH", f"{url}y", {"spec": {"ports": [{"port": 80, "targetPort": 8080}]}}, STRATEGIC)
    assert [port["port"] for port in kube.ok("PATCH", f"{url}x", service(81), APPLY)["spec"]["ports"]] == [81]


OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TEXT = {"type": "string"}
PAIR = {"type": "object", "properties": {"name": TEXT, "v": TEXT}, "required": ["name"]}
LIST = {"type": "array", "items": PAIR, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
FIELDS: Object = {
    "list": LIST,
    "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"v": TEXT}}},
    "open": OPEN,
    "number": {"type": "number"},
    "embedded": {**OPEN, "x-kubernetes-embedded-resource": True},
    "atoms": {**LIST, "items": {**PAIR, "x-kubernetes-map-type": "atomic"}},
}
SCHEMA = {"type": "object", "properties": FIELDS}
BARS = "/apis/example.com/v1alpha1/namespaces/default/bars"


@pytest.fixture
def bars(kube: Kube) -> Kube:
    kube.ok("POST", DEFINITIONS, definition("bars", "Bar", "example.com", SCHEMA))
    return kube


def bar(**spec: Any) -> Object:
    return {"apiVersion": "example.com/v1alpha1", "kind": "Bar", "metadata": {"name": "b"}, "spec": spec}


@pytest.mark.parametrize(
    ("before", "patch", "after", "expected"),
    [
        ({"list": [{"name": "a", "v": "1"}, {"name": "b"}]}, {"list": [{"name": "a", "v": "2"}, {"name": "b"}]},
         {"list": [{"name": "b"}]}, {"list": [{"name": "b"}]}),
        ({"map": {"k": {"v": "1"}, "l": {}}}, {"map": {"k": {"v": "2"}}}, {"map": {"l": {}}}, {"map": {"l": {}}}),
        ({"open": {"k": {"v": 1}, "l": 1}}, {"open": {"k": {"v": 2}}}, {"open": {"l": 1}}, {"open": {"l": 1}}),
        ({"atoms": [{"name": "a", "v": "1"}]}, {}, {"atoms": [{"name": "a"}]}, {"atoms": [{"name": "a"}]}),
    ],
    ids=["item", "entry", "open field", "atomic item"],
)  # fmt: skip
def test_parts_of_custom_objects_leave_with_their_applier(
    bars: Kube, before: Object, patch: Object, after: Object, expected: Object
) -> None:
    url = f"{BARS}/b?fieldManager="
    bars.ok("PATCH", f"{url}x", bar(**before), APPLY)
    bars.ok("PATCH", f"{url}y", {"spec": patch}, MERGE)
    assert bars.ok("PATCH", f"{url}x", bar(**after), APPLY)["spec"] == expected


def test_whole_number_applied_as_a_float_changes_nothing(bars: Kube) -> None:
    config = bar(number=3.0, open={"n": [3.0, 2.5], "m": 1e3})
    first = bars.ok("PATCH", f"{BARS}/b?fieldManager=x", config, APPLY)
    bars.clock.step(60)
    assert bars.ok("PATCH", f"{BARS}/b?fieldManager=x", config, APPLY) == first
    assert repr(first["spec"]) == repr({"number": 3, "open": {"m": 1000, "n": [3, 2.5]}})


def test_fields_of_an_embedded_object_are_declared(bars: Kube) -> None:
    embedded = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "e", "labels": {"a": "b"}}, "more": {"x": 1}}
    applied = bars.ok("PATCH", f"{BARS}/b?fieldManager=x", bar(embedded=embedded), APPLY)
    (entry,) = applied["metadata"]["managedFields"]
    metadata: Tree = {"f:name": {}, "f:labels": {"f:a": {}}}
    more: Tree = {".": {}, "f:x": {}}
    fields = {"f:apiVersion": {}, "f:kind": {}, "f:metadata": metadata, "f:more": more}
    assert entry["fieldsV1"] == {"f:spec": {"f:embedded": fields}}


def test_null_owns_a_field_and_keeps_the_items_of_a_list_that_merges(bars: Kube) -> None:
    bars.ok("POST", f"{BARS}?fieldManager=u", bar(list=[{"name": "a"}]))
    applied = bars.ok("PATCH", f"{BARS}/b?fieldManager=x", bar(list=None), APPLY)
    assert applied["spec"] == {"list": [{"name": "a"}]}
    assert owners(applied)["x"] == {("f:spec", "f:list")}


@pytest.mark.parametrize(
    ("patch", "kind"),
    [
        ({"metadata": {"annotations": {"a": None}}}, MERGE),
        ([{"op": "remove", "path": "/metadata/annotations/a"}], JSON_PATCH),
    ],
)
def test_annotations_that_are_gone_leave_an_empty_map_to_nobody_but_its_applier(
    kube: Kube, patch: Any, kind: str
) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "annotations": {"a": "1"}}}
    url = f"{CONFIG_MAPS}/c?fieldManager="
    kube.ok("PATCH", f"{url}x", config, APPLY)
    assert "managedFields" not in kube.ok("PATCH", f"{url}y", patch, kind)["metadata"]
    kube.ok("PATCH", f"{url}x", config, APPLY)
    emptied = {**config, "metadata": {"name": "c", "annotations": {}}}
    assert owners(kube.ok("PATCH", f"{url}x", emptied, APPLY)) == {"x": {("f:metadata", "f:annotations")}}


def test_conflicts_are_listed_as_by_a_real_server(kube: Kube) -> None:
    kube.ok("PATCH", f"{DEPLOYMENTS}/d?fieldManager=b", workload(C), APPLY)
    kube.ok("PATCH", f"{DEPLOYMENTS}/d?fieldManager=a", {"spec": {"minReadySeconds": 1}}, MERGE)
    config = workload({**C, "image": "2"})
    config["spec"] |= {"minReadySeconds": 2, "selector": {"matchLabels": {"app": "y"}}}
    status = kube.refused(409, "PATCH", f"{DEPLOYMENTS}/d?fieldManager=x", config, APPLY)
    assert status["message"] == (
        "Apply failed with 3 conflicts: "
        'conflicts with "a" using apps/v1:\n- .spec.minReadySeconds\n'
        'conflicts with "b":\n- .spec.selector\n- .spec.template.spec.containers[name="c"].image'
    )


@pytest.mark.parametrize(
    ("url", "changed"), [(DEPLOYMENTS, {"annotations"}), (SERVICES, {"annotations", "labels"}), (FOOS, set[str]())]
)
def test_status_is_applied_with_the_metadata_that_its_kind_allows(kube: Kube, url: str, changed: set[str]) -> None:
    config = {DEPLOYMENTS: workload(C), SERVICES: {**SERVICE, "spec": {"ports": [{"port": 80}]}}, FOOS: foo()}[url]
    name = config["metadata"]["name"]
    kube.ok("POST", url, config)
    meta = {"name": name, "annotations": {"a": "1"}, "labels": {"l": "1"}}
    applied = kube.ok("PATCH", f"{url}/{name}/status?fieldManager=x", {**config, "metadata": meta}, APPLY)
    assert {field for field in ("annotations", "labels") if field in applied["metadata"]} == changed
    assert {path[1][2:] for path in owners(applied).get("x", ())} == changed


def test_first_apply_of_a_status_finds_an_earlier_owner_of_the_status(kube: Kube) -> None:
    kube.ok("POST", FOOS, foo())
    kube.ok("PATCH", f"{FOOS}/a/status", {"status": {"availableReplicas": 1}}, MERGE)
    kube.ok("PATCH", f"{FOOS}/a", {"metadata": {"managedFields": [{}]}}, MERGE)
    config = {**foo(), "status": {"availableReplicas": 2}}
    status = kube.refused(409, "PATCH", f"{FOOS}/a/status?fieldManager=x", config, APPLY)
    (cause,) = status["details"]["causes"]
    assert cause["field"] == ".status.availableReplicas"
    assert cause["message"].startswith('conflict with "before-first-apply" with subresource "status" using ')


def test_empty_list_of_managed_fields_clears_those_of_built_in_kinds_alone(kube: Kube) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "c"}, "data": {"a": "1"}})
    kube.ok("POST", FOOS, foo())
    for url, cleared in ((f"{CONFIG_MAPS}/c", True), (f"{FOOS}/a", False)):
        patched = kube.ok("PATCH", url, {"metadata": {"managedFields": []}}, MERGE)
        assert ("managedFields" not in patched["metadata"]) is cleared


def test_object_with_an_item_without_name_has_no_owners_and_takes_no_apply(kube: Kube) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s"}}
    url = "/api/v1/namespaces/default/serviceaccounts"
    created = kube.ok("POST", url, {**account, "secrets": [{"name": "a", "namespace": "n"}, {}]})
    assert (created["secrets"], "managedFields" in created["metadata"]) == ([{"name": "a"}, {}], False)
    status = kube.refused(500, "PATCH", f"{url}/s?fieldManager=x", account, APPLY)
    assert status["message"].startswith(
        "failed to create manager for existing fields:"
        " failed to convert new object (default/s; /v1, Kind=ServiceAccount) to smd typed:"
        " .secrets: element 1: associative list with keys has an element that omits all key fields"
    )


def test_mistyped_label_does_not_fit_the_schema(kube: Kube) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "labels": {"a": 1}}}
    status = kube.refused(500, "PATCH", f"{CONFIG_MAPS}/c?fieldManager=x", config, APPLY)
    assert ".metadata.labels.a: expected string" in status["message"]


@pytest.mark.parametrize(
    ("fields", "code", "reason"),
    [
        ({"type": "a", "data": {"k": "a"}}, 500, "/v1, Kind=Secret: error decoding from json: illegal base64 data at"),
        ({"metadata": {"name": "s", "creationTimestamp": "x"}}, 500, 'Kind=Secret: parsing time "x" as'),
    ],
)
def test_applied_value_that_cannot_be_converted_is_an_error_of_the_server(
    kube: Kube, fields: Object, code: int, reason: str
) -> None:
    config = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **fields}
    url = "/api/v1/namespaces/default/secrets/s?fieldManager=m"
    message = kube.refused(code, "PATCH", url, config, APPLY)["message"]
    assert message.startswith(
        "failed to convert new object (/s; /v1, Kind=Secret) to proper version: unable to convert"
    )
    assert reason in message


def test_applied_number_is_cut_to_the_bits_of_its_type(kube: Kube) -> None:
    config = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 1 << 31}]}}
    status = kube.refused(422, "PATCH", f"{SERVICES}/s?fieldManager=m", config, APPLY)
    assert "spec.ports[0].port: Invalid value: -2147483648" in status["message"]


def test_applied_status_creates_the_object_where_a_replacement_would(kube: Kube) -> None:
    url = f"{SERVICES}/s/status?fieldManager=m"
    config: Object = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": []}}
    kube.refused(422, "PATCH", url, config, APPLY)
    created = kube.ok("PATCH", url, {**config, "spec": {"ports": [{"port": 1}]}}, APPLY)
    assert "clusterIP" not in created["spec"], "as on a real server"
    kube.refused(404, "PATCH", f"{DEPLOYMENTS}/a/status?fieldManager=m", b"no configuration", APPLY)


def test_events_lose_their_managers_through_the_other_api(kube: Kube) -> None:
    event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "type": "Normal", "reason": "r"}
    url = "/api/v1/namespaces/default/events"
    kube.ok("POST", f"{url}?fieldManager=one", event)
    labelled: Object = {"metadata": {"labels": {"a": "b"}}}
    other = url.replace("/api/v1", "/apis/events.k8s.io/v1")
    assert [*owners(kube.ok("PATCH", f"{other}/e?fieldManager=two", labelled, MERGE))] == ["two"]


@pytest.mark.parametrize("validation", ["Warn", "Strict"])
def test_unknown_field_of_an_applied_custom_object_is_dropped_without_a_word(validation: str) -> None:
    kube = Kube()
    schema = {"type": "object", "properties": {"open": {"type": "object"}, "text": {"type": "string", "format": "mac"}}}
    kube.ok("POST", DEFINITIONS, definition("bars", "Bar", schema=schema))
    bar = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Bar", "metadata": {"name": "a"}, "spec": {"open": {"x": 1}}}
    url = f"/apis/{GROUP}/v1alpha1/namespaces/default/bars/a?fieldManager=m&fieldValidation={validation}"
    response = kube.send("PATCH", url, bar, APPLY)
    assert (response.status, response.json()["spec"]) == (201, {"open": {}})
    assert "Warning" not in dict(response.headers)
    # A text with a format is any scalar to an apply, and so invalid later.
    kube.refused(422, "PATCH", url, {**bar, "spec": {"text": 1}}, APPLY)
