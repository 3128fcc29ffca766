"""Generator checks for CRDs that an API server would reject: one message each, with location and fix."""

from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass
from typing import Annotated, Any, Literal

import pytest

from clientgo.codegen.crd.manifest import crds
from clientgo.codegen.crd.schema import SchemaMaker
from clientgo.codegen.inputs.apichecks import check_api
from clientgo.codegen.inputs.apitypes import OwnKind
from clientgo.codegen.model import Kind
from clientgo.codegen.problems import Problems
from clientgo.meta import Column, Duration, Meta, ObjectMeta, Quantity, Rule, ScaleSubresource, api_type
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
class Growing:
    number: Annotated[int, Meta(rules=(Rule(rule="self >= oldSelf"),))]


@dataclass(frozen=True)
class Nullable:
    name: str | None


@constrained(Meta(exactly_one_of=("some", "other")))
@dataclass(frozen=True)
class Choice:
    some: Any = None
    other: str | None = None


@dataclass(frozen=True)
class Embedded:
    kind: int


@dataclass(frozen=True)
class Status:
    replicas: int = 0


def reported_problems(hint: Any, *metas: Meta, default: Any = ..., **options: Any) -> list[str]:
    """Return the problems of a kind with one field, without file and line."""
    spec = make_dataclass("Spec", [("field", hint) if default is ... else ("field", hint, default)], frozen=True)
    fields = [("metadata", ObjectMeta), ("spec", spec), ("status", Status)]
    cls = make_dataclass("Foo", fields, frozen=True)
    for meta in metas:
        cls = constrained(meta)(cls)
    cls = api_type(**{"group": "g.io", "version": "v1", **options})(cls)
    problems = Problems()
    check_api(cls, problems)
    kind = Kind(api=api_of(cls), class_name="Foo", module="foo", source="foo.py")
    crds([OwnKind(kind, cls)], SchemaMaker(problems), problems)
    return [line.partition(": ")[2].partition(" ")[2] for line in problems]


def rule(text: str, **more: Any) -> Meta:
    return Meta(rules=(Rule(rule=text, **more),))


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        pytest.param(
            tuple[Item, ...],
            "immutable cannot be checked at .spec.field[*].text, because items of .spec.field have no identity: give"
            " .spec.field list_type='map' with list_map_keys=, or put the constraint on the whole list",
            id="immutable in a list",
        ),
        pytest.param(
            tuple[Growing, ...],
            "oldSelf in the rule 'self >= oldSelf' cannot be checked at .spec.field[*].number",
            id="oldSelf in a list",
        ),
        pytest.param(
            Annotated[tuple[Item, ...], BY_NAME],
            "immutable costs more than 100 times what the API server allows at .spec.field[*].text: set max_items or"
            " max_properties of .spec.field and max_length of .spec.field[*].text",
            id="immutable text in a list without end",
        ),
        pytest.param(
            Mapping[str, Short], "set max_items or max_properties of .spec.field", id="immutable in a map without end"
        ),
        pytest.param(
            Annotated[tuple[Short, ...], Meta(list_type="map", list_map_keys=("name",), max_items=999_999)],
            "immutable costs 2.8 times what the API server allows at .spec.field[*].text: lower the limits",
            id="limits too high",
        ),
        pytest.param(Annotated[Any, IMMUTABLE], "rules and immutable need a typed value", id="immutable Any"),
        pytest.param(Choice, "CEL cannot see the field some", id="one of Any"),
        pytest.param(Annotated[tuple[Nullable, ...], BY_NAME], "the key 'name' of a list map cannot be null", id="key"),
        pytest.param(Annotated[tuple[Plain | None, ...], BY_NAME], "items of a list_type='map' cannot be null",
                     id="null item"),
        pytest.param(
            Annotated[tuple[Plain, ...], Meta(list_type="map", list_map_keys=("name", "name"))],
            "duplicate key 'name' of a list map",
            id="repeated key",
        ),
        pytest.param(
            Annotated[tuple[Annotated[tuple[str, ...], Meta(list_type="set")], ...], Meta(list_type="set")],
            "lists in a set must be atomic",
            id="set of sets",
        ),
        pytest.param(
            Annotated[str, Meta(pattern="(?!x)y")], "invalid or unsupported Perl syntax: `(?!`: write RE2", id="pattern"
        ),
        pytest.param(Annotated[str, Meta(schemaless=True)], "a field must have a type", id="no type"),
        pytest.param(Annotated[Any, Meta(type="file")], "invalid type 'file'", id="type"),
        pytest.param(Annotated[Any, Meta(type="array")], "a list must say what its items are", id="items"),
        pytest.param(Annotated[int | str, Meta(preserve_unknown=True)], "exclude each other", id="open int-or-string"),
        pytest.param(Annotated[Mapping[str, str], Meta(embedded_resource=True)], "an embedded resource has fields",
                     id="embedded map"),
        pytest.param(Annotated[Embedded, Meta(embedded_resource=True)], "the kind of an embedded resource must be",
                     id="embedded kind"),
        pytest.param(Annotated[int, Meta(multiple_of=0)], "invalid multiple_of 0", id="multiple of nothing"),
        pytest.param(Annotated[int, rule(" ")], "it is empty", id="empty rule"),
        pytest.param(Annotated[int, rule("self > 1", message="a\nb")], "one line of text", id="message"),
        pytest.param(Annotated[int, rule("self > 1\n&& self < 9")], "must have a message", id="no message"),
        pytest.param(Annotated[int, rule("self > 1", message_expression=" ")], "is blank", id="message expression"),
        pytest.param(Annotated[int, rule("self > 1", reason="Odd")], "invalid reason 'Odd'", id="reason"),
        pytest.param(Annotated[Short, rule("true", field_path=".no")], "'.no' not found", id="field path"),
        pytest.param(
            Annotated[str, rule("self != 'oldSelf'", optional_old_self=True)], "rules that use oldSelf", id="optional"
        ),
    ],
)  # fmt: skip
def test_field_that_an_api_server_would_reject_is_rejected_once(hint: Any, expected: str) -> None:
    [problem] = reported_problems(hint)
    assert expected in problem


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
    ("hint", "default", "fits"),
    [
        pytest.param(Duration, "5m", True, id="duration"),
        pytest.param(Duration, "2 weeks", True, id="duration in words"),
        pytest.param(Duration, "5x", False, id="unit"),
        pytest.param(Duration, "5", False, id="no unit"),
        pytest.param(Annotated[str, Meta(format="date-time")], "2020-01-01", False, id="date for a time"),
        pytest.param(Annotated[str, Meta(format="cidr")], "1.2.3.4", False, id="address for a network"),
        pytest.param(Annotated[str, Meta(format="uuid4")], "123e4567-e89b-12d3-a456-426614174000", False, id="uuid"),
        pytest.param(Annotated[str, Meta(format="of my own")], "x", True, id="unknown format"),
        pytest.param(Quantity, "lots", False, id="quantity"),
    ],
)
def test_default_must_match_the_format(hint: Any, default: str, fits: bool) -> None:
    result = reported_problems(hint, default=default)
    assert len(result) == (not fits)
    assert all(f"invalid default {default!r}: " in problem for problem in result)


@pytest.mark.parametrize(
    ("hint", "path", "expected"),
    [
        pytest.param(str, ".spec.field", "", id="text"),
        pytest.param(Literal["a"], ".spec.field", "", id="enum"),
        pytest.param(Mapping[str, int], ".spec.field.key", "", id="value of a map"),
        pytest.param(tuple[str, ...], ".spec.field", "the field is array", id="list"),
        pytest.param(tuple[str, ...], ".spec.field[0]", "items of lists are not selectable", id="item"),
        pytest.param(Short, ".spec.field", "the field is object", id="object"),
        pytest.param(int | str, ".spec.field", "the field is of no single type", id="int-or-string"),
        pytest.param(str, ".metadata.name", "fields of metadata are not allowed", id="metadata"),
        pytest.param(str, ".spec.nothing", "path not found: .spec.nothing", id="no field"),
    ],
)
def test_selectable_field_must_be_a_scalar(hint: Any, path: str, expected: str) -> None:
    result = reported_problems(hint, selectable_fields=(path,))
    assert len(result) == bool(expected)
    assert all(expected in problem for problem in result)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"selectable_fields": (".spec.field",) * 2}, "it is named twice", id="selectable twice"),
        pytest.param({"columns": (Column("", "string", ".spec.field"),)}, "has no name", id="column's name"),
        pytest.param({"columns": (Column("A", "string", ".spec.field", format="x"),)}, "invalid format 'x'",
                     id="column's format"),
        pytest.param({"scale": ScaleSubresource(".spec.field", ".status.replicas", ".metadata.name")},
                     "expected one that begins with .status. or .spec.", id="selector's path"),
        pytest.param({"list_kind": "Foo"}, "invalid list kind 'Foo'", id="list kind"),
        pytest.param({"group": ".".join(["a" * 60] * 4), "plural": "f" * 20}, "are too long: 264 of", id="too long"),
        pytest.param({"labels": (("a", "b c"),)}, "invalid value 'b c' of the label a", id="label"),
        pytest.param({"annotations": (("a b", "c"),)}, "invalid annotation 'a b'", id="annotation"),
        pytest.param({"group": "a.k8s.io", "annotations": (("api-approved.kubernetes.io", "yes"),)},
                     "invalid api-approved.kubernetes.io 'yes'", id="approval"),
        pytest.param({"deprecated": True, "deprecation_warning": "a\nb"}, "invalid deprecation_warning", id="warning"),
        pytest.param({"conversion": WebhookConversion(url="http://a/b")}, "invalid conversion URL", id="URL"),
        pytest.param({"conversion": WebhookConversion(path="convert")}, "invalid conversion path", id="path"),
        pytest.param({"conversion": WebhookConversion(service_name="")}, "a service_name", id="service"),
        pytest.param(
            {"conversion": WebhookConversion(review_versions=("v2",))}, "invalid review_versions", id="review versions"
        ),
        pytest.param({"conversion": WebhookConversion(ca_bundle="*")}, "is not base64", id="CA"),
    ],
)  # fmt: skip
def test_api_type_option_that_an_api_server_would_reject_is_rejected_once(
    options: dict[str, Any], expected: str
) -> None:
    assert [expected in problem for problem in reported_problems(str, **options)] == [True]


@pytest.mark.parametrize(
    ("meta", "status", "expected"),
    [
        pytest.param(
            Meta(min_properties=1), True, ["minProperties cannot be set for a whole object"], id="with status"
        ),
        pytest.param(Meta(min_properties=1), False, [], id="without status"),
        pytest.param(Meta(nullable=True), False, ["must have the type object, and cannot be null"], id="null"),
        pytest.param(Meta(title="A foo"), True, [], id="title"),
    ],
)
def test_whole_object_has_fewer_constraints(meta: Meta, status: bool, expected: list[str]) -> None:
    result = reported_problems(str, meta, status=status)
    assert len(result) == len(expected)
    assert all(part in problem for part, problem in zip(expected, result, strict=True))


def test_more_than_eight_selectable_fields_are_rejected() -> None:
    result = reported_problems(
        Mapping[str, str], selectable_fields=tuple(f".spec.field.n{number}" for number in range(9))
    )
    assert result == ["9 selectable fields: at most 8 are allowed"]


def test_rules_over_the_total_cost_limit_are_rejected() -> None:
    part = Annotated[tuple[Short, ...], Meta(list_type="map", list_map_keys=("name",), max_items=300_000)]
    many = make_dataclass("Many", [(f"part{number}", part) for number in range(12)], frozen=True)

    assert reported_problems(many) == [
        "the rules cost 1.0 times what the API server allows for a version: limit lists, maps and texts with rules"
        " (max_items, max_properties, max_length)"
    ]


@pytest.mark.parametrize(
    ("hint", "text", "expected"),
    [
        pytest.param(int, "self > 'a'", "found no matching overload for '_>_' applied to '(int, string)'", id="types"),
        pytest.param(str, "self.shout()", "undeclared reference to 'shout'", id="function"),
        pytest.param(Plain, "self.nme == 'a'", "undefined field 'nme'", id="field"),
        pytest.param(str, "self ==", "Syntax error", id="syntax"),
        pytest.param(str, "self", "must evaluate to a bool", id="no boolean"),
        pytest.param(int, "self > 1", "", id="valid"),
    ],
)
def test_rule_that_a_server_rejects_is_reported_at_its_field(hint: Any, text: str, expected: str) -> None:
    result = reported_problems(Annotated[hint, rule(text)])
    assert len(result) == bool(expected)
    assert all(problem.startswith("rule: ") and expected in problem for problem in result), result


def test_rule_that_costs_too_much_is_reported_with_the_limits_to_set() -> None:
    result = reported_problems(Annotated[tuple[str, ...], rule("self.all(x, self.all(y, x == y))")])
    assert any("estimated rule cost exceeds" in problem and "adding maxItems" in problem for problem in result)
