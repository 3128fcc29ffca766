"""CEL rules of schemas: costs at definition time, types of values, transitions and messages."""

# ruff: noqa: E501

from typing import Any

import pytest

from apiserver.tests.inprocess import Kube
from clientgo_apiserver.crds.celcheck import rule_errors
from clientgo_apiserver.crds.celvalidation import cel_errors

STRING: dict[str, Any] = {"type": "string", "maxLength": 20}


def with_rule(schema: dict[str, Any], rule: str, **more: Any) -> dict[str, Any]:
    return {**schema, "x-kubernetes-validations": [{"rule": rule, **more}]}


def holder(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"f": schema}}


def errors(schema: dict[str, Any]) -> list[str]:
    return [cause.text.partition(" (try")[0] for cause in rule_errors(holder(schema), "s")]


@pytest.mark.parametrize(
    ("schema", "rule"),
    [
        (STRING, "self.matches('^a+$') && self.split('-').size() == 2"),
        ({"type": "array", "maxItems": 10, "items": STRING}, "self.all(x, self.exists(y, x == y))"),
        ({"type": "string", "enum": ["a", "b"]}, "self in ['a', 'b'] && self.contains('a')"),
        ({"x-kubernetes-int-or-string": True}, "type(self) == int ? self > 0 : self.endsWith('%')"),
        ({"type": "object", "properties": {"a": {"type": "object"}}}, "has(self.a) && self.a == oldSelf.a"),
    ],
)
def test_rule_within_the_budget_is_valid(schema: dict[str, Any], rule: str) -> None:
    assert errors(with_rule(schema, rule)) == []


@pytest.mark.parametrize(
    ("schema", "rule", "factor"),
    [
        ({"type": "string"}, "self.contains(self)", "more than 100x"),
        ({"type": "array", "items": {"type": "string"}}, "self.all(x, x.contains('abc'))", "more than 100x"),
        ({"type": "array", "items": {"type": "integer"}}, "self.all(x, self.all(y, x != y))", "more than 100x"),
        ({"type": "array", "items": {"type": "integer"}}, "self.all(x, x > 1 && x < 5 && x != 3)", "1.258291x"),
    ],
)
def test_rule_over_the_budget_is_forbidden(schema: dict[str, Any], rule: str, factor: str) -> None:
    location = "s.properties[f].x-kubernetes-validations[0].rule"
    assert (
        errors(with_rule(schema, rule))[0]
        == f"{location}: Forbidden: estimated rule cost exceeds budget by factor of {factor}"
    )


@pytest.mark.parametrize(
    ("rule", "more", "reason"),
    [
        ("self", {}, "cel expression must evaluate to a bool"),
        ("self.x == 1", {}, "type 'string' does not support field selection"),
        ("true", {"messageExpression": "1"}, "messageExpression must evaluate to a string"),
        ("true", {"messageExpression": "nosuch"}, "messageExpression compilation failed: ERROR: <input>:1:1"),
        ("true", {"optionalOldSelf": True}, "may not be set if oldSelf is not used in rule"),
    ],
)
def test_invalid_rule_is_an_error(rule: str, more: dict[str, Any], reason: str) -> None:
    (result,) = errors(with_rule(STRING, rule, **more))
    assert reason in result


def test_old_values_are_unknown_within_atomic_lists() -> None:
    (result,) = errors({"type": "array", "maxItems": 3, "items": with_rule(STRING, "self == oldSelf")})
    assert result.endswith("oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[f]")


@pytest.mark.parametrize(
    ("schema", "rule", "good", "bad"),
    [
        ({"type": "string", "format": "date-time"}, "self > timestamp('2024-01-01T00:00:00Z')", "2024-06-01T00:00:00Z", "2020-01-01T00:00:00Z"),
        ({"type": "string", "format": "date"}, "self.getFullYear() == 2024", "2024-06-01", "2020-01-01"),
        ({"type": "string", "format": "duration"}, "self < duration('2h')", "1h", "3h"),
        ({"type": "string", "format": "byte"}, "self == b'hi'", "aGk=", "YQ=="),
        ({"type": "number"}, "self / 2.0 == 1.5", 3, 4),
        ({"type": "array", "x-kubernetes-list-type": "set", "items": STRING}, "self == ['a', 'b']", ["b", "a"], ["b"]),
        ({"type": "object", "properties": {"a-b": STRING, "if": STRING}}, "self.a__dash__b == self.__if__", {"a-b": "x", "if": "x"}, {"a-b": "x", "if": "y"}),
        ({"type": "object", "properties": {"namespace": STRING}}, "self.namespace == 'a'", {"namespace": "a"}, {"namespace": "b"}),
        ({"type": "object", "properties": {"a": {**STRING, "nullable": True}}}, "!has(self.a)", {"a": None}, {"a": "x"}),
        ({"type": "object", "x-kubernetes-embedded-resource": True}, "self.kind == 'Pod'", {"kind": "Pod"}, {"kind": "Job"}),
    ],
)  # fmt: skip
def test_values_have_the_types_of_their_formats(schema: dict[str, Any], rule: str, good: Any, bad: Any) -> None:
    full = holder(with_rule(schema, rule))
    assert cel_errors(full, {"f": good}, None) == []
    assert [cause.field for cause in cel_errors(full, {"f": bad}, None)] == ["f"]


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({}, "f: Invalid value: \"a\": failed rule: self == 'x'"),
        ({"message": "must be x"}, 'f: Invalid value: "a": must be x'),
        ({"messageExpression": "'not ' + self", "message": "unused"}, 'f: Invalid value: "a": not a'),
        ({"messageExpression": "self.substring(9)", "message": "fallback"}, 'f: Invalid value: "a": fallback'),
        ({"reason": "FieldValueForbidden"}, "f: Forbidden: failed rule: self == 'x'"),
        ({"reason": "FieldValueRequired", "message": "m"}, "f: Required value: m"),
        ({"reason": "FieldValueDuplicate"}, 'f: Duplicate value: "a"'),
    ],
)
def test_failure_has_the_reason_and_message_of_the_rule(more: dict[str, Any], text: str) -> None:
    schema = holder(with_rule(STRING, "self == 'x'", **more))
    assert [cause.text for cause in cel_errors(schema, {"f": "a"}, None)] == [text]


def test_failure_is_at_the_field_path() -> None:
    schema = with_rule(holder(STRING), "self.f == 'x'", fieldPath=".f")
    assert [cause.text for cause in cel_errors(holder(schema), {"f": {"f": "a"}}, None)] == [
        "f.f: Invalid value: failed rule: self.f == 'x'"
    ]


def test_transition_rule_applies_to_changes_only() -> None:
    schema = holder(with_rule(STRING, "self == oldSelf"))
    assert cel_errors(schema, {"f": "a"}, None) == cel_errors(schema, {"f": "a"}, {}) == []
    assert cel_errors(schema, {"f": "a"}, {"f": "a"}) == []
    assert len(cel_errors(schema, {"f": "b"}, {"f": "a"})) == 1
    optional = holder(with_rule(STRING, "oldSelf.hasValue() || self == 'first'", optionalOldSelf=True))
    assert cel_errors(optional, {"f": "b"}, {"f": "a"}) == []
    assert len(cel_errors(optional, {"f": "b"}, {})) == 1


def test_failure_of_an_unchanged_value_is_a_warning() -> None:
    schema, warnings = holder(with_rule(STRING, "self == 'x'")), list[str]()
    assert cel_errors(schema, {"f": "a", "g": 2}, {"f": "a", "g": 1}, warnings) == []
    assert warnings == ["f: Invalid value: \"a\": failed rule: self == 'x'"]
    assert len(cel_errors(schema, {"f": "b"}, {"f": "a"}, warnings)) == 1


@pytest.mark.parametrize(
    ("length", "path", "detail"),
    [
        pytest.param(9_000, "l[12]", "validation failed due to running out of cost budget", id="together"),
        pytest.param(11_000, "l[0]", "'operation cancelled: actual cost limit exceeded'", id="alone"),
    ],
)
def test_no_rule_is_evaluated_after_rules_have_cost_too_much(length: int, path: str, detail: str) -> None:
    items = with_rule({"type": "string"}, "self.contains(self)")
    schema = {"type": "object", "properties": {"l": {"type": "array", "items": items}}}
    (cause,) = cel_errors(schema, {"l": ["a" * length] * 20}, None)
    assert (cause.field, "no further validation rules will be run" in cause.text) == (path, True)
    assert cause.message.startswith(f'Invalid value: "string": {detail}')


CONSTANTS = [
    ("int('x') > 0", "type conversion error from 'string' to 'int'"),
    ("uint(-1) > 0u", "unsigned integer overflow"),
    ("string(b'\\xff') == 'a'", "invalid UTF-8 in bytes, cannot convert to string"),
    ("'a'.find('(') == ''", "error parsing regexp: missing closing ): `(`"),
]


@pytest.mark.parametrize(("rule", "reason"), CONSTANTS)
def test_constant_that_cannot_be_converted_is_found_at_once(rule: str, reason: str) -> None:
    [error] = errors(with_rule(STRING, rule))
    assert f"program instantiation failed: {reason}" in error
    [error] = errors(with_rule(STRING, "true", messageExpression=f"string({rule})"))
    assert f"messageExpression instantiation failed: {reason}" in error


@pytest.mark.parametrize(("rule", "reason"), CONSTANTS)
def test_constant_of_a_policy_that_cannot_be_converted_is_found_at_once(kube: Kube, rule: str, reason: str) -> None:
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    spec = {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": rule}]}
    url = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    [cause] = kube.refused(422, "POST", url, {"metadata": {"name": "p"}, "spec": spec})["details"]["causes"]
    assert cause["reason"] == "InternalError"
    assert cause["message"] == f"Internal error: program instantiation failed: {reason}"


def test_number_beyond_a_double_is_no_literal() -> None:
    [error] = errors(with_rule(STRING, "1e400 > 1.0"))
    assert "invalid double literal" in error


def test_negative_zero_has_a_sign() -> None:
    rules = {"x-kubernetes-validations": [{"rule": "false", "messageExpression": "string(-0.0)"}]}
    assert [cause.message for cause in cel_errors(holder({**STRING, **rules}), {"f": "a"}, None)] == [
        'Invalid value: "a": -0'
    ]
