"""Requests that once caused internal errors or took minutes, found by fuzzing."""

import time

import pytest

from apiserver.tests.inprocess import DEPLOYMENTS, FOOS, Kube
from clientgo.meta.quantities import ParsedQuantity
from clientgo_apiserver.http.decode import parse_json
from clientgo_apiserver.storage.selection import one_name


@pytest.mark.parametrize("url", [DEPLOYMENTS, FOOS])
@pytest.mark.parametrize(("field", "value", "kind"), [("apiVersion", {"a": 1}, "object"), ("kind", [1], "array")])
def test_kind_that_is_not_a_string_is_reported_as_by_go(
    kube: Kube, url: str, field: str, value: object, kind: str
) -> None:
    status = kube.refused(400, "POST", url, {"apiVersion": "apps/v1", "kind": "Deployment", field: value})
    assert f"json: cannot unmarshal {kind} into Go struct field .{field} of type string" in status["message"]


def test_other_kind_without_metadata_is_rejected(kube: Kube) -> None:
    body = {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Bar", "metadata": "x"}
    assert "cannot unmarshal string" in kube.refused(400, "POST", FOOS, body)["message"]


def test_number_beyond_float64_is_rejected_and_one_in_a_text_is_not(kube: Kube) -> None:
    def foo(replicas: object) -> dict[str, object]:
        spec = {"deploymentName": "a", "replicas": replicas}
        return {
            "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": {"name": "a"}, "spec": spec,
        }  # fmt: skip

    assert "cannot unmarshal number" in kube.refused(400, "POST", FOOS, foo(10**309))["message"]
    assert "cannot unmarshal" not in kube.refused(422, "POST", FOOS, foo("9" * 400))["message"]


def test_number_beyond_float64_is_rejected_wherever_it_begins() -> None:
    for spaces in range(110):
        with pytest.raises(ValueError, match="cannot unmarshal number"):
            parse_json(b'{"a":' + b" " * spaces + b"1" + b"0" * 309 + b"}")


@pytest.mark.parametrize("name", ["limit", "resourceVersion"])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0" * 5000 + "9" * 20, "value out of range"),
        ("9" * 5000, "value out of range"),
        ("--5", "invalid syntax"),
        ("%C2%B2", "invalid syntax"),
    ],
)
def test_invalid_number_is_rejected(kube: Kube, name: str, text: str, reason: str) -> None:
    assert reason in kube.refused(400, "GET", f"{FOOS}?{name}={text}")["message"]


def test_field_selector_with_a_loose_backslash_is_read_in_no_time(kube: Kube) -> None:
    began = time.process_time()
    assert kube.send("GET", f"{FOOS}?fieldSelector={'a' * 200_000}%5C").status == 400
    assert one_name("metadata.name=a" + "," * 200_000) == "a"
    assert one_name("metadata.name=a" + "," * 200_000 + "\\") == ""
    assert time.process_time() - began < 5


def test_quantity_of_very_many_digits_is_read_in_no_time() -> None:
    began = time.process_time()
    with pytest.raises(ValueError, match="invalid quantity"):
        ParsedQuantity("9" * 200_000 + "x")
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("body", "character"),
    [
        (b"\x81", "\\u0081"),
        (b"\xc3\xa9", "\u00c3"),
        (b"\x01", "\\x01"),
        (b"\\", "\\\\"),
        (b"'", "\\'"),
        (b'{"a":"\n', "\\n"),
    ],
)
def test_characters_of_invalid_json_are_quoted_byte_by_byte_as_by_go(body: bytes, character: str) -> None:
    with pytest.raises(ValueError, match=r"^invalid character ") as caught:
        parse_json(body)
    assert str(caught.value).startswith(f"invalid character '{character}' ")
