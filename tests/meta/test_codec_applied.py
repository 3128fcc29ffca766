"""Encoding for server-side apply: what the object declares, including the defaults of its class."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import pytest

from clientgo.dynamic.unstructured import Unstructured
from clientgo.errors import Conflict
from clientgo.kubernetes.types.apps_v1 import Deployment, DeploymentSpec
from clientgo.kubernetes.types.core_v1 import ResourceRequirements
from clientgo.meta import EMPTY_MAP, ObjectMeta, api_type, replace, to_dict
from clientgo.meta.codec import codec_for
from clientgo.testing.client import FakeClient


class Mode(enum.StrEnum):
    FAST = "Fast"
    SLOW = "Slow"


@dataclass(frozen=True, slots=True)
class Port:
    number: int = 80
    protocol: Literal["TCP", "UDP"] = "TCP"
    note: str | None = None


NO_LIMITS, ONE_CPU = ResourceRequirements(), ResourceRequirements(requests={"cpu": "1"})


@dataclass(frozen=True, slots=True)
class Spec:
    replicas: int = 1
    ready: bool = False
    ratio: float = 0.5
    title: str = ""
    mode: Mode = Mode.FAST
    first: Port = Port()
    ports: tuple[Port, ...] = ()
    zones: tuple[str, ...] = ("a",)
    by_name: Mapping[str, Port] = EMPTY_MAP
    optional: int | None = None
    maybe: Port | None = None
    limits: ResourceRequirements = NO_LIMITS
    requests: ResourceRequirements = ONE_CPU
    options: dict[str, Any] = field(default_factory=dict)
    extra: Any = None


@dataclass(frozen=True, slots=True)
class Status:
    available: int = 0
    ready: bool = False
    reason: str | None = None


@api_type(group="example.com", version="v1")
@dataclass(frozen=True, slots=True)
class Shop:
    metadata: ObjectMeta
    spec: Spec = Spec()
    status: Status = Status()


META = ObjectMeta(name="s", namespace="ns")
HEAD = {"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "s", "namespace": "ns"}}
PORT = {"number": 80, "protocol": "TCP"}
DEFAULTS = {
    "replicas": 1,
    "ready": False,
    "ratio": 0.5,
    "title": "",
    "mode": "Fast",
    "first": PORT,
    "zones": ["a"],
    "requests": {"requests": {"cpu": "1"}},
}


def applied(obj: Any, subresource: str = "") -> Any:
    return msgspec.json.decode(codec_for(type(obj)).encode_applied(obj, subresource))


def test_defaults_are_declared_and_what_is_none_or_empty_is_not() -> None:
    assert applied(Shop(META)) == {**HEAD, "spec": DEFAULTS}
    assert "replicas" not in to_dict(Shop(META))["spec"]


@pytest.mark.parametrize(
    ("changes", "sent"),
    [
        ({"replicas": 3}, {"replicas": 3}),
        ({"ready": True, "mode": Mode.SLOW}, {"ready": True, "mode": "Slow"}),
        ({"ports": (Port(), Port(81, note="x"))}, {"ports": [PORT, {**PORT, "number": 81, "note": "x"}]}),
        ({"by_name": {"x": Port()}}, {"byName": {"x": PORT}}),
        ({"maybe": Port()}, {"maybe": PORT}),
        ({"optional": 0}, {"optional": 0}),
        ({"zones": ()}, {"zones": []}),
        ({"options": {"a": None}, "extra": [None]}, {"options": {"a": None}, "extra": [None]}),
        ({"limits": ResourceRequirements(limits={"cpu": "2"})}, {"limits": {"limits": {"cpu": "2"}}}),
    ],
)
def test_field_is_declared_wherever_it_stands(changes: dict[str, Any], sent: dict[str, Any]) -> None:
    assert applied(Shop(META, replace(Spec(), **changes)))["spec"] == {**DEFAULTS, **sent}


def test_status_is_applied_alone() -> None:
    managed = replace(META, labels={"a": "b"}, resource_version="7", uid="u")
    assert applied(Shop(managed), "status") == {**HEAD, "status": {"available": 0, "ready": False}}


def test_zero_values_of_built_in_types_are_not_declared() -> None:
    deployment = Deployment(metadata=META, spec=DeploymentSpec(paused=None))
    assert applied(deployment)["spec"] == to_dict(deployment)["spec"]
    assert "replicas" not in applied(deployment)["spec"]


def test_content_of_unstructured_objects_is_applied_as_it_is() -> None:
    content = {"spec": {"a": None}, "status": {}}
    sent = applied(Unstructured(api_version="v1", kind="A", metadata=META, content=content))
    assert (sent["spec"], sent["status"]) == ({"a": None}, {})


def test_forced_apply_takes_a_default_back_from_another_writer() -> None:
    client = FakeClient(Shop(META))
    client.writing(field_manager="other").patch(Shop(META), {"spec": {"replicas": 5, "first": {"number": 99}}})
    with pytest.raises(Conflict, match="conflict"):
        client.apply(Shop(META))
    shop = client.apply(Shop(META), force=True)
    assert (shop.spec.replicas, shop.spec.first.number) == (1, 80)
    other = client.writing(field_manager="other")
    other.patch_status(shop, {"status": {"ready": True, "available": 4}})
    shop = client.apply(shop, force=True, status=True)
    assert shop.status == Status()
