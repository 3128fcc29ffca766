"""Answers to requests that good guesses get wrong, in each version."""

from typing import Any

import pytest

from apiserver.tests.inprocess import (
    APPLY,
    CONFIG_MAPS,
    DEFINITIONS,
    MERGE,
    Kube,
    definition,
)

Object = dict[str, Any]
BARS = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/bars"


@pytest.mark.parametrize(
    "path",
    [
        "/apis/networking.k8s.io/v1beta1",
        "/apis/storage.k8s.io/v1beta1",
        "/apis/certificates.k8s.io/v1alpha1",
        "/apis/scheduling.k8s.io/v1alpha2",
    ],
)
def test_removed_api_versions_are_not_served(path: str) -> None:
    assert Kube(version="1.37").send("GET", path).status == 404


def test_manager_of_fields_before_the_first_apply(kube: Kube) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    kube.ok("PATCH", f"{CONFIG_MAPS}/a", {"metadata": {"managedFields": [{}]}}, MERGE)
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"o": "w"}}
    applied = kube.ok("PATCH", f"{CONFIG_MAPS}/a?fieldManager=m", config, APPLY)
    managers = {(entry["manager"], entry["operation"]) for entry in applied["metadata"]["managedFields"]}
    assert managers == {("before-first-apply", "Update"), ("m", "Apply")}


def with_entries() -> Object:
    part = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    schema = {"type": "object", "properties": {"m": {"type": "object", "additionalProperties": part}, "o": part}}
    return definition("bars", "Bar", schema=schema)


@pytest.mark.parametrize(("path", "after"), [("m", None), ("o", {"b": "2"})])
def test_entry_of_a_map_goes_with_its_applier_and_a_struct_keeps_what_others_own(
    kube: Kube, path: str, after: Any
) -> None:
    kube.ok("POST", DEFINITIONS, with_entries())

    def bar(**spec: Any) -> Object:
        head = {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Bar", "metadata": {"name": "a"}}
        return {**head, "spec": spec}

    def nested(value: Object) -> Object:
        return {"m": {"k": value}} if path == "m" else {"o": value}

    kube.ok("PATCH", f"{BARS}/a?fieldManager=x", bar(**nested({"a": "1"})), APPLY)
    kube.ok("PATCH", f"{BARS}/a?fieldManager=updater", {"spec": nested({"b": "2"})}, MERGE)
    applied = kube.ok("PATCH", f"{BARS}/a?fieldManager=x", bar(), APPLY).get("spec") or {}
    entry = (applied.get("m") or {}).get("k") if path == "m" else applied.get("o")
    assert entry == after


@pytest.mark.parametrize(
    ("version", "names"), [("1.36", ["a (default)", "b (default)", "c"]), ("1.37", ["a", "b (default)", "c"])]
)
def test_table_shows_the_newest_default_storage_class_alone_since_1_37(version: str, names: list[str]) -> None:
    kube, path = Kube(version=version), "/apis/storage.k8s.io/v1/storageclasses"
    for name, default in (("a", "true"), ("b", "true"), ("c", "false")):
        annotations = {"storageclass.kubernetes.io/is-default-class": default}
        kube.ok("POST", path, {"metadata": {"name": name, "annotations": annotations}, "provisioner": "p.example.com"})
        kube.clock.step(1)
    table = kube.ok("GET", path, accept="application/json;as=Table;g=meta.k8s.io;v=v1")
    assert [row["cells"][0] for row in table["rows"]] == names


@pytest.mark.parametrize(("version", "limit"), [("1.36", 262_144), ("1.37", 1024)])
def test_error_of_a_volume_attachment_names_its_limit_since_1_37(version: str, limit: int) -> None:
    kube, path = Kube(version=version), "/apis/storage.k8s.io/v1/volumeattachments"
    spec = {"attacher": "a.example.com", "nodeName": "n", "source": {"persistentVolumeName": "p"}}
    kube.ok("POST", path, {"metadata": {"name": "a"}, "spec": spec})
    status = {"attached": False, "attachError": {"message": "x" * 1025}}
    refused = kube.refused(422, "PATCH", f"{path}/a/status", {"status": status}, MERGE)
    assert refused["details"]["causes"][0]["message"] == f"Too long: may not be more than {limit} bytes"
