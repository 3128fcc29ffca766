"""Generated OpenAPI definitions: complete, with resolvable references, and built lazily."""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
import yaml

from clientgo.codegen.__main__ import main
from clientgo.codegen.problems import Problems
from clientgo.codegen.render.openapi import _PartMaker
from clientgo.kubernetes.types.core_v1 import PodTemplateSpec
from clientgo.meta import Meta, Rule, constrained
from clientgo.meta.schema.openapi import Definitions, Ref
from clientgo.meta.yamlio import to_yaml
from tests.codegen.generating import CREDENTIALS, generate, importable

FOO = "io.k8s.samplecontroller.v1alpha1.Foo"
META = "io.k8s.apimachinery.pkg.apis.meta.v1"
ROOT = Path(__file__).resolve().parents[3]


@constrained(Meta(rules=(Rule(rule="self.a != self.b"),)))
@dataclass(frozen=True, slots=True)
class Piece:
    """Class with a rule."""

    a: str
    b: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """Class with two pieces and an additional rule for the first."""

    first: Annotated[Piece, Meta(rules=(Rule(rule="self.a == 'first'"),))]
    second: Piece


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Definitions]:
    folder = tmp_path_factory.mktemp("fleet")
    generate(folder, "fleet", "shelf_v1", "shelf_v1beta1", package="made_openapi")
    with importable(folder, "made_openapi"):
        yield importlib.import_module("made_openapi.openapi").get_openapi_definitions()


@pytest.fixture(scope="module")
def foo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Definitions]]:
    """Function `get_openapi_definitions` generated for the sample's Foo."""
    folder = tmp_path_factory.mktemp("foo")
    generate(folder, "controller.api.v1alpha1", package="made_foo")
    with importable(folder, "made_foo"):
        yield importlib.import_module("made_foo.openapi").get_openapi_definitions


def references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].removeprefix("#/components/schemas/")
        for value in schema.values():
            yield from references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from references(value)


@pytest.mark.feature("A-47", "D-03")
def test_kind_references_its_fields_and_built_in_types(foo: Callable[..., Definitions]) -> None:
    definitions = foo()
    built = definitions[FOO]
    assert built.dependencies == (f"{META}.ObjectMeta", f"{FOO}Spec", f"{FOO}Status")
    assert built.schema["properties"]["spec"] == {"$ref": f"#/components/schemas/{FOO}Spec"}
    assert built.schema["x-kubernetes-group-version-kind"] == [
        {"group": "samplecontroller.k8s.io", "kind": "Foo", "version": "v1alpha1"}
    ]
    assert definitions[f"{FOO}Spec"].schema["required"] == ["deploymentName"]
    assert definitions[f"{FOO}List"].dependencies == (f"{META}.ListMeta", FOO)
    assert definitions[f"{META}.ObjectMeta"].schema["properties"]["generation"]["format"] == "int64"


@pytest.mark.feature("D-22")
def test_caller_chooses_the_format_of_references(foo: Callable[..., Definitions]) -> None:
    definitions = foo(lambda name: f"#/definitions/{name}")
    assert definitions[FOO].schema["properties"]["spec"] == {"$ref": f"#/definitions/{FOO}Spec"}


@pytest.mark.feature("A-47")
def test_dependencies_are_the_references_and_are_defined(fleet: Definitions, foo: Callable[..., Definitions]) -> None:
    for definitions in (fleet, foo()):
        for name, definition in definitions.items():
            assert sorted({*references(definition.schema)}) == list(definition.dependencies), name
            assert set(definition.dependencies) <= set(definitions), name


def test_same_class_name_in_two_versions_is_two_definitions(fleet: Definitions) -> None:
    assert {"com.example.library.v1.ShelfSpec", "com.example.library.v1beta1.ShelfSpec"} <= set(fleet)


def test_field_constraints_are_kept_beside_the_reference(fleet: Definitions, foo: Callable[..., Definitions]) -> None:
    engines = fleet["com.example.fleet.v1.ShipSpec"].schema["properties"]["engines"]
    assert engines["items"] == {"$ref": "#/components/schemas/com.example.fleet.v1.Engine"}
    assert engines["x-kubernetes-list-map-keys"] == ["name"]
    status = foo()[FOO].schema["properties"]["status"]
    assert status == {"$ref": f"#/components/schemas/{FOO}Status"}


def test_field_constraints_do_not_leak_to_fields_of_the_same_class() -> None:
    problems = Problems()
    properties = _PartMaker(problems).of_class(Pair)["properties"]
    assert [len(properties[name]["x-kubernetes-validations"]) for name in ("first", "second")] == [2, 1]
    assert properties["first"].own == properties["second"].own == dict(properties["second"])
    assert not problems


def test_definition_of_an_embedded_class_is_shared() -> None:
    maker = _PartMaker(Problems())
    first, other = maker.of_class(PodTemplateSpec, (Pair,)), maker.of_class(PodTemplateSpec, (Piece,))
    assert first["properties"] is other["properties"]


@pytest.mark.feature("A-47")
def test_definition_of_a_foreign_kind_keeps_the_crd_schema(tmp_path: Path) -> None:
    options = ("--from-crd", str(CREDENTIALS), "--output-package", "made_foreign", "--root", str(tmp_path))
    assert main([*options, "--input-module", "tests.codegen.kinds.home"]) == 0
    with importable(tmp_path, "made_foreign"):
        definitions = importlib.import_module("made_foreign.openapi").get_openapi_definitions()
    name = "net.example.credentials.v1.Credential"
    crd = yaml.safe_load(CREDENTIALS.read_text())["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    built = definitions[name]
    assert built.dependencies == (f"{META}.ObjectMeta",)
    for part in ("spec", "status"):
        assert built.schema["properties"][part] == crd["properties"][part]
    assert definitions[f"{name}List"].dependencies == (f"{META}.ListMeta", name)
    assert {f"{META}.ObjectMeta", "domain.my.ajd.v1.Home"} <= set(definitions)
    assert (
        json.loads(json.dumps(definitions.document("theirs", "v1")))["components"]["schemas"][name]["type"] == "object"
    )


DEEP = {"default": json.loads("[" * 160 + "]" * 160)}
INVALID_PARTS = [
    pytest.param(DEEP, "it nests more than 150 levels", id="deep"),
    pytest.param({"description": "x" * (3 * 1024 * 1024)}, "it is longer than 3,145,728 characters", id="long"),
]


@pytest.mark.parametrize(("part", "expected"), INVALID_PARTS)
def test_schema_that_is_not_valid_openapi_is_rejected_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], part: dict[str, Any], expected: str
) -> None:
    definition = yaml.safe_load(CREDENTIALS.read_text())
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["more"] = {"type": "string", **part}
    (tmp_path / "crd.yaml").write_text(to_yaml(definition))
    options = ["--from-crd", str(tmp_path / "crd.yaml"), "--output-package", "made", "--root", str(tmp_path / "out")]
    assert main(options) == 2
    error = capsys.readouterr().err
    assert f"Kind=Credential cannot be an OpenAPI definition: {expected}" in error
    assert main([*options, "--generators", "client,lister,informer"]) == 0


def test_schema_is_built_lazily_and_once() -> None:
    built: list[str] = []

    def reference(name: str) -> str:
        built.append(name)
        return name

    definitions = Definitions({"Thing": {"items": {"$ref": Ref("Other")}, "default": {"$ref": "text"}}}, reference)
    assert (list(definitions), built) == (["Thing"], [])
    assert definitions["Thing"].schema is definitions["Thing"].schema
    assert (definitions["Thing"].dependencies, built) == (("Other",), ["Other"])
    assert definitions["Thing"].schema["default"] == {"$ref": "text"}


def test_document_contains_every_schema(foo: Callable[..., Definitions]) -> None:
    document = foo().document("samples", "v1")
    assert document["components"]["schemas"][FOO]["type"] == "object"
    assert json.loads(json.dumps(document)) == document


@pytest.mark.e2e
def test_importing_definitions_loads_no_other_module(tmp_path: Path) -> None:
    generate(tmp_path, "controller.api.v1alpha1")
    code = (
        "import sys, clientgo.meta.schema.openapi\nbefore = set(sys.modules)\n"
        "import made.openapi\nprint(*sorted(set(sys.modules) - before))"
    )
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(tmp_path)))}
    done = subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True, timeout=60
    )
    loaded = done.stdout.split()
    assert "made.openapi" in loaded
    assert [name for name in loaded if name.partition(".")[0] != "made"] == []
