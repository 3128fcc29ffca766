"""Behaviour that good guesses get wrong, in the version of Kubernetes in which it was observed."""

from typing import Any

import pytest

from apiserver.tests.inprocess import (
    APPLY,
    CONFIG_MAPS,
    DEFINITIONS,
    MERGE,
    PODS,
    Kube,
    definition,
    pod,
)

Object = dict[str, Any]
MIDDLE, NEW = "1.36", "1.37"


def config_map(name: str, **members: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **members}


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
    schema = {"type": "object", "x-kubernetes-validations": [{"rule": rule}]}
    kube.ok("POST", DEFINITIONS, definition("bars", "Bar", schema=schema))
    bar = {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Bar", "metadata": {"name": "a"}, "spec": {}}
    kube.ok("POST", "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/bars", bar)


def test_old_aggregated_discovery_alone_is_not_acceptable() -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
    assert Kube(version=MIDDLE).send("GET", "/apis", accept=accept).status == 406


JOBS = "/apis/batch/v1/namespaces/default/jobs"
SUSPENDED = {
    "metadata": {"name": "j"},
    "spec": {"suspend": True, "template": {"spec": pod(restartPolicy="Never")["spec"]}},
}


def test_labels_of_the_template_of_a_suspended_job_can_change() -> None:
    kube = Kube(version=MIDDLE)
    kube.ok("POST", JOBS, SUSPENDED)
    patch = {"spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {"nodeSelector": {"a": "b"}}}}}
    kube.ok("PATCH", f"{JOBS}/j", patch, MERGE)


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


@pytest.mark.parametrize(
    ("version", "message"),
    [(MIDDLE, "error decoding patch: invalid character"), (NEW, "invalid JSON patch")],
)
def test_invalid_patch_has_another_message_since_1_37(version: str, message: str) -> None:
    kube = Kube(version=version)
    kube.ok("POST", CONFIG_MAPS, config_map("a"))
    assert message in kube.refused(400, "PATCH", f"{CONFIG_MAPS}/a", b"{x", MERGE)["message"]
