"""Dry run of CRDs on the bundled server: each cause is reported at its class and field, with the fix."""

from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass
from typing import Annotated, Any

import pytest

from clientgo.codegen.crd.manifest import crds
from clientgo.codegen.crd.schema import SchemaMaker
from clientgo.codegen.inputs.apitypes import OwnKind
from clientgo.codegen.problems import Problems
from clientgo.meta import Column, Meta, ObjectMeta, Rule, ScaleSubresource, api_type
from clientgo.meta.constraints import constrained
from clientgo.meta.scheme import WebhookConversion, api_of

IMMUTABLE = Meta(immutable=True)
BY_NAME = Meta(list_type="map", list_map_keys=("name",))
FEW_BY_NAME = Meta(list_type="map", list_map_keys=("name",), max_items=9)


@dataclass(frozen=True)
class Item:
    name: str
    text: Annotated[str, IMMUTABLE]


@dataclass(frozen=True)
class Short:
    name: str
    text: Annotated[str, Meta(max_length=63, immutable=True)]


@dataclass(frozen=True)
class Number:
    name: str
    number: Annotated[int, IMMUTABLE]


@dataclass(frozen=True)
class Plain:
    name: str


@dataclass(frozen=True)
class Nullable:
    name: str | None


@constrained(Meta(exactly_one_of=("some", "other")))
@dataclass(frozen=True)
class Choice:
    some: Any = None
    other: str | None = None


@dataclass(frozen=True)
class Status:
    replicas: int = 0


def own_kind(hint: Any, *metas: Meta, **options: Any) -> OwnKind:
    """Return a kind with one field."""
    spec = make_dataclass("Spec", [("field", hint)], frozen=True)
    fields = [("metadata", ObjectMeta), ("spec", spec), ("status", Status)]
    cls = make_dataclass("Foo", fields, frozen=True)
    for meta in metas:
        cls = constrained(meta)(cls)
    cls = api_type(**{"group": "g.io", "version": "v1", **options})(cls)
    return OwnKind(api=api_of(cls), class_name="Foo", module="foo", source="foo.py", cls=cls)


def reported_problems(hint: Any, *metas: Meta, **options: Any) -> list[str]:
    """Return the problems of a kind with one field, without file and line."""
    problems = Problems()
    crds([own_kind(hint, *metas, **options)], SchemaMaker(problems), problems)
    return [line.partition(": ")[2] if ".py:" in line else line.partition(" ")[2] for line in problems]


def rule(text: str, **more: Any) -> Meta:
    return Meta(rules=(Rule(rule=text, **more),))


@pytest.mark.parametrize(
    ("hint", "position", "expected"),
    [
        pytest.param(
            tuple[Number, ...],
            "Number.number",
            'rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema'
            " within .spec.field: give the list list_type='map' with list_map_keys=, or constrain the whole list",
            id="immutable in a list",
        ),
        pytest.param(
            Annotated[tuple[Item, ...], BY_NAME],
            "Item.text",
            "rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x: set max_items of"
            " .spec.field and max_length of .spec.field[*].text",
            id="cost without limits",
        ),
        pytest.param(
            Annotated[tuple[Short, ...], Meta(list_type="map", list_map_keys=("name",), max_items=999_999)],
            "Short.text",
            "rule: Forbidden: estimated rule cost exceeds budget by factor of 2.8x: set or lower max_items,"
            " max_properties and max_length of the lists, maps and texts in the rule and around it",
            id="limits too high",
        ),
        pytest.param(
            Annotated[tuple[str, ...], rule("true", message_expression="self.map(x, self.map(y, x + y)[0])[0]")],
            "Spec.field",
            "message_expression: Forbidden: estimated messageExpression cost exceeds budget by factor of more than"
            " 100x: set max_items of .spec.field",
            id="cost of a message",
        ),
        pytest.param(
            Annotated[Any, IMMUTABLE],
            "Spec.field",
            "Internal error: internal error: failed to construct type information for x-kubernetes-validations rules:"
            " unable to convert structural schema to CEL declarations: write a type, or Mapping[str, Any]: rules and"
            " immutable do not see Any",
            id="immutable Any",
        ),
        pytest.param(
            Choice,
            "Spec.field",
            'rule: Invalid value: "(has(self.some) ? 1 : 0) + (has(self.other) ? 1 : 0) == 1": compilation failed:'
            " ERROR: <input>:1:5: undefined field 'some': rules see fields with an ASCII name and a type, not Any",
            id="one of Any",
        ),
        pytest.param(
            Annotated[tuple[Nullable, ...], BY_NAME],
            "Nullable.name",
            "nullable: Forbidden: this property is in list_map_keys, so it cannot be nullable: remove | None",
            id="key that can be null",
        ),
        pytest.param(
            Annotated[tuple[Plain, ...], Meta(list_type="set")],
            "Spec.field",
            'map_type: Invalid value: null: must be atomic as item of a list with list_type=set: use scalar items, or'
            " list_type='map' with list_map_keys=, or list_type='atomic'",
            id="set of objects",
        ),
        pytest.param(Annotated[tuple[Plain, ...], Meta(list_type="map", list_map_keys=("nam",))], "Spec.field",
                     'list_map_keys: Invalid value: ["nam"]: entries must all be names of item properties',
                     id="unknown key"),
        pytest.param(
            Annotated[str, Meta(pattern="(?!x)y")],
            "Spec.field",
            'pattern: Invalid value: "(?!x)y": must be a valid regular expression, but isn\'t: error parsing regexp:'
            " invalid or unsupported Perl syntax: `(?!`: write RE2 syntax, or a CEL rule (rules=)",
            id="pattern",
        ),
        pytest.param(
            Annotated[str, Meta(schemaless=True)],
            "Spec.field",
            "type: Required value: must not be empty for specified object fields: give Meta(type=...), or"
            " Meta(preserve_unknown=True)",
            id="no type",
        ),
        pytest.param(Annotated[Any, Meta(type="array")], "Spec.field",
                     "items: Required value: must be specified: write tuple[X, ...]", id="no items"),
        pytest.param(Annotated[Any, Meta(embedded_resource=True)], "Spec.field",
                     "type: Required value: must be object if embedded_resource is true: write Mapping[str, Any]",
                     id="embedded Any"),
        pytest.param(
            Annotated[tuple[str, ...], Meta(unique_items=True)],
            "Spec.field",
            "unique_items: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic:"
            " use list_type='set'",
            id="unique items",
        ),
        pytest.param(
            Annotated[Plain, rule("true", field_path=".no")],
            "Spec.field",
            'field_path: Invalid value: ".no": must be a valid path: write the path of a field, such as .spec.replicas',
            id="path of a field",
        ),
        pytest.param(Annotated[Plain, Meta(default={"name": "x", "size": 1})], "Spec.field",
                     'default: Invalid value: {"name":"x","size":1}: must not have unknown fields: '
                     'give the field a default that its schema admits, or none', id="default"),
        pytest.param(Annotated[int, Meta(multiple_of=0)], "Spec.field",
                     "invalid multiple_of 0: expected a number above 0",
                     id="no cause of a server: multiple of nothing"),
    ],
)  # fmt: skip
@pytest.mark.feature("D-72")
def test_cause_is_reported_once_at_its_field_with_the_fix(hint: Any, position: str, expected: str) -> None:
    assert reported_problems(hint) == [f"{position}: {expected}"]


@pytest.mark.parametrize(
    ("hint", "text", "expected"),
    [
        pytest.param(int, "self > 'a'", "found no matching overload for '_>_' applied to '(int, string)'", id="types"),
        pytest.param(str, "self.shout()", "undeclared reference to 'shout' (in container '')", id="function"),
        pytest.param(Plain, "self.nme == 'a'", "undefined field 'nme'", id="field"),
        pytest.param(int, "self > 1", "", id="valid"),
    ],
)
def test_rule_that_a_server_rejects_is_reported_at_its_field(hint: Any, text: str, expected: str) -> None:
    result = reported_problems(Annotated[hint, rule(text)])
    assert len(result) == bool(expected)
    assert all(problem.startswith(f'Spec.field: rule: Invalid value: "{text}": ') for problem in result)
    assert all(expected in problem for problem in result)


@pytest.mark.parametrize(
    "hint",
    [
        pytest.param(Annotated[tuple[Plain, ...], IMMUTABLE], id="whole list"),
        pytest.param(Annotated[tuple[Short, ...], FEW_BY_NAME], id="limited list map"),
        pytest.param(Annotated[Mapping[str, Short], Meta(max_properties=99)], id="limited map"),
        pytest.param(Annotated[tuple[Number, ...], BY_NAME], id="number in a list map without end"),
        pytest.param(Annotated[str, IMMUTABLE], id="text without end"),
        pytest.param(Annotated[Mapping[str, Any], IMMUTABLE], id="open object"),
        pytest.param(tuple[Annotated[str, rule("self != 'oldSelf'")], ...], id="oldSelf in a text"),
        pytest.param(Annotated[str, Meta(pattern=r"^\pL+\z")], id="pattern that Python can't read"),
        pytest.param(Annotated[str, Meta(preserve_unknown=False)], id="preserve_unknown that is off"),
    ],
)
def test_field_that_an_api_server_accepts_is_accepted(hint: Any) -> None:
    assert reported_problems(hint) == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"columns": (Column("N", "text", ".spec.field"),)}, 'columns[0].type: Invalid value: "text": must',
                     id="column"),
        pytest.param({"scale": ScaleSubresource(".spec.field", ".status.replicas", ".metadata.name")},
                     'scale.selector_path: Invalid value: ".metadata.name": should be a json path under', id="scale"),
        pytest.param({"selectable_fields": (".spec.no",)}, 'selectable_fields[0].json_path: Invalid value: ".spec.no"',
                     id="selectable field"),
        pytest.param({"labels": (("a", "b c"),)}, 'labels: Invalid value: "b c": a valid label', id="label"),
        pytest.param({"deprecation_warning": "x"}, 'deprecation_warning: Invalid value: "x": can only be set for',
                     id="deprecation"),
        pytest.param({"conversion": WebhookConversion(url="http://a/b")}, "conversion.url: Invalid value: ", id="URL"),
        pytest.param({"conversion": WebhookConversion(service_name="")}, ": give service_name= and service_namespace=",
                     id="service"),
        pytest.param({"conversion": WebhookConversion(review_versions=("v2",))}, "conversion.review_versions: Invalid",
                     id="review versions"),
        pytest.param({"conversion": WebhookConversion(ca_bundle="*")}, ": give the ca_bundle of the conversion in",
                     id="CA"),
        pytest.param({"group": "a.k8s.io"}, 'or annotations=(("api-approved.kubernetes.io", "unapproved', id="group"),
    ],
)  # fmt: skip
def test_option_that_a_server_rejects_is_reported_at_the_class(options: dict[str, Any], expected: str) -> None:
    [problem] = reported_problems(str, **options)
    assert problem.startswith("Foo: ")
    assert expected in problem


def test_constraint_that_a_whole_object_cannot_have_is_reported_at_the_class() -> None:
    [problem] = reported_problems(str, Meta(min_properties=1))
    assert problem.startswith('Foo: Invalid value: "...": only [Description Type ')
    assert problem.endswith(": constrain a field instead")
    assert reported_problems(str, Meta(min_properties=1), status=False) == []


def test_rules_over_the_total_cost_limit_are_reported_at_the_class_and_the_expensive_rules() -> None:
    part = Annotated[tuple[Short, ...], Meta(list_type="map", list_map_keys=("name",), max_items=300_000)]
    many = make_dataclass("Many", [(f"part{number}", part) for number in range(12)], frozen=True)

    total, contribution = reported_problems(many)
    assert total.startswith("Foo: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3")
    assert contribution.startswith("Short.text: rule: Forbidden: contributed to estimated rule cost total")


def test_error_in_one_of_two_versions_is_reported_at_its_class() -> None:
    problems = Problems()
    kinds = [own_kind(int, version="v2"), own_kind(Annotated[str, Meta(pattern="(")], version="v1", storage=False)]
    crds(kinds, SchemaMaker(problems), problems)
    assert [line.rpartition("regexp: ")[2] for line in problems] == [
        "missing closing ): `(`: write RE2 syntax, or a CEL rule (rules=)"
    ]
