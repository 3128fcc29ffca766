import json
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.meta.scheme import ScaleSubresource
from clientgo_apiserver.api.resources import Registry, Resource
from clientgo_apiserver.registry.builtin import builtin_registry
from clientgo_apiserver.registry.openapi import OpenAPI, path_of
from clientgo_apiserver.registry.openapi_v2 import v2_document

GROUP = "samplecontroller.k8s.io"
FOOS = f"apis/{GROUP}/v1"
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"replicas": {"type": "integer", "description": "How many."}}}
    },
}


def foo(**more: Any) -> Resource:
    more = {"schema": SCHEMA, "status": True, "scale": ScaleSubresource(".spec.replicas", ".status.replicas"), **more}
    return Resource(GROUP, "v1", "foos", "Foo", "foo", "FooList", True, custom=True, **more)


@pytest.fixture
def registry() -> Registry:
    result = builtin_registry()
    result.add(foo())
    return result


@pytest.fixture
def openapi(registry: Registry) -> OpenAPI:
    return OpenAPI(registry)


def loaded(openapi: OpenAPI, group: str, version: str = "v1") -> dict[str, Any]:
    openapi.index()
    text = openapi.document(path_of(group, version))
    assert text is not None
    document: dict[str, Any] = json.loads(text)
    return document


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def follow(document: dict[str, Any], schema: dict[str, Any], *path: str) -> dict[str, Any]:
    for name in (*path, ""):
        while "allOf" in schema or "$ref" in schema:
            address = schema["$ref"] if "$ref" in schema else schema["allOf"][0]["$ref"]
            schema = document["components"]["schemas"][address.rpartition("/")[2]]
        if name:
            schema = schema["items"] if name == "*" else schema["properties"][name]
    return schema


def test_index_addresses_every_group_version_with_a_hash(openapi: OpenAPI, registry: Registry) -> None:
    paths = openapi.index()["paths"]
    assert {"api/v1", "apis/apps/v1", f"apis/{GROUP}/v1"} <= set(paths)
    for group, versions in registry.groups().items():
        for version in versions:
            path = path_of(group, version)
            expected = f"/openapi/v3/{path}?hash={openapi.hash_of(path)}"
            assert paths[path]["serverRelativeURL"] == expected


def test_hash_changes_with_the_resources_and_with_nothing_else(openapi: OpenAPI, registry: Registry) -> None:
    apps, foos = openapi.hash_of("apis/apps/v1"), openapi.hash_of(FOOS)
    before = openapi.document(FOOS)
    registry.add(foo(schema={"type": "object"}))
    assert openapi.hash_of("apis/apps/v1") == apps
    assert openapi.hash_of(FOOS) != foos
    assert openapi.document(FOOS) != before
    assert f"hash={openapi.hash_of(FOOS)}" in openapi.index()["paths"][FOOS]["serverRelativeURL"]


def test_group_that_is_gone_has_no_document(openapi: OpenAPI, registry: Registry) -> None:
    registry.remove(foo())
    assert openapi.document(FOOS) is None
    assert openapi.hash_of(FOOS) == ""
    assert FOOS not in openapi.index()["paths"]


def test_every_reference_of_every_document_resolves(openapi: OpenAPI, registry: Registry) -> None:
    for group, versions in registry.groups().items():
        for version in versions:
            document = loaded(openapi, group, version)
            names = {reference.rpartition("/")[2] for reference in references(document)}
            assert names <= set(document["components"]["schemas"])


def test_patch_of_every_kind_says_that_fields_are_validated(openapi: OpenAPI) -> None:
    for group in ("", "apps", GROUP):
        paths = loaded(openapi, group)["paths"]
        patched = [item for path, item in paths.items() if "patch" in item and "proxy" not in path]
        assert patched
        for item in patched:
            arguments = [*item["patch"].get("parameters", ()), *item["parameters"]]
            assert "fieldValidation" in {parameter["name"] for parameter in arguments}
            assert item["patch"]["x-kubernetes-group-version-kind"]["kind"]


def test_operations_are_named_as_generators_of_clients_know_them(openapi: OpenAPI) -> None:
    item = loaded(openapi, "apps")["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments"]
    named = {method: operation["operationId"] for method, operation in item.items() if method != "parameters"}
    assert named == {
        "get": "listAppsV1NamespacedDeployment",
        "post": "createAppsV1NamespacedDeployment",
        "delete": "deleteAppsV1CollectionNamespacedDeployment",
    }
    everywhere = loaded(openapi, "apps")["paths"]["/apis/apps/v1/deployments"]
    assert everywhere["get"]["operationId"] == "listAppsV1DeploymentForAllNamespaces"


def test_custom_kind_is_described_by_its_definition(openapi: OpenAPI) -> None:
    document = loaded(openapi, GROUP)
    schema = document["components"]["schemas"]["io.k8s.samplecontroller.v1.Foo"]
    assert schema["x-kubernetes-group-version-kind"] == [{"group": GROUP, "kind": "Foo", "version": "v1"}]
    assert follow(document, schema, "spec", "replicas") == {"type": "integer", "description": "How many."}
    assert "ownerReferences" in follow(document, schema, "metadata")["properties"]
    assert schema["properties"]["metadata"]["description"].startswith("Standard object's metadata.")
    assert schema["properties"]["apiVersion"]["type"] == "string"
    listed = document["components"]["schemas"]["io.k8s.samplecontroller.v1.FooList"]
    assert listed["properties"]["items"]["description"].startswith("List of foos.")
    assert follow(document, listed, "items", "*") == schema


@pytest.mark.parametrize("path", [("spec",), ("items", "*"), ("named", "x")])
@pytest.mark.parametrize("declared", [{}, {"properties": {"spec": {"type": "string"}}, "required": ["kind", "spec"]}])
def test_embedded_resource_has_the_fields_of_any_object(registry: Registry, path: Any, declared: Any) -> None:
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, **declared}
    properties = {
        "spec": embedded,
        "items": {"type": "array", "items": embedded},
        "named": {"type": "object", "additionalProperties": embedded},
    }
    registry.add(foo(schema={"type": "object", "properties": properties}))
    document = loaded(OpenAPI(registry), GROUP)
    schema = document["components"]["schemas"]["io.k8s.samplecontroller.v1.Foo"]["properties"][path[0]]
    schema = schema.get("items") or schema.get("additionalProperties") or schema
    assert schema["properties"]["apiVersion"]["type"] == schema["properties"]["kind"]["type"] == "string"
    assert "ownerReferences" in follow(document, schema, "metadata")["properties"]
    assert schema["required"] == (["kind", "spec", "apiVersion"] if declared else ["kind", "apiVersion"])


def test_custom_kind_without_a_schema_is_any_object(registry: Registry) -> None:
    registry.add(foo(schema=None, scale=None))
    document = loaded(OpenAPI(registry), GROUP)
    schema = document["components"]["schemas"]["io.k8s.samplecontroller.v1.Foo"]
    assert schema["x-kubernetes-preserve-unknown-fields"] is True
    assert "/apis/samplecontroller.k8s.io/v1/namespaces/{namespace}/foos/{name}/scale" not in document["paths"]


def test_built_in_kind_has_descriptions_requirements_and_merge_keys(openapi: OpenAPI) -> None:
    document = loaded(openapi, "apps")
    deployment = document["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"]
    assert deployment["x-kubernetes-group-version-kind"] == [{"group": "apps", "kind": "Deployment", "version": "v1"}]
    spec = follow(document, deployment, "spec")
    assert spec["required"] == ["selector", "template"]
    assert spec["properties"]["replicas"]["type"] == "integer"
    assert "desired" in spec["properties"]["replicas"]["description"]
    containers = follow(document, deployment, "spec", "template", "spec")["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert "io.k8s.api.core.v1.Container" in document["components"]["schemas"]
    policy = follow(document, deployment, "spec", "template", "spec")["properties"]["restartPolicy"]
    assert policy["enum"] == ["Always", "Never", "OnFailure"]


def test_second_version_of_openapi_defines_all_kinds(openapi: OpenAPI) -> None:
    openapi.index()
    definitions = json.loads(openapi.v2_document(protobuf=False))["definitions"]
    assert {"io.k8s.api.core.v1.Pod", "io.k8s.samplecontroller.v1.Foo"} <= set(definitions)
    names = {reference.rpartition("/")[2] for reference in references(definitions)}
    assert names <= set(definitions)
    properties = definitions["io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"]["properties"]
    assert {"default", "allOf", "oneOf"} <= set(properties)
    packed = openapi.v2_document(protobuf=True)
    assert b"io.k8s.samplecontroller.v1.Foo" in packed
    assert b'[{"group":"apps","kind":"Deployment","version":"v1"}]' in packed


FOO_PATH = f"/apis/{GROUP}/v1/namespaces/{{namespace}}/foos/{{name}}"


def test_second_version_of_openapi_has_the_paths_of_the_third(openapi: OpenAPI) -> None:
    paths = json.loads(openapi.v2_document(protobuf=False))["paths"] if openapi.index() else {}
    third = {path for name in openapi.index()["paths"] for path in json.loads(openapi.document(name) or b"")["paths"]}
    assert paths.keys() == third
    for path, kind in (
        ("/api/v1/namespaces/{namespace}/pods/{name}", {"group": "", "kind": "Pod", "version": "v1"}),
        (FOO_PATH, {"group": GROUP, "kind": "Foo", "version": "v1"}),
    ):
        patch = paths[path]["patch"]
        assert patch["x-kubernetes-group-version-kind"] == kind
        assert {"name": "dryRun", "in": "query", "type": "string", "uniqueItems": True} in patch["parameters"]
        assert "application/apply-patch+yaml" in patch["consumes"]
        assert "requestBody" not in patch
        assert {"name", "namespace"} <= {parameter["name"] for parameter in paths[path]["parameters"]}
    (body,) = (each for each in paths[FOO_PATH]["put"]["parameters"] if each["in"] == "body")
    definition = {"$ref": "#/definitions/io.k8s.samplecontroller.v1.Foo"}
    assert body == {"name": "body", "in": "body", "required": True, "schema": definition}
    assert paths[FOO_PATH]["get"]["responses"]["200"] == {"description": "OK", "schema": definition}
    assert paths["/apis/"]["get"]["consumes"] == paths["/apis/"]["get"]["produces"]


def fields_of(data: bytes) -> dict[int, list[Any]]:
    """Return the fields of a message of protobuf: numbers, and bytes of texts and messages."""
    fields: dict[int, list[Any]] = {}
    position = 0

    def varint() -> int:
        nonlocal position
        value = shift = 0
        while True:
            position, byte = position + 1, data[position]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    while position < len(data):
        key = varint()
        value: Any = varint()
        if key & 7 == 2:
            position, value = position + value, data[position : position + value]
        fields.setdefault(key >> 3, []).append(value)
    return fields


@pytest.mark.parametrize(
    ("path", "kind"), [(FOO_PATH, "Foo"), ("/apis/apps/v1/namespaces/{namespace}/deployments/{name}", "Deployment")]
)
def test_old_kubectl_finds_that_patches_can_be_dry_runs(openapi: OpenAPI, path: str, kind: str) -> None:
    openapi.index()
    named = [fields_of(item) for item in fields_of(fields_of(openapi.v2_document(protobuf=True))[8][0])[2]]
    (item,) = (fields_of(each[2][0]) for each in named if each[1] == [path.encode()])
    patch = fields_of(item[8][0])
    extensions = {fields_of(each)[1][0]: fields_of(fields_of(each)[2][0])[2][0] for each in patch[13]}
    assert json.loads(extensions[b"x-kubernetes-group-version-kind"])["kind"] == kind
    parameters = [fields_of(fields_of(each)[1][0]) for each in patch[8]]
    queries = [fields_of(fields_of(each[2][0])[3][0]) for each in parameters if 2 in each]
    assert [b"dryRun"] in [query[4] for query in queries]
    assert {4: [b"dryRun"], 2: [b"query"], 6: [b"string"], 20: [1]} in queries
    assert [fields_of(each[1][0])[2] for each in parameters if 1 in each] == [[b"body"]]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object", "properties": {"a": {}}, "anyOf": [{}]}, {"type": "object", "properties": {"a": {}}}),
        ({"type": "object", "nullable": True, "properties": {"a": {}}}, {}),
        ({"type": "array", "items": {"type": "string", "nullable": True}}, {"type": "array", "items": {}}),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {}}},
            {"x-kubernetes-preserve-unknown-fields": True},
        ),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-group-version-kind": []},
            {"type": "object", "x-kubernetes-group-version-kind": []},
        ),
    ],
)
def test_second_version_of_openapi_leaves_out_what_kubectl_cannot_read(schema: Any, expected: Any) -> None:
    document = json.dumps({"components": {"schemas": {"Foo": schema}}}).encode()
    assert v2_document([document])["definitions"]["Foo"] == expected
