"""Manifests and definitions like those of public projects, each answered as by a real server."""

import json
from typing import Any

import pytest

from apiserver.tests.inprocess import APPLY, CONFIG_MAPS, DEFINITIONS, FOOS, MERGE, SECRETS, Kube, definition, foo

Object = dict[str, Any]
BARS = "/apis/example.com/v1alpha1/namespaces/default/bars"
BAR: Object = {"apiVersion": "example.com/v1alpha1", "kind": "Bar", "metadata": {"name": "a"}}
NAMED: Object = {"metadata": {"name": "a"}}
CONTAINER: Object = {"name": "c", "image": "nginx:1"}
NAMESPACED = "namespaces/default"
HOOK: Object = {"sideEffects": "None", "admissionReviewVersions": ["v1"]}
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def bars(spec: Object, **changes: Any) -> Kube:
    """Return a server with the kind Bar; `changes` are those of its version."""
    kube, bar = Kube(), definition("bars", "Bar", "example.com", spec)
    bar["spec"]["versions"][0].update(changes)
    kube.ok("POST", DEFINITIONS, bar)
    return kube


def apply(kube: Kube, spec: Object, manager: str = "me") -> Object:
    return kube.ok("PATCH", f"{BARS}/a?fieldManager={manager}", {**BAR, "spec": spec}, APPLY)


@pytest.mark.parametrize("path", ["rbac.authorization.k8s.io/v1/clusterroles", "storage.k8s.io/v1/storageclasses"])
def test_namespace_of_a_cluster_scoped_object_is_dropped(path: str) -> None:
    kube, body = Kube(), {"metadata": {"name": "a", "namespace": "other"}, "provisioner": "p"}
    created = kube.ok("POST", f"/apis/{path}?fieldValidation=Ignore", body)
    assert "namespace" not in created["metadata"]
    kube.refused(400, "POST", CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "other"}})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "array", "items": {"type": "object"}, "x-kubernetes-preserve-unknown-fields": True},
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"b": {"type": "object"}}},
        {"x-kubernetes-preserve-unknown-fields": True, "properties": {"b": {"type": "object"}}},
    ],
    ids=["free-form", "items", "inherited", "untyped"],
)
def test_fields_that_no_schema_declares_are_applied_where_unknown_ones_are_kept(schema: Object) -> None:
    stored = {"type": "object", "properties": {"a": schema}, "x-kubernetes-preserve-unknown-fields": True}
    kube = bars(stored)
    value: Object = {"b": {"c": 1, "d": {"e": [1]}}}
    assert "a" in apply(kube, {"a": [value] if schema.get("type") == "array" else value})["spec"]


def test_defaults_of_a_status_are_set_when_an_object_is_created() -> None:
    kube, bar = Kube(), definition("bars", "Bar", "example.com", {"type": "object"})
    status = {"type": "object", "properties": {"phase": {"type": "string", "default": "Unknown"}}, "default": {}}
    bar["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"] = status
    kube.ok("POST", DEFINITIONS, bar)
    assert kube.ok("POST", BARS, {**BAR, "status": {"phase": "Mine"}})["status"] == {"phase": "Unknown"}
    assert kube.ok("GET", f"{BARS}/a")["status"] == {"phase": "Unknown"}
    changed = kube.ok("PATCH", f"{BARS}/a", {"status": {"phase": "Mine"}, "spec": {}}, MERGE)
    assert changed["status"] == {"phase": "Unknown"}


@pytest.mark.parametrize(
    ("path", "kind", "value", "cell"),
    [
        (".spec.hosts[]", "string", ["a", "b"], "a"),
        (".spec.hosts", "string", None, "<no value>"),
        (".spec.hosts", "number", 500, 500),
        (".spec.hosts", "number", 0.5, 0.5),
    ],
)
def test_cells_are_those_of_a_real_server(path: str, kind: str, value: Any, cell: Any) -> None:
    column = {"name": "C", "type": kind, "jsonPath": path}
    hosts = {"x-kubernetes-preserve-unknown-fields": True, "nullable": True}
    kube = bars({"type": "object", "properties": {"hosts": hosts}}, additionalPrinterColumns=[column])
    kube.ok("POST", BARS, {**BAR, "spec": {"hosts": value}})
    table = kube.ok("GET", BARS, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert json.dumps(table["rows"][0]["cells"][1]) == json.dumps(cell)


def test_kind_whose_column_has_an_invalid_path_has_the_default_columns() -> None:
    column = {"name": "C", "type": "string", "jsonPath": ".spec...hosts"}
    kube = bars({"type": "object"}, additionalPrinterColumns=[column])
    table = kube.ok("GET", BARS, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert [each["name"] for each in table["columnDefinitions"]] == ["Name", "Age"]


def test_json_in_annotations_and_managed_fields_is_escaped_as_by_go(kube: Kube) -> None:
    body: Object = {**foo("a"), "metadata": {"name": "a", "annotations": {LAST_APPLIED: "{}"}}}
    kube.ok("POST", FOOS, body)
    ports = [{"name": "a<b", "port": 1}]
    applied = kube.ok("PATCH", f"{FOOS}/a?fieldManager=kubectl&force=true", foo("a", ports=ports), APPLY)
    assert '"name":"a\\u003cb"' in applied["metadata"]["annotations"][LAST_APPLIED]
    entry = next(each for each in applied["metadata"]["managedFields"] if each["manager"] == "kubectl")
    assert list(entry["fieldsV1"]["f:spec"]["f:ports"]) == ['k:{"name":"a\\u003cb"}']


def test_apply_whose_only_change_is_an_ignored_status_sets_the_time(kube: Kube) -> None:
    kube.ok("PATCH", f"{FOOS}/a?fieldManager=first", foo("a"), APPLY)
    config = {**foo("a"), "status": {"availableReplicas": 7}}
    applied = kube.ok("PATCH", f"{FOOS}/a?fieldManager=second", config, APPLY)
    assert all("time" in entry for entry in applied["metadata"]["managedFields"])


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_status_that_a_write_of_the_main_resource_ignores_is_decoded_all_the_same(kube: Kube, method: str) -> None:
    stored = kube.ok("POST", FOOS, foo("a"))
    body = {**stored, "status": {"unknown": 1}} if method == "PUT" else {"status": {"unknown": 1}}
    kind = "application/json" if method == "PUT" else MERGE
    warned = kube.send(method, f"{FOOS}/a?fieldValidation=Warn", body, kind)
    assert (warned.status, "status.unknown" in str(warned.headers)) == (200, True)
    kube.refused(400 if method == "PUT" else 422, method, f"{FOOS}/a?fieldValidation=Strict", body, kind)


def test_put_of_an_unknown_field_is_rejected_before_its_missing_version(kube: Kube) -> None:
    kube.ok("POST", FOOS, foo("a"))
    kube.refused(400, "PUT", f"{FOOS}/a?fieldValidation=Strict", foo("a", unknown=1))


def test_object_with_a_version_is_validated_before_its_creation_fails() -> None:
    kube, body = Kube(), foo("a", replicas=99)
    body["metadata"]["resourceVersion"] = "5"
    kube.refused(422, "POST", FOOS, body)
    body["spec"]["replicas"] = 1
    kube.refused(500, "POST", FOOS, body)


@pytest.mark.parametrize("kind", ["kubernetes.io/dockerconfigjson2", "kubernetes.io/dockerconfigjson "])
def test_secret_of_an_unknown_docker_type_is_created(kind: str) -> None:
    Kube().ok("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "a"}, "type": kind})


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": 7}}),
        ("/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": {"user": "a", "groups": [["a"]]}}),
        ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {"resourceAttributes": {"verb": 1}}}),
        ("/api/v1/namespaces/default/pods/p/binding", {"metadata": {"name": "p"}, "target": {"name": []}}),
        ("/api/v1/namespaces/default/pods/p/eviction", {"metadata": {"name": "p"}, "deleteOptions": 7}),
        ("/api/v1/namespaces/default/serviceaccounts/s/token", {"spec": {"audiences": 7}}),
        ("/api/v1/namespaces/default/serviceaccounts/s/token", []),
    ],
)
def test_mistyped_object_that_is_not_stored_is_a_bad_request(kube: Kube, path: str, body: Any) -> None:
    kube.ok("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "s"}})
    kube.refused(400, "POST", path, body)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("storage.k8s.io/v1/csidrivers", {"spec": {"volumeLifecycleModes": [None]}}),
        ("storage.k8s.io/v1/storageclasses", {"provisioner": "p", "volumeBindingMode": ""}),
        ("admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
         {"webhooks": [{"name": "a.b.c", "sideEffects": "", "admissionReviewVersions": ["v1"]}]}),
        ("admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
         {"webhooks": [{"name": "a.b.c", "reinvocationPolicy": "", **HOOK}]}),
        ("admissionregistration.k8s.io/v1/validatingadmissionpolicies", {"spec": {"failurePolicy": ""}}),
        ("admissionregistration.k8s.io/v1/validatingadmissionpolicies",
         {"spec": {"matchConstraints": {"matchPolicy": ""}}}),
        ("certificates.k8s.io/v1/certificatesigningrequests", {"spec": {"usages": ["", None]}}),
        (f"discovery.k8s.io/v1/{NAMESPACED}/endpointslices", {"addressType": "IPv4", "ports": [{"protocol": ""}]}),
        (f"networking.k8s.io/v1/{NAMESPACED}/networkpolicies", {"spec": {"ingress": [{"ports": [{"protocol": ""}]}]}}),
        (f"networking.k8s.io/v1/{NAMESPACED}/ingresses",
         {"spec": {"rules": [{"http": {"paths": [{"path": "/", "pathType": ""}]}}]}}),
    ],
)  # fmt: skip
def test_empty_choice_that_is_present_is_not_supported(path: str, body: Object) -> None:
    message = Kube().refused(422, "POST", f"/apis/{path}", {"metadata": {"name": "a"}, **body})
    assert "Unsupported value" in message["message"]


def owned(obj: Object) -> Object:
    """Return the fields of the only manager of an object."""
    (entry,) = obj["metadata"]["managedFields"]
    fields: Object = entry["fieldsV1"]
    return fields


def test_list_that_is_sent_empty_has_an_owner_and_is_stored_as_none(kube: Kube) -> None:
    role = kube.ok("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", {**NAMED, "rules": []})
    assert (role["rules"], owned(role)) == (None, {"f:rules": {}})
    ranges = kube.ok("POST", "/api/v1/namespaces/default/limitranges", {**NAMED, "spec": {"limits": []}})
    assert (ranges["spec"], owned(ranges)) == ({"limits": None}, {"f:spec": {"f:limits": {}}})
    account = kube.ok("POST", "/api/v1/namespaces/default/serviceaccounts", {**NAMED, "secrets": []})
    assert "managedFields" not in account["metadata"]  # Go omits this list if it is empty


@pytest.mark.parametrize(
    ("value", "encoded"),
    [([1, 2, 255], "AQL/"), ([], ""), ([None], "AA=="), ([256], None), ([-1], None), ([1.5], None), (["a"], None)],
)
def test_bytes_may_be_a_list_of_numbers(value: list[Any], encoded: str | None) -> None:
    kube, body = Kube(), {**NAMED, "data": {"a": value}}
    if encoded is None:
        assert "of type uint8" in kube.refused(400, "POST", SECRETS, body)["message"]
    else:
        assert kube.ok("POST", SECRETS, body)["data"] == {"a": encoded}


@pytest.mark.parametrize("labels", [None, {"mine": "x"}])
def test_job_without_labels_has_all_labels_of_its_pods(labels: Object | None) -> None:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}
    body = {"metadata": {"name": "a", **({"labels": labels} if labels else {})}, "spec": {"template": template}}
    job = Kube().ok("POST", "/apis/batch/v1/namespaces/default/jobs", body)
    pods = job["spec"]["template"]["metadata"]["labels"]
    assert {"app", "controller-uid", "batch.kubernetes.io/job-name"} <= pods.keys()
    assert job["metadata"]["labels"] == (labels or pods)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_autoscaler_has_no_annotations_of_what_has_fields(version: str) -> None:
    prefix = "autoscaling.alpha.kubernetes.io/"
    annotations = {f"{prefix}conditions": "[]", f"{prefix}current-metrics": "[]", "mine": "x"}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
    body = {"metadata": {"name": "a", "annotations": annotations}, "spec": {"maxReplicas": 2, "scaleTargetRef": target}}
    created = Kube().ok("POST", f"/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers", body)
    assert created["metadata"]["annotations"] == {"mine": "x"}


@pytest.mark.parametrize(("sent", "stored"), [(None, "1"), ("7", "7"), ("-3", "1"), ("x", None)])
def test_daemon_set_counts_its_templates_from_the_number_that_is_sent(sent: str | None, stored: str | None) -> None:
    path, name = "/apis/apps/v1/namespaces/default/daemonsets", "deprecated.daemonset.template.generation"
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [CONTAINER]}}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
    kube, body = Kube(), {"metadata": {"name": "a", "annotations": {name: sent} if sent else {}}, "spec": spec}
    if stored is None:
        kube.refused(400, "POST", path, body)
        return
    assert kube.ok("POST", path, body)["metadata"]["annotations"] == {name: stored}
    same = kube.ok("PATCH", f"{path}/a", {"spec": {"minReadySeconds": 1}}, MERGE)
    assert same["metadata"]["annotations"] == {name: stored}
    changed = {"spec": {"template": {"spec": {"nodeName": "n"}}}, "metadata": {"annotations": {name: "99"}}}
    assert kube.ok("PATCH", f"{path}/a", changed, MERGE)["metadata"]["annotations"] == {name: str(int(stored) + 1)}
    table = kube.ok("GET", path, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert "annotations" not in table["rows"][0]["object"]["metadata"]


def test_the_generation_of_a_priority_class_stays_one() -> None:
    kube, path = Kube(), "/apis/scheduling.k8s.io/v1/priorityclasses"
    kube.ok("POST", path, {**NAMED, "value": 1})
    assert kube.ok("PATCH", f"{path}/a", {"description": "changed"}, MERGE)["metadata"]["generation"] == 1


def test_addresses_of_a_node_may_be_repeated_only_when_it_is_created() -> None:
    kube, address = Kube(), {"type": "InternalIP", "address": "10.0.0.1"}
    kube.ok("POST", "/api/v1/nodes", {**NAMED, "status": {"addresses": [address, address]}})
    kube.refused(422, "PATCH", "/api/v1/nodes/a", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    kube.refused(422, "PATCH", "/api/v1/nodes/a/status", {"status": {"phase": "Running"}}, MERGE)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('"\\ud83d\\udc4b"', "yaml: found invalid Unicode character escape code"),
        ('"\x7f"', "yaml: control characters are not allowed"),
        ('"\u0080"', "yaml: control characters are not allowed"),
    ],
)
def test_json_that_is_no_yaml_cannot_be_applied(text: str, reason: str) -> None:
    kube, start = Kube(version="1.36"), '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":'
    body = f"{start}{text}}}}}".encode()
    message = kube.refused(400, "PATCH", f"{CONFIG_MAPS}/a?fieldManager=me", body, APPLY)["message"]
    assert message == f"error decoding YAML: error converting YAML to JSON: {reason}"
    kube.ok("POST", CONFIG_MAPS, body)


def test_backslash_before_what_looks_like_an_escape_is_applied() -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "\\ud83d \U0001f44b"}}
    assert Kube().ok(
        "PATCH", f"{CONFIG_MAPS}/a?fieldManager=me", json.dumps(config, ensure_ascii=False).encode(), APPLY
    )


@pytest.mark.parametrize(
    ("path", "api_version", "kind"),
    [
        (DEFINITIONS, "apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"),
        ("/apis/apps/v1/namespaces/default/deployments", "extensions/v1beta1", "Deployment"),
        ("/apis/batch/v1/namespaces/default/cronjobs", "batch/v1beta1", "CronJob"),
        ("/apis/authentication.k8s.io/v1/tokenreviews", "authentication.k8s.io/v1beta1", "TokenReview"),
        ("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema"),
        ("/apis/resource.k8s.io/v1/deviceclasses", "resource.k8s.io/v1beta1", "DeviceClass"),
    ],
)
def test_object_of_a_version_of_earlier_times_does_not_match_the_path(path: str, api_version: str, kind: str) -> None:
    message = Kube().refused(400, "POST", path, {"apiVersion": api_version, "kind": kind, **NAMED})["message"]
    expected = "/".join(path.split("/")[2:4])
    start = f"the API version in the data ({api_version}) does not match the expected API version"
    assert message == f"{start} ({expected})"
    body = {"apiVersion": "example.com/v1", "kind": kind, **NAMED}
    assert "no kind" in Kube().refused(400, "POST", path, body)["message"]


@pytest.mark.parametrize(("versions", "text"), [([], "[]"), (None, "null")])
def test_definition_without_versions_is_rejected_with_what_was_sent(versions: Any, text: str) -> None:
    bar = definition("bars", "Bar", "example.com")
    bar["spec"]["versions"] = versions
    reason = "must have exactly one version marked as storage version"
    assert f"spec.versions: Invalid value: {text}: {reason}" in Kube().refused(422, "POST", DEFINITIONS, bar)["message"]


def test_labels_in_messages_are_sorted() -> None:
    template = {"metadata": {"labels": {"z": "1", "b": "2"}}, "spec": {"containers": [CONTAINER]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    message = Kube().refused(422, "POST", "/apis/apps/v1/namespaces/default/deployments", {**NAMED, "spec": spec})
    assert 'Invalid value: {"b":"2","z":"1"}: ' in message["message"]
    template = {**template, "spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}
    spec = {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    message = Kube().refused(422, "POST", "/apis/batch/v1/namespaces/default/jobs", {**NAMED, "spec": spec})
    assert 'Invalid value: {"b":"2","z":"1"}: ' in message["message"]
