"""Wire types derived from users' dataclasses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec

from clientgo.meta import EMPTY_MAP, Meta
from clientgo.meta.classes.wire import to_wire, wire_type


@dataclass(frozen=True, slots=True)
class Port:
    host_port: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Spec:
    deployment_name: str
    replicas: Annotated[int | None, Meta(ge=1, le=10)] = None
    ports: tuple[Port, ...] = ()
    port_list: list[Port] = field(default_factory=list)
    first: Port | None = None
    named: Mapping[str, Port] = EMPTY_MAP
    tags: dict[str, str] = field(default_factory=dict)
    fallback: Port = Port(80, "http")


FULL = Spec("d", 3, (Port(1, "a"),), [Port(2)], Port(3), {"x": Port(4)}, {"k": "v"}, Port(5))


def test_wire_names_are_camel_case_and_nested_classes_have_wire_types() -> None:
    assert msgspec.json.decode(msgspec.json.encode(to_wire(FULL))) == {
        "deploymentName": "d", "replicas": 3, "ports": [{"hostPort": 1, "name": "a"}], "portList": [{"hostPort": 2}],
        "first": {"hostPort": 3}, "named": {"x": {"hostPort": 4}}, "tags": {"k": "v"}, "fallback": {"hostPort": 5},
    }  # fmt: skip


def test_wire_type_converts_back_to_the_class() -> None:
    wire = msgspec.json.decode(msgspec.json.encode(to_wire(FULL)), type=wire_type(Spec))
    assert msgspec.convert(wire, Spec, from_attributes=True) == FULL


def test_empty_values_are_omitted() -> None:
    written = msgspec.json.decode(msgspec.json.encode(to_wire(Spec("d"))))
    assert {"ports", "portList", "first", "named", "tags", "replicas"}.isdisjoint(written)


def test_absent_fields_get_their_defaults() -> None:
    wire = msgspec.json.decode(b'{"deploymentName":"d"}', type=wire_type(Spec))
    assert msgspec.convert(wire, Spec, from_attributes=True) == Spec("d")


def test_struct_is_its_own_wire_type() -> None:
    class Own(msgspec.Struct):
        name: str = ""

    local = Own()
    assert wire_type(Own) is Own
    assert to_wire(local) is local


def test_wire_type_is_derived_once() -> None:
    assert wire_type(Spec) is wire_type(Spec)
    assert type(to_wire(Port(1))) is wire_type(Port)


def test_field_of_type_any_holds_any_value() -> None:
    @dataclass(frozen=True)
    class Loose:
        value: Any = None
        values: dict[str, Any] = field(default_factory=dict)

    loose = Loose([1, {"a": None}], {"x": 1.5})
    assert msgspec.json.decode(msgspec.json.encode(to_wire(loose))) == {"value": [1, {"a": None}], "values": {"x": 1.5}}
