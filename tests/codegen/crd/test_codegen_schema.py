"""Schemas rendered from type annotations, and errors for unsupported ones."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

import pytest

from clientgo.codegen.crd.schema import SchemaMaker
from clientgo.codegen.problems import Problems
from clientgo.kubernetes.types.core_v1 import ResourceRequirements
from clientgo.meta import EMPTY_MAP, Int32, Int64, Meta, MicroTime, Quantity
from tests.codegen.generating import problems_of, schema_of


class Color(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Part:
    """A part of something."""

    size_in_bytes: Int64
    label: str | None = None


PART = {
    "type": "object",
    "description": "A part of something.",
    "properties": {"sizeInBytes": {"type": "integer", "format": "int64"}, "label": {"type": "string"}},
    "required": ["sizeInBytes"],
}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        pytest.param(str, {"type": "string"}, id="string"),
        pytest.param(int, {"type": "integer"}, id="plain int"),
        pytest.param(Int32, {"type": "integer", "format": "int32"}, id="int32"),
        pytest.param(bool, {"type": "boolean"}, id="bool"),
        pytest.param(bytes, {"type": "string", "format": "byte"}, id="bytes"),
        pytest.param(datetime, {"type": "string", "format": "date-time"}, id="time"),
        pytest.param(MicroTime, {"type": "string", "format": "date-time"}, id="micro time"),
        pytest.param(Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, id="literal"),
        pytest.param(Color, {"type": "string", "enum": ["red", "blue"]}, id="enum"),
        pytest.param(Part, PART, id="nested"),
        pytest.param(tuple[Part, ...], {"type": "array", "items": PART}, id="tuple of nested"),
        pytest.param(list[str], {"type": "array", "items": {"type": "string"}}, id="list"),
        pytest.param(Mapping[str, Int32],
                     {"type": "object", "additionalProperties": {"type": "integer", "format": "int32"}}, id="map"),
        pytest.param(
            dict[str, Any], {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, id="free-form object"
        ),
        pytest.param(Any, {"x-kubernetes-preserve-unknown-fields": True}, id="anything"),
        pytest.param(int | str,
                     {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
                     id="int or string"),
        pytest.param(str | None, {"type": "string", "nullable": True}, id="required, may be null"),
    ],
)  # fmt: skip
@pytest.mark.feature("A-51", "D-83")
def test_type_is_rendered_as_schema(hint: Any, schema: Any) -> None:
    assert schema_of(hint) == schema


def test_outer_constraint_overrides_inner_one() -> None:
    schema = schema_of(Annotated[Annotated[int, Meta(le=10, ge=1)], Meta(le=5)])
    assert (schema["minimum"], schema["maximum"]) == (1, 5)


@pytest.mark.feature("D-70", "D-71")
def test_item_constraints_are_rendered_on_the_items() -> None:
    assert schema_of(tuple[Annotated[str, Meta(max_length=3)], ...])["items"] == {"type": "string", "maxLength": 3}


@pytest.mark.feature("D-34", "D-77", "D-79")
def test_field_without_default_is_required_and_scalar_defaults_are_rendered() -> None:
    @dataclass(frozen=True)
    class Spec:
        needed: str
        size: int = 3
        on: bool = False
        name: str = ""
        color: Color = Color.RED
        labels: Mapping[str, str] = EMPTY_MAP
        maybe: Part | None = None

    schema = SchemaMaker(Problems()).of_class(Spec)
    defaults = {name: field["default"] for name, field in schema["properties"].items() if "default" in field}
    assert schema["required"] == ["needed"]
    assert defaults == {"size": 3, "on": False, "name": "", "color": "red"}
    assert "nullable" not in schema["properties"]["maybe"]


def test_built_in_type_can_be_embedded() -> None:
    limits = schema_of(ResourceRequirements)["properties"]["limits"]
    assert limits["additionalProperties"] == schema_of(Quantity)


@pytest.mark.feature("A-56")
def test_float_requires_allow_floats() -> None:
    assert "floats differ between languages" in problems_of(float)
    assert schema_of(float, allow_floats=True) == {"type": "number"}
