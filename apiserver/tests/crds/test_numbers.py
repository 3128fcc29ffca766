"""Numbers of custom objects: their text, their equality, and their limits in messages."""

from typing import Any

import pytest

from apiserver.tests.inprocess import APPLY, MERGE, Kube
from apiserver.tests.test_public_manifests import BAR, BARS, bars

Object = dict[str, Any]
OPEN: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def spec_text(kube: Kube, number: str) -> bytes:
    """Return the text of a number after it was stored."""
    start = b'{"apiVersion":"example.com/v1alpha1","kind":"Bar","metadata":{"name":"a"},"spec":{"x":'
    created = kube.send("POST", BARS, start + number.encode() + b"}}")
    read = kube.send("GET", f"{BARS}/a")
    texts = {response.body.partition(b'"x":')[2].partition(b"}")[0] for response in (created, read)}
    (text,) = texts
    return text


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("1.0", b"1"),
        ("1E5", b"100000"),
        ("0.5", b"0.5"),
        ("9223372036854775807", b"9223372036854775807"),
        ("1e20", b"100000000000000000000"),
        ("100000000000000000000", b"100000000000000000000"),
        ("-1.5e20", b"-150000000000000000000"),
        ("9223372036854775809", b"9223372036854776000"),
        ("-9223372036854775809", b"-9223372036854776000"),
        ("18446744073709551615", b"18446744073709552000"),
        ("123456789012345678901", b"123456789012345680000"),
        ("1e21", b"1e21"),
    ],
)
def test_number_is_written_without_an_exponent_up_to_21_digits(sent: str, stored: bytes) -> None:
    assert spec_text(bars(OPEN), sent) == stored


def test_whole_number_of_yaml_that_exceeds_64_bits_is_a_float() -> None:
    kube = bars(OPEN)
    body = b"apiVersion: example.com/v1alpha1\nkind: Bar\nmetadata: {name: a}\nspec: {x: 18446744073709551617}\n"
    assert b'"x":18446744073709552000}' in kube.send("POST", BARS, body, "application/yaml").body
    applied = kube.send("PATCH", f"{BARS}/b?fieldManager=m", body.replace(b"name: a", b"name: b"), APPLY)
    assert b'"x":18446744073709552000}' in applied.body


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_float_that_is_stored_as_an_integer_raises_the_generation_each_time(method: str) -> None:
    kube = bars(OPEN)
    obj = kube.ok("POST", BARS, {**BAR, "spec": {"x": 1.0, "y": [{"z": 2.0}]}})
    for generation in (2, 3):
        body = {**obj, "spec": {"x": 1, "y": [{"z": 2.0}]}} if method == "PUT" else {"spec": {"x": 1.0}}
        obj = kube.ok(method, f"{BARS}/a", body, "application/json" if method == "PUT" else MERGE)
        assert (obj["spec"], obj["metadata"]["generation"]) == ({"x": 1, "y": [{"z": 2}]}, generation)
    same = kube.ok("PUT", f"{BARS}/a", obj)
    assert same["metadata"] == obj["metadata"]


@pytest.mark.parametrize("number", [10**19, 1e20, 0.5, 2**64 - 1, 1e22])
def test_other_numbers_that_are_applied_again_change_nothing(number: float) -> None:
    kube = bars(OPEN)
    config = {**BAR, "spec": {"x": number}}
    first = kube.ok("PATCH", f"{BARS}/a?fieldManager=me", config, APPLY)
    again = kube.ok("PATCH", f"{BARS}/a?fieldManager=me", config, APPLY)
    assert again["metadata"] == first["metadata"]


@pytest.mark.parametrize(
    ("value", "limit"), [(2_000_000, "1000000"), (2_000_000.5, "1e+06"), (5_294_967_296.5, "1e+06")]
)
def test_limit_has_the_form_of_the_value(value: float, limit: str) -> None:
    kube = bars({"type": "object", "properties": {"x": {"type": "number", "maximum": 1_000_000}}})
    message = kube.refused(422, "POST", BARS, {**BAR, "spec": {"x": value}})["message"]
    assert message.endswith(f"should be less than or equal to {limit}")


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "integer"}, "invalid data, expected int, got float64 evaluating rule: self.x == self.x"),
        (
            {"x-kubernetes-int-or-string": True},
            "invalid data, expected XIntOrString value to be either a string or int",
        ),
    ],
)
def test_whole_float_is_no_integer_of_a_rule(schema: Object, reason: str) -> None:
    rules = [{"rule": "self.x == self.x"}]
    kube = bars({"type": "object", "properties": {"x": schema}, "x-kubernetes-validations": rules})
    status = kube.refused(422, "POST", BARS, {**BAR, "spec": {"x": 2.0}})
    assert reason in status["message"]
    kube.ok("POST", BARS, {**BAR, "spec": {"x": 2}})


@pytest.mark.parametrize(
    ("limits", "value", "reason"),
    [
        ({"type": "string", "maxLength": -1, "minLength": -1}, "", "spec.x: Too long: value is too long"),
        (
            {"type": "array", "items": {"type": "string"}, "maxItems": -1},
            ["a"],
            "spec.x: Too many: 1: has too many items",
        ),
    ],
)
def test_negative_limit_is_one(limits: Object, value: Any, reason: str) -> None:
    kube = bars({"type": "object", "properties": {"x": limits}})
    assert reason in kube.refused(422, "POST", BARS, {**BAR, "spec": {"x": value}})["message"]
    kube.ok("POST", BARS, BAR)
