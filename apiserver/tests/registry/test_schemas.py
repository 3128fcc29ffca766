"""Schemas of the built-in types: the rows that hack/server_data.py prints have every fact of the server's documents."""

from typing import Any

from clientgo.meta.schema.gotypes import read_table
from clientgo_apiserver.registry import schemas
from hack.server_data import type_lines

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
CONTAINER = {"allOf": [{"$ref": "#/components/schemas/io.k8s.api.apps.v1.Container"}], "default": {}}
NAMES = {
    "type": "array",
    "items": {"type": "string", "enum": ["a b", "*"]},
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name", "port"],
    "x-kubernetes-patch-strategy": "merge,retainKeys",
    "x-kubernetes-patch-merge-key": "name",
}
FIELDS = {
    "names": NAMES,
    "container": CONTAINER,
    "count": {"type": "integer", "format": "int32", "default": 1},
    "data": {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
    "mode": {"type": "string", "enum": ["A", "B"], "default": "A"},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": "atomic"},
    "phase": {"type": "string"},
}
KIND = {"group": "apps", "kind": "Sample", "version": "v1"}
TYPES: dict[str, dict[str, Any]] = {
    "io.k8s.api.apps.v1.Sample": {
        "type": "object",
        "required": ["names", "phase"],
        "properties": {"apiVersion": {"type": "string"}, **FIELDS, "kind": {"type": "string"}},
        "x-kubernetes-group-version-kind": [KIND],
    },
    "io.k8s.api.apps.v1.Container": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "type": {"type": "string"}},
        "x-kubernetes-unions": [{"discriminator": "type", "fields-to-discriminateBy": {"name": "Name"}}],
    },
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
}


def without_all_of(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a field's schema with its reference beside the other members."""
    return {**{key: value for key, value in schema.items() if key != "allOf"}, **schema.get("allOf", [{}])[0]}


def test_written_types_are_read_as_they_were() -> None:
    tables = schemas.make_tables(read_table("# comment\n" + "\n".join(type_lines(TYPES))).values())
    expected = {name: dict(schema) for name, schema in TYPES.items()}
    for schema in expected.values():
        if "properties" in schema:
            schema["properties"] = {name: without_all_of(member) for name, member in schema["properties"].items()}
    assert tables.schemas == expected
    assert tables.kinds == {("apps", "v1", "Sample"): "io.k8s.api.apps.v1.Sample"}


def test_document_has_the_types_it_refers_to_and_theirs() -> None:
    document = schemas.schemas_for(schemas.reference("io.k8s.api.apps.v1.ControllerRevision"), "apps")
    assert set(document) == {
        "io.k8s.api.apps.v1.ControllerRevision",
        "io.k8s.apimachinery.pkg.runtime.RawExtension",
        *(f"{META}.{name}" for name in ("FieldsV1", "ManagedFieldsEntry", "ObjectMeta", "OwnerReference", "Time")),
    }


def test_type_of_every_group_names_the_documents_group() -> None:
    options = schemas.schemas_for(schemas.reference(f"{META}.DeleteOptions"), "apps")[f"{META}.DeleteOptions"]
    groups = [kind["group"] for kind in options["x-kubernetes-group-version-kind"]]
    assert groups == ["", "apps"]


def test_reference_has_the_description_of_its_type_beside_it() -> None:
    field = schemas.described_field(f"{META}.ObjectMeta")
    assert field["allOf"] == [schemas.reference(f"{META}.ObjectMeta")]
    assert "metadata" in field["description"]
