"""Parameters of `Meta`, `constrained` and `@api_type`, and the CRD keywords they render."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass
from typing import Annotated, Any

import msgspec
import pytest

from clientgo.codegen.crd.manifest import crds
from clientgo.codegen.crd.schema import SchemaMaker
from clientgo.codegen.inputs.apitypes import read_modules
from clientgo.codegen.problems import Problems, place_of
from clientgo.meta import Duration, ExternalDocs, Int32, Meta, ObjectMeta, Quantity, Rule, constrained
from clientgo.meta.constraints import cel_name
from tests.codegen.generating import problems_of, schema_of


@dataclass(frozen=True)
class Engine:
    name: str
    power: Int32 = 1
    options: tuple[str, ...] = ()
    label: str | None = None


ANY_MAP = Mapping[str, Any]
ENGINES = tuple[Engine, ...]
IMMUTABLE_RULE = {"rule": "self == oldSelf", "message": "the field is immutable once set"}


@pytest.mark.parametrize(
    ("meta", "hint", "expected"),
    [
        pytest.param(Meta(ge=1, le=10), int, {"minimum": 1, "maximum": 10}, id="D-70 bounds"),
        pytest.param(Meta(gt=0, lt=5), int,
                     {"minimum": 0, "exclusiveMinimum": True, "maximum": 5, "exclusiveMaximum": True},
                     id="D-70 exclusive bounds"),
        pytest.param(Meta(multiple_of=5), int, {"multipleOf": 5}, id="D-70 multiple"),
        pytest.param(Meta(min_length=1, max_length=3, pattern="^a"), str,
                     {"minLength": 1, "maxLength": 3, "pattern": "^a"}, id="D-71 strings"),
        pytest.param(Meta(min_items=1, max_items=2), tuple[str, ...], {"minItems": 1, "maxItems": 2}, id="D-72 arrays"),
        pytest.param(Meta(min_properties=1, max_properties=2), Mapping[str, str],
                     {"minProperties": 1, "maxProperties": 2}, id="D-73"),
        pytest.param(Meta(format="ipv4"), str, {"format": "ipv4"}, id="D-74 format"),
        pytest.param(Meta(enum=(1, 2)), int, {"type": "integer", "enum": [1, 2]}, id="D-74 enum"),
        pytest.param(Meta(enum=("x", "y")), str, {"enum": ["x", "y"]}, id="D-74 enum of texts"),
        pytest.param(Meta(description="Why.", example="x"), str, {"description": "Why.", "example": "x"}, id="notes"),
        pytest.param(Meta(type="string"), Any, {"type": "string"}, id="D-74 type"),
        pytest.param(
            Meta(preserve_unknown=True), Engine, {"x-kubernetes-preserve-unknown-fields": True}, id="D-75 unknown"
        ),
        pytest.param(
            Meta(embedded_resource=True),
            ANY_MAP,
            {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
            id="D-75 embedded",
        ),
        pytest.param(
            Meta(int_or_string=True), int | str, {"x-kubernetes-int-or-string": True}, id="D-75 int or string"
        ),
        pytest.param(
            Meta(rules=(Rule(rule="a"), Rule(rule="b", message="m", reason="FieldValueForbidden", field_path=".x"))),
            str,
            {
                "x-kubernetes-validations": [
                    {"rule": "a"},
                    {"rule": "b", "message": "m", "reason": "FieldValueForbidden", "fieldPath": ".x"},
                ]
            },
            id="D-76 in order",
        ),
        pytest.param(
            Meta(rules=(Rule(rule="a", message_expression="'x'", optional_old_self=False),)),
            str,
            {"x-kubernetes-validations": [{"rule": "a", "messageExpression": "'x'", "optionalOldSelf": False}]},
            id="D-76 the rest",
        ),
        pytest.param(Meta(nullable=True), str, {"nullable": True}, id="D-78"),
        pytest.param(Meta(default={"name": "x"}), Engine, {"default": {"name": "x"}}, id="D-79"),
        pytest.param(Meta(title="T", example=[1]), Any, {"title": "T", "example": [1]}, id="D-80"),
        pytest.param(Meta(external_docs=ExternalDocs("https://example.com", "More.")), str,
                     {"externalDocs": {"url": "https://example.com", "description": "More."}}, id="D-60"),
        pytest.param(Meta(immutable=True), str, {"x-kubernetes-validations": [IMMUTABLE_RULE]}, id="D-84"),
        pytest.param(Meta(list_type="set"), tuple[str, ...], {"x-kubernetes-list-type": "set"}, id="D-85 set"),
        pytest.param(Meta(list_type="atomic"), ENGINES, {"x-kubernetes-list-type": "atomic"}, id="D-85 atomic"),
        pytest.param(Meta(list_type="map", list_map_keys=("name", "power")), ENGINES,
                     {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "power"]},
                     id="D-85 map"),
        pytest.param(Meta(map_type="granular"), ANY_MAP, {"x-kubernetes-map-type": "granular"}, id="D-85 map type"),
        pytest.param(Meta(map_type="atomic"), Engine, {"x-kubernetes-map-type": "atomic"}, id="D-85 struct type"),
    ],
)  # fmt: skip
@pytest.mark.feature("A-51", "D-60", "D-70", "D-71", "D-72", "D-73", "D-74", "D-75", "D-76", "D-78", "D-79", "D-80")
@pytest.mark.feature("D-84", "D-85")
def test_meta_parameter_is_rendered_in_the_schema(meta: Meta, hint: Any, expected: dict[str, Any]) -> None:
    schema = schema_of(Annotated[hint, meta])
    assert {key: schema.get(key) for key in expected} == expected


@pytest.mark.feature("D-81")
def test_schemaless_field_has_only_explicit_keywords() -> None:
    assert schema_of(Annotated[Engine, Meta(schemaless=True, preserve_unknown=True)]) == {
        "x-kubernetes-preserve-unknown-fields": True
    }


def test_quantity_and_duration_have_the_kubernetes_schemas() -> None:
    amount = schema_of(Quantity)
    assert amount["anyOf"] == [{"type": "integer"}, {"type": "string"}]
    assert amount["x-kubernetes-int-or-string"] is True
    assert "pattern" in amount
    assert schema_of(Duration) == {"type": "string", "format": "duration"}


@pytest.mark.feature("D-77", "D-79")
def test_required_is_explicit_and_compound_defaults_are_rendered() -> None:
    built = make_dataclass(
        "Holder",
        [
            ("b", Annotated[str, Meta(required=False)]),
            ("a", Annotated[str, Meta(required=True)], "x"),
            ("c", tuple[str, ...], ("x", "y")),
            ("d", Engine, Engine("e", 2)),
        ],
        frozen=True,
    )
    schema = SchemaMaker(Problems()).of_class(built)
    assert schema["required"] == ["a"]
    defaults = {name: part["default"] for name, part in schema["properties"].items() if "default" in part}
    assert defaults == {"a": "x", "c": ["x", "y"], "d": {"name": "e", "power": 2}}


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        pytest.param(Annotated[str, Meta(list_type="set")], "list_type is for array fields", id="no list"),
        pytest.param(Annotated[str, Meta(map_type="atomic")], "map_type is for object fields", id="no map"),
    ],
)
def test_constraint_of_another_type_is_reported(hint: Any, expected: str) -> None:
    assert expected in problems_of(hint)


@constrained(Meta(exactly_one_of=("first_one", "second"), rules=(Rule(rule="true"),)))
@dataclass(frozen=True)
class Choice:
    first_one: str | None = None
    second: str | None = None
    third: Annotated[str | None, Meta(immutable=True)] = None


@pytest.mark.feature("D-82", "D-84")
@pytest.mark.parametrize("note", [Rule(rule="self > 1"), ExternalDocs("https://example.com"), msgspec.Meta(ge=1)])
def test_constraint_outside_of_meta_is_reported_with_the_remedy(note: Any) -> None:
    assert f"{type(note).__name__} is not read there: write " in problems_of(Annotated[int, note])


def test_class_rules_are_rendered_at_the_class() -> None:
    schema = SchemaMaker(Problems()).of_class(Choice)
    assert schema["x-kubernetes-validations"] == [
        {"rule": "true"},
        {
            "rule": "(has(self.firstOne) ? 1 : 0) + (has(self.second) ? 1 : 0) == 1",
            "message": "exactly one of the fields firstOne, second must be set",
        },
        {
            "rule": "!has(oldSelf.third) || has(self.third)",
            "message": "field third is immutable once set: it may not be unset",
        },
    ]
    assert schema["properties"]["third"]["x-kubernetes-validations"] == [IMMUTABLE_RULE]


@constrained(Meta(at_least_one_of=("a", "absent")))
@dataclass(frozen=True)
class Wrong:
    a: str | None = None


@pytest.mark.feature("D-82")
def test_one_of_rule_with_an_unknown_field_is_reported_with_its_line() -> None:
    problems = Problems()
    SchemaMaker(problems).of_class(Wrong)
    (line,) = problems
    assert "test_codegen_constraints.py:" in line
    assert line.endswith("Wrong has no field 'absent': expected one of a")


@pytest.mark.parametrize(
    ("name", "escaped"), [("size", "size"), ("in", "__in__"), ("a-b", "a__dash__b"), ("a__b", "a__underscores__b")]
)
def test_field_names_are_escaped_as_in_cel(name: str, escaped: str) -> None:
    assert cel_name(name) == escaped


def definition(module: str, **options: Any) -> Any:
    problems = Problems()
    kinds = read_modules([f"tests.codegen.kinds.{name}" for name in module.split()], problems)
    built = crds(kinds, SchemaMaker(problems, **options), problems)
    assert list(problems) == []
    ((manifest,), _) = next(iter(built.values()))
    return manifest


@pytest.mark.feature("D-55", "D-57", "D-58", "D-59")
def test_crd_with_two_versions_stores_one_and_has_a_conversion_webhook() -> None:
    built = definition("shelf_v1beta1 shelf_v1")
    assert built["metadata"] == {
        "name": "shelves.library.example.com",
        "annotations": {"clientgo.dev/minimum-kubernetes-version": "1.31", "example.com/owner": "stacks"},
        "labels": {"team": "stacks"},
    }
    assert built["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {
                "service": {
                    "namespace": "system", "name": "webhook-service", "path": "/convert-shelves", "port": 443,
                }
            },
            "conversionReviewVersions": ["v1"],
        },
    }  # fmt: skip
    new, old = built["spec"]["versions"]
    assert (new["storage"], old["storage"], old["deprecated"]) == (True, False, True)
    assert old["deprecationWarning"] == "library.example.com/v1beta1 Shelf is going away: use v1"
    assert new["selectableFields"] == [{"jsonPath": ".spec.topic"}]
    assert built["spec"]["names"]["categories"] == ["all", "library"]


@pytest.mark.feature("D-86")
def test_field_docstring_is_the_description_and_max_description_truncates_it() -> None:
    def owner(**options: Any) -> Any:
        versions = definition("fleet", **options)["spec"]["versions"]
        return versions[0]["schema"]["openAPIV3Schema"].get("description")

    assert owner() == "Harbour with berths for ships."
    assert owner(max_description=18) == "Harbour with berth"
    assert owner(max_description=0) is None
    cidr = definition("ippool")["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert cidr["properties"]["cidr"]["description"] == "Addresses of the pool, such as 10.0.0.0/8."


@dataclass(frozen=True, slots=True)
class Labelled:
    label: str
    """Text on the label."""
    size: int
    """Size in millimetres."""


@dataclass(frozen=True, slots=True)
class Parcel(Labelled):
    size: int
    """Longest side in millimetres."""
    weight: int
    """Weight in grams."""


@dataclass(frozen=True, slots=True)
class Letter(Parcel):
    weight: int


def test_docstrings_of_inherited_fields_are_descriptions() -> None:
    properties = SchemaMaker(Problems()).of_class(Letter)["properties"]
    assert {name: schema["description"] for name, schema in properties.items()} == {
        "label": "Text on the label.",
        "size": "Longest side in millimetres.",
        "weight": "Weight in grams.",
    }


def test_error_about_an_inherited_field_has_its_line() -> None:
    source, number = inspect.getsourcelines(Labelled)
    assert place_of(Letter, "label")[1] == number + source.index("    label: str\n")


def test_embedded_metadata_schema_is_optional() -> None:
    built = make_dataclass("Holder", [("template", ObjectMeta)], frozen=True)
    schema = SchemaMaker(Problems(), embedded_meta=True).of_class(built)["properties"]["template"]
    assert sorted(schema["properties"]) == ["annotations", "finalizers", "labels", "name", "namespace"]
