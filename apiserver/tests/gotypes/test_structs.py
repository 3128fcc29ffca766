import json

from apiserver.tests.inprocess import FOOS, Kube, foo
from clientgo_apiserver.gotypes.structs import in_order

POD = {
    "spec": {"restartPolicy": "Always", "containers": [{"image": "i", "env": [], "envFrom": [], "name": "c"}]},
    "metadata": {"labels": {"b": "1", "a": "2"}, "managedFields": [{"fieldsV1": {"f:b": {}, ".": {}}}], "name": "p"},
    "apiVersion": "v1",
    "kind": "Pod",
}


def test_builtin_kind_has_its_fields_in_the_order_of_the_go_struct_and_keys_of_maps_by_name() -> None:
    assert json.dumps(in_order(POD), separators=(",", ":")) == (
        '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","labels":{"a":"2","b":"1"},'
        '"managedFields":[{"fieldsV1":{".":{},"f:b":{}}}]},'
        '"spec":{"containers":[{"name":"c","image":"i","envFrom":[],"env":[]}],"restartPolicy":"Always"}}'
    )


def test_schemas_within_a_definition_are_in_order_on_all_levels() -> None:
    leaf = {"format": "f", "description": "d", "type": "string"}
    schema = {"properties": {"b": leaf, "a": {"additionalProperties": leaf, "type": "object"}}, "type": "object"}
    versions = [{"schema": {"openAPIV3Schema": schema}, "name": "v1"}]
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {"versions": versions}}
    expected = '{"description": "d", "type": "string", "format": "f"}'
    assert json.dumps(in_order(crd)["spec"]["versions"]) == (
        '[{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": '
        f'{{"a": {{"type": "object", "additionalProperties": {expected}}}, "b": {expected}}}}}}}}}]'
    )


def test_custom_resource_and_its_lists_have_sorted_keys(kube: Kube) -> None:
    kube.ok("POST", FOOS, foo())
    listed = kube.ok("GET", FOOS)
    assert list(listed) == ["apiVersion", "items", "kind", "metadata"]
    assert json.dumps(listed) == json.dumps(listed, sort_keys=True)
