"""Behaviour that good guesses get wrong, in the version of Kubernetes in which it was observed."""

from typing import Any

import pytest

from apiserver.tests.inprocess import (
    APPLY,
    CONFIG_MAPS,
    DEFINITIONS,
    MERGE,
    PODS,
    SERVICES,
    STRATEGIC,
    Kube,
    definition,
    deployment,
    pod,
)

Object = dict[str, Any]
SETS, SCALERS = (
    "/apis/apps/v1/namespaces/default/statefulsets",
    "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
)
OLD, MIDDLE, NEW = "1.35", "1.36", "1.37"


def config_map(name: str, **members: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **members}


def service(name: str, **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


def stateful_set(**rolling: Any) -> Object:
    spec = deployment("s")["spec"]
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    built = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"}}
    return {**built, "spec": {**spec, "serviceName": "s", "updateStrategy": strategy}}


def autoscaler(**spec: Any) -> Object:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    external = {"metric": {"name": "q"}, "target": {"type": "Value", "value": "1"}}
    metrics = [{"type": "External", "external": external}]
    named = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}}
    return {**named, "spec": {"maxReplicas": 3, "scaleTargetRef": target, "metrics": metrics, **spec}}


def with_rule(rule: str, plural: str = "bars", **schema: Any) -> Object:
    built = definition(plural, plural[:-1].capitalize(), schema={"type": "object", **schema})
    root = built["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    root["x-kubernetes-validations"] = [{"rule": rule}]
    return built


@pytest.mark.parametrize(("version", "stored"), [(OLD, None), (MIDDLE, None), (NEW, 3)])
def test_max_unavailable_of_a_stateful_set_is_dropped_before_1_37(version: str, stored: int | None) -> None:
    created = Kube(version=version).ok("POST", SETS, stateful_set(maxUnavailable=3))
    assert created["spec"]["updateStrategy"]["rollingUpdate"].get("maxUnavailable") == stored


@pytest.mark.parametrize("value", [0, "0%", "101%", -1])
def test_max_unavailable_of_a_stateful_set_is_validated_since_1_37(value: int | str) -> None:
    status = Kube().refused(422, "POST", SETS, stateful_set(maxUnavailable=value))
    assert "spec.updateStrategy.rollingUpdate.maxUnavailable" in status["message"]


def test_definition_has_no_observed_generation(kube: Kube) -> None:
    changed = kube.ok("GET", f"{DEFINITIONS}/foos.samplecontroller.k8s.io")
    changed["spec"]["names"]["shortNames"] = ["f"]
    kube.ok("PUT", f"{DEFINITIONS}/foos.samplecontroller.k8s.io", changed)
    stored = kube.ok("GET", f"{DEFINITIONS}/foos.samplecontroller.k8s.io")
    assert stored["metadata"]["generation"] == 2
    assert "observedGeneration" not in str(stored["status"])


def test_shard_selector_is_not_parsed(kube: Kube) -> None:
    kube.ok("POST", CONFIG_MAPS, config_map("a"))
    assert len(kube.ok("GET", f"{CONFIG_MAPS}?shardSelector=not-an-expression")["items"]) == 1


@pytest.mark.parametrize(("version", "code"), [(MIDDLE, 404), (NEW, 200)])
def test_object_that_outlived_its_namespace_can_be_updated_since_1_37(version: str, code: int) -> None:
    kube = Kube(version=version)
    kube.ok("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    kube.ok("POST", "/api/v1/namespaces/n/configmaps", config_map("a"))
    state = kube.api.state
    state.store.remove(("", "namespaces"), "", "n")
    assert kube.send("PUT", "/api/v1/namespaces/n/configmaps/a", config_map("a", data={"k": "v"})).status == code
    kube.refused(404, "POST", "/api/v1/namespaces/n/configmaps", config_map("b"))


@pytest.mark.parametrize(("version", "order"), [(MIDDLE, "0"), (NEW, "-1")])
def test_sum_changes_a_large_quantity_before_1_37(version: str, order: str) -> None:
    kube, large = Kube(version=version), "quantity('9999999999999999999999999999999999999')"
    rule = f"[{large}].all(x, x.add(quantity('1')).compareTo(x.add(quantity('2'))) == {order})"
    kube.ok("POST", DEFINITIONS, with_rule(rule))
    bar = {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Bar", "metadata": {"name": "a"}}
    kube.ok("POST", "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/bars", bar)


@pytest.mark.parametrize(("version", "code"), [(OLD, 422), (MIDDLE, 422), (NEW, 201)])
def test_includes_is_a_member_of_any_value_since_1_37(version: str, code: int) -> None:
    rule = "'model-a'.includes('model-a') && [1, 2].includes(2) && !'a'.includes('b')"
    assert Kube(version=version).send("POST", DEFINITIONS, with_rule(rule)).status == code


@pytest.mark.parametrize(("version", "warned"), [(MIDDLE, False), (NEW, True)])
def test_set_of_maps_has_a_warning_since_1_37(version: str, warned: bool) -> None:
    items = {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}}}
    schema = {"type": "object", "properties": {"x": {"type": "array", "x-kubernetes-list-type": "set", "items": items}}}
    sent = Kube(version=version).send("POST", DEFINITIONS, definition("bars", "Bar", schema=schema))
    assert sent.status == 201
    assert any("x-kubernetes-list-type: set" in value for _, value in sent.headers) is warned


@pytest.mark.parametrize(("version", "code"), [(MIDDLE, 422), (NEW, 201)])
def test_length_of_names_is_limited_for_estimates_since_1_37(version: str, code: int) -> None:
    item = {"type": "array", "maxItems": 100, "items": {"type": "string", "maxLength": 100}}
    rule = "self.spec.x.all(i, self.metadata.name.contains(i))"
    built = with_rule(rule, properties={"x": item})
    assert Kube(version=version).send("POST", DEFINITIONS, built).status == code


MIGRATIONS = {(OLD, "v1"): 404, (MIDDLE, "v1"): 404, (MIDDLE, "v1beta1"): 404, (NEW, "v1"): 200, (NEW, "v1beta1"): 404}


@pytest.mark.parametrize(("version", "api", "code"), [(*key, code) for key, code in MIGRATIONS.items()])
def test_storage_version_migration_is_served_since_1_37(version: str, api: str, code: int) -> None:
    assert Kube(version=version).send("GET", f"/apis/storagemigration.k8s.io/{api}").status == code


@pytest.mark.parametrize(
    ("kind", "since"), [("apps.v1.Deployment", NEW), ("autoscaling.v2.HorizontalPodAutoscaler", MIDDLE)]
)
def test_spec_is_required_in_schemas_since_a_version(kind: str, since: str) -> None:
    group = f"/openapi/v3/apis/{'/'.join(kind.split('.')[:2])}"
    for version in (OLD, MIDDLE, NEW):
        schema = Kube(version=version).ok("GET", group)["components"]["schemas"][f"io.k8s.api.{kind}"]
        assert ("spec" in schema.get("required", [])) is (version >= since), version


@pytest.mark.parametrize(("version", "code"), [(OLD, 422), (MIDDLE, 201), (NEW, 201)])
def test_service_may_begin_with_a_digit_since_1_36(version: str, code: int) -> None:
    assert Kube(version=version).send("POST", SERVICES, service("1abc")).status == code


@pytest.mark.parametrize(("version", "code"), [(OLD, 201), (MIDDLE, 422), (NEW, 422)])
def test_leading_zeros_of_addresses_are_rejected_since_1_36(version: str, code: int) -> None:
    sent = Kube(version=version).send("POST", SERVICES, service("a", externalIPs=["010.000.001.005"]))
    assert sent.status == code
    assert any("non-standard IP address" in value for _, value in sent.headers) is (version == OLD)


def test_external_addresses_have_a_warning() -> None:
    sent = Kube(version=MIDDLE).send("POST", SERVICES, service("a", externalIPs=["1.2.3.4"]))
    assert any("spec.externalIPs is deprecated" in value for _, value in sent.headers)


def test_old_aggregated_discovery_alone_is_not_acceptable() -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
    assert Kube(version=MIDDLE).send("GET", "/apis", accept=accept).status == 406


JOBS = "/apis/batch/v1/namespaces/default/jobs"
SUSPENDED = {
    "metadata": {"name": "j"},
    "spec": {"suspend": True, "template": {"spec": pod(restartPolicy="Never")["spec"]}},
}


@pytest.mark.parametrize(
    ("version", "change", "code"),
    [
        (OLD, {"resources": {"requests": {"cpu": "1"}}}, 422),
        (MIDDLE, {"resources": {"requests": {"cpu": "1"}}}, 200),
        (MIDDLE, {"image": "other"}, 422),
    ],
)
def test_resources_of_a_suspended_job_can_change_since_1_36(version: str, change: Object, code: int) -> None:
    kube = Kube(version=version)
    kube.ok("POST", JOBS, SUSPENDED)
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "c", **change}]}}}}
    assert kube.send("PATCH", f"{JOBS}/j", patch, STRATEGIC).status == code


def test_labels_of_the_template_of_a_suspended_job_can_change() -> None:
    kube = Kube(version=MIDDLE)
    kube.ok("POST", JOBS, SUSPENDED)
    patch = {"spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {"nodeSelector": {"a": "b"}}}}}
    kube.ok("PATCH", f"{JOBS}/j", patch, MERGE)


@pytest.mark.parametrize(("version", "code"), [(OLD, 422), (MIDDLE, 422), (NEW, 201)])
def test_autoscaler_can_scale_to_zero_since_1_37(version: str, code: int) -> None:
    assert Kube(version=version).send("POST", SCALERS, autoscaler(minReplicas=0)).status == code


def test_generated_name_has_at_most_63_characters_and_few_letters(kube: Kube) -> None:
    for _ in range(20):
        name = kube.ok("POST", CONFIG_MAPS, {**config_map(""), "metadata": {"generateName": "x" * 70}})
        name = name["metadata"]["name"]
        assert len(name) == 63
        assert not set(name[58:]) & set("aeiou013")


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("1024Mi", "1Gi"),
        ("1000m", "1"),
        ("0.5Gi", "512Mi"),
        ("1e3", "1e3"),
        ("0.1n", "1m"),
        ("Mi", "0"),
        ("1000E", "1"),
    ],
)
def test_quantities_are_stored_in_canonical_form(sent: str, stored: str) -> None:
    container = {"name": "c", "image": "i", "resources": {"limits": {"memory": sent}}}
    created = Kube(version=MIDDLE).ok("POST", PODS, pod(containers=[container]))
    assert created["spec"]["containers"][0]["resources"]["limits"]["memory"] == stored


@pytest.mark.parametrize(
    ("selector", "names"), [("x in ()", {"e"}), ("x in (1,)", {"e", "one"}), ("x!=1", {"e", "none"})]
)
def test_empty_value_is_an_element_of_a_selector(kube: Kube, selector: str, names: set[str]) -> None:
    for name, labels in {"e": {"x": ""}, "one": {"x": "1"}, "none": {}}.items():
        kube.ok("POST", CONFIG_MAPS, {**config_map(name), "metadata": {"name": name, "labels": labels}})
    items = kube.ok("GET", f"{CONFIG_MAPS}?labelSelector={selector.replace(' ', '%20')}")["items"]
    assert {each["metadata"]["name"] for each in items} == names


def test_limit_is_ignored_at_resource_version_zero(kube: Kube) -> None:
    for name in "abcde":
        kube.ok("POST", CONFIG_MAPS, config_map(name))
    listed = kube.ok("GET", f"{CONFIG_MAPS}?limit=2&resourceVersion=0")
    assert len(listed["items"]) == 5
    assert "continue" not in listed["metadata"]
    assert kube.ok("GET", f"{CONFIG_MAPS}?fieldSelector=metadata.name%3D")["items"] == []
    assert "remainingItemCount" not in kube.ok("GET", f"{CONFIG_MAPS}?limit=2&labelSelector=a!%3Db")["metadata"]


def test_empty_patch_writes_nothing_and_an_equal_apply_writes_its_manager(kube: Kube) -> None:
    before = kube.ok("POST", CONFIG_MAPS, config_map("a", data={"k": "v"}))["metadata"]["resourceVersion"]
    patched = kube.ok("PATCH", f"{CONFIG_MAPS}/a?fieldManager=other", {"data": {"k": "v"}}, MERGE)["metadata"]
    assert patched["resourceVersion"] == before
    assert "other" not in str(patched["managedFields"])
    applied = kube.ok("PATCH", f"{CONFIG_MAPS}/a?fieldManager=m&force=true", config_map("a", data={"k": "v"}), APPLY)
    assert applied["metadata"]["resourceVersion"] != before


@pytest.mark.parametrize(("version", "columns"), [(MIDDLE, 2), (NEW, 8)])
def test_table_of_definitions_has_columns_since_1_37(version: str, columns: int) -> None:
    table = Kube(version=version).ok("GET", DEFINITIONS, accept="application/json;as=Table;g=meta.k8s.io;v=v1")
    assert len(table["columnDefinitions"]) == columns


@pytest.mark.parametrize(("version", "code"), [(OLD, 404), (MIDDLE, 200), (NEW, 200)])
def test_debugging_pages_are_served_since_1_36(version: str, code: int) -> None:
    kube = Kube(version=version)
    assert [kube.send("GET", path).status for path in ("/statusz", "/flagz")] == [code, code]


@pytest.mark.parametrize(
    ("version", "message"),
    [(MIDDLE, "error decoding patch: invalid character"), (NEW, "invalid JSON patch")],
)
def test_invalid_patch_has_another_message_since_1_37(version: str, message: str) -> None:
    kube = Kube(version=version)
    kube.ok("POST", CONFIG_MAPS, config_map("a"))
    assert message in kube.refused(400, "PATCH", f"{CONFIG_MAPS}/a", b"{x", MERGE)["message"]
