"""Validation of objects in the process."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import pytest

from clientgo.errors import Invalid, StatusCause
from clientgo.kubernetes.types.core_v1 import Container, Pod, PodSpec
from clientgo.meta import (
    EMPTY_MAP,
    LABEL_VALUE,
    Int32,
    Meta,
    ObjectMeta,
    ObjectName,
    Rule,
    api_type,
    is_label_value,
    replace,
)
from clientgo.testing.client import FakeClient
from clientgo.testing.validation import validate


@dataclass(frozen=True, slots=True)
class RangeSpec:
    low: Annotated[Int32, Meta(ge=0)] = 0
    high: Annotated[Int32, Meta(rules=(Rule(rule="self >= oldSelf", message="must not shrink"),))] = 0


@dataclass(frozen=True, slots=True)
class RangeStatus:
    size: Annotated[Int32, Meta(ge=0)] = 0


@api_type(group="example.com", version="v1")
@dataclass(frozen=True, slots=True)
class Range:
    metadata: ObjectMeta
    spec: Annotated[RangeSpec, Meta(rules=(Rule(rule="self.low <= self.high", message="low is above high"),))] = (
        RangeSpec()
    )
    status: RangeStatus = RangeStatus()


META = ObjectMeta(name="a", namespace="ns")
VALID = Range(META, RangeSpec(1, 2), RangeStatus(1))


def cause(field: str, message: str) -> StatusCause:
    return StatusCause("FieldValueInvalid", message, field)


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param(VALID, [], id="valid"),
        pytest.param(
            replace(VALID, spec=RangeSpec(3, 2)), [cause("spec", "Invalid value: low is above high")], id="rule"
        ),
        pytest.param(
            replace(VALID, spec=RangeSpec(-1, 2)),
            [cause("spec.low", "Invalid value: -1: spec.low in body should be greater than or equal to 0")],
            id="schema",
        ),
        pytest.param(
            replace(VALID, status=RangeStatus(-1)),
            [cause("status.size", "Invalid value: -1: size in body should be greater than or equal to 0")],
            id="status",
        ),
    ],
)
def test_causes_are_those_of_the_server(obj: Range, expected: list[StatusCause]) -> None:
    assert validate(obj) == expected


def test_rules_of_transitions_compare_with_the_old_object() -> None:
    assert validate(replace(VALID, spec=RangeSpec(1, 1)), VALID) == [
        cause("spec.high", "Invalid value: 1: must not shrink")
    ]
    assert validate(replace(VALID, spec=RangeSpec(1, 3)), VALID) == []


def test_invalid_values_that_did_not_change_are_accepted() -> None:
    old = replace(VALID, spec=RangeSpec(-1, 2))
    assert validate(replace(old, spec=RangeSpec(-1, 3)), old) == []


def test_objects_read_from_a_server_are_validated() -> None:
    stored = FakeClient(VALID).get(Range, ObjectName("ns", "a"))
    assert validate(stored) == validate(replace(stored, spec=RangeSpec(1, 4)), stored) == []


def test_built_in_kinds_are_validated() -> None:
    pod = Pod(metadata=META, spec=PodSpec(containers=[Container(name="A", image="nginx")]))
    with pytest.raises(Invalid) as raised:
        FakeClient().create(pod)
    assert validate(pod) == list(raised.value.details.causes)
    assert [each.field for each in validate(pod)] == ["spec.containers[0].name"]


@api_type(group="example.com", version="v1", status=False)
@dataclass(frozen=True, slots=True)
class Labelled:
    metadata: ObjectMeta
    labels: Mapping[str, Annotated[str, LABEL_VALUE]] = EMPTY_MAP


@pytest.mark.parametrize("value", ["", "a", "a.B-1_c", "x" * 63, "-", "a-", "x" * 64, "a b", "a\n", "é"])
def test_format_of_label_values_is_that_of_labels(value: str) -> None:
    assert (validate(Labelled(META, {"a": value})) == []) == is_label_value(value)
    labels_object = Labelled(replace(META, labels={"a": value}))
    assert (validate(labels_object) == []) == is_label_value(value)
