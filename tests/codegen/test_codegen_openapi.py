"""OpenAPI definitions as Python: whole, without loops of references that lead nowhere, and made only when asked for."""

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clientgo.meta.openapi import Definitions, Reference, Schema
from generated.openapi import get_openapi_definitions
from tests.codegen.generating import generate, importable

FOO = "io.k8s.samplecontroller.v1alpha1.Foo"
META = "io.k8s.apimachinery.pkg.apis.meta.v1"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Definitions]:
    folder = tmp_path_factory.mktemp("fleet")
    generate(folder, "fleet", "shelf_v1", "shelf_v1beta1", package="made_openapi")
    with importable(folder, "made_openapi"):
        yield importlib.import_module("made_openapi.openapi").get_openapi_definitions()


def references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].removeprefix("#/components/schemas/")
        for value in schema.values():
            yield from references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from references(value)


@pytest.mark.feature("A-47")
def test_a_kind_refers_to_its_parts_and_to_kubernetes_own() -> None:
    definitions = get_openapi_definitions()
    foo = definitions[FOO]
    assert foo.dependencies == (f"{META}.ObjectMeta", f"{FOO}Spec", f"{FOO}Status")
    assert foo.schema["properties"]["spec"] == {"$ref": f"#/components/schemas/{FOO}Spec"}
    assert foo.schema["x-kubernetes-group-version-kind"] == [
        {"group": "samplecontroller.k8s.io", "kind": "Foo", "version": "v1alpha1"}
    ]
    assert definitions[f"{FOO}Spec"].schema["required"] == ["deploymentName"]
    assert definitions[f"{FOO}List"].dependencies == (f"{META}.ListMeta", FOO)
    assert definitions[f"{META}.ObjectMeta"].schema["properties"]["generation"]["format"] == "int64"


@pytest.mark.feature("D-22")
def test_what_a_reference_looks_like_is_the_callers_choice() -> None:
    definitions = get_openapi_definitions(lambda name: f"#/definitions/{name}")
    assert definitions[FOO].schema["properties"]["spec"] == {"$ref": f"#/definitions/{FOO}Spec"}


@pytest.mark.feature("A-47")
def test_every_reference_is_a_dependency_and_every_dependency_is_defined(fleet: Definitions) -> None:
    for definitions in (fleet, get_openapi_definitions()):
        for name, definition in definitions.items():
            assert sorted({*references(definition.schema)}) == list(definition.dependencies), name
            assert set(definition.dependencies) <= set(definitions), name


def test_the_same_name_in_two_versions_is_two_definitions(fleet: Definitions) -> None:
    assert {"com.example.library.v1.ShelfSpec", "com.example.library.v1beta1.ShelfSpec"} <= set(fleet)


def test_what_a_field_adds_to_its_class_stands_beside_the_reference(fleet: Definitions) -> None:
    engines = fleet["com.example.fleet.v1.ShipSpec"].schema["properties"]["engines"]
    assert engines["items"] == {"$ref": "#/components/schemas/com.example.fleet.v1.Engine"}
    assert engines["x-kubernetes-list-map-keys"] == ["name"]
    status = get_openapi_definitions()[FOO].schema["properties"]["status"]
    assert status == {"$ref": f"#/components/schemas/{FOO}Status"}


def test_a_schema_is_made_once_and_not_before_it_is_asked_for() -> None:
    made: list[str] = []

    def thing(ref: Reference) -> Schema:
        made.append(ref("Thing"))
        return {"type": "object"}

    definitions = Definitions({"Thing": (thing, ())})
    assert (list(definitions), made) == (["Thing"], [])
    assert definitions["Thing"].schema is definitions["Thing"].schema
    assert made == ["#/components/schemas/Thing"]


def test_a_document_holds_every_schema() -> None:
    document = get_openapi_definitions().document("samples", "v1")
    assert document["components"]["schemas"][FOO]["type"] == "object"
    assert json.loads(json.dumps(document)) == document


def test_importing_definitions_costs_milliseconds() -> None:
    code = (
        "import time, clientgo.meta.openapi\nbegan = time.process_time()\n"
        "import generated.openapi\nprint(time.process_time() - began)"
    )
    spent = min(
        float(subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    )
    assert spent < 0.010
