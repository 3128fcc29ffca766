"""Apply configurations contain exactly the fields that were set."""

from dataclasses import dataclass

import pytest
from msgspec import UNSET, UnsetType

from clientgo.meta import Int32, ObjectMeta, api_type, from_dict, to_dict
from clientgo.meta.applyconfiguration import (
    ApplyConfiguration,
    ObjectApplyConfiguration,
    ObjectMetaApplyConfiguration,
    owned,
)
from clientgo.meta.codec import encode_value


@dataclass(frozen=True, slots=True)
class Spec:
    size: Int32 = 3
    owner: str = ""


@api_type(group="g.io", version="v1", status=False)
@dataclass(frozen=True, slots=True)
class Thing:
    metadata: ObjectMeta
    spec: Spec = Spec()


class SpecApplyConfiguration(ApplyConfiguration, frozen=True, kw_only=True):
    size: int | UnsetType = UNSET
    owner: str | UnsetType = UNSET


class ThingApplyConfiguration(ObjectApplyConfiguration[Thing], frozen=True, kw_only=True):
    kind = Thing

    metadata: ObjectMetaApplyConfiguration | UnsetType = UNSET
    spec: SpecApplyConfiguration | UnsetType = UNSET


def test_set_fields_are_sent_even_if_equal_to_the_default() -> None:
    config = ThingApplyConfiguration(
        metadata=ObjectMetaApplyConfiguration(name="a"), spec=SpecApplyConfiguration(size=3)
    )
    assert encode_value(dict(config)) == (
        b'{"apiVersion":"g.io/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"size":3}}'
    )
    assert len(config) == 4
    with pytest.raises(KeyError, match="status"):
        config["status"]


def test_unknown_field_is_rejected() -> None:
    with pytest.raises(TypeError, match="siz"):
        SpecApplyConfiguration(siz=3)  # type: ignore[call-arg]


def test_value_of_another_manager_is_not_extracted() -> None:
    thing = from_dict(
        Thing,
        {
            "metadata": {
                "name": "a",
                "labels": {"x": "1", "y": "2"},
                "managedFields": [
                    {"manager": "me", "operation": "Update", "fieldsV1": {"f:spec": {"f:owner": {}}}},
                    {
                        "manager": "me",
                        "operation": "Apply",
                        "fieldsV1": {"f:metadata": {"f:labels": {"f:x": {}}}, "f:spec": {"f:size": {}}},
                    },
                    {"manager": "you", "operation": "Apply", "fieldsV1": {"f:spec": {"f:owner": {}}}},
                    {
                        "manager": "me",
                        "operation": "Apply",
                        "subresource": "status",
                        "fieldsV1": {"f:spec": {"f:owner": {}}},
                    },
                ],
            },
            "spec": {"size": 4, "owner": "you"},
        },
    )
    assert ThingApplyConfiguration.extract(thing, "me") == ThingApplyConfiguration(
        metadata=ObjectMetaApplyConfiguration(name="a", labels={"x": "1"}), spec=SpecApplyConfiguration(size=4)
    )
    assert ThingApplyConfiguration.extract(thing, "nobody") == ThingApplyConfiguration(
        metadata=ObjectMetaApplyConfiguration(name="a")
    )
    assert ThingApplyConfiguration.extract(thing, "me", subresource="status").spec == SpecApplyConfiguration(
        owner="you"
    )
    assert to_dict(thing)["spec"] == {"size": 4, "owner": "you"}


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        pytest.param({"f:ports": {'k:{"name":"b"}': {".": {}, "f:name": {}}}}, {"ports": [{"name": "b"}]}, id="keys"),
        pytest.param({"f:ports": {'k:{"name":"b"}': {}}}, {"ports": [{"name": "b", "port": 2}]}, id="whole item"),
        pytest.param({"f:tags": {'v:"y"': {}}}, {"tags": ["y"]}, id="value"),
        pytest.param({"f:tags": {"i:0": {}}}, {"tags": ["x"]}, id="index"),
        pytest.param({"f:tags": {}}, {"tags": ["x", "y"]}, id="whole list"),
        pytest.param({"f:map": {".": {}}}, {"map": {}}, id="the map itself"),
        pytest.param({"f:gone": {}}, {}, id="gone meanwhile"),
    ],
)
def test_fields_v1_selects_a_part(fields: dict[str, object], part: dict[str, object]) -> None:
    content = {"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}], "tags": ["x", "y"], "map": {"k": "v"}}
    assert owned(content, fields) == part
