"""Apply configurations contain exactly the fields that were set."""

from dataclasses import dataclass
from typing import Any

import pytest
from msgspec import UNSET, UnsetType

from clientgo.meta import Int32, ObjectMeta, api_type, from_dict, to_dict
from clientgo.meta.apply.mergerules import MergeRule
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
        pytest.param({"f:ports": {'k:{"name":"b"}': {}}}, {"ports": []}, id="item without fields"),
        pytest.param({"f:refs": {'k:{"name":"r"}': {}}}, {"refs": [{"name": "r", "uid": "1"}]}, id="atomic item"),
        pytest.param({"f:tags": {'v:"y"': {}}}, {"tags": ["y"]}, id="value"),
        pytest.param({"f:tags": {"i:0": {}}}, {"tags": ["x"]}, id="index"),
        pytest.param({"f:tags": {}}, {}, id="set without items"),
        pytest.param({"f:words": {}}, {"words": ["x"]}, id="atomic list"),
        pytest.param({"f:map": {".": {}}}, {}, id="map without entries"),
        pytest.param({"f:map": {}}, {}, id="map that was applied empty"),
        pytest.param({"f:selector": {}}, {"selector": {"k": "v"}}, id="atomic map"),
        pytest.param({"f:gone": {}}, {}, id="gone meanwhile"),
    ],
)
def test_fields_v1_selects_a_part(fields: dict[str, object], part: dict[str, object]) -> None:
    content = {
        "ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}],
        "refs": [{"name": "r", "uid": "1"}],
        "tags": ["x", "y"],
        "words": ["x"],
        "map": {"k": "v"},
        "selector": {"k": "v"},
    }
    by_name: dict[str, Any] = {"list_type": "map", "map_keys": ("name",)}
    rules: dict[tuple[str, ...], MergeRule] = {
        ("ports",): MergeRule(**by_name),
        ("refs",): MergeRule(**by_name, atomic_items=True),
        ("tags",): MergeRule(list_type="set"),
        ("selector",): MergeRule(list_type="atomic"),
    }
    assert owned(content, fields, lambda path: rules.get(path)) == part


def test_extracted_configuration_has_no_fields_of_others_below_an_empty_one() -> None:
    thing = from_dict(
        Thing,
        {
            "metadata": {
                "name": "a", "managedFields": [{"manager": "me", "operation": "Apply", "fieldsV1": {"f:spec": {}}}],
            },
            "spec": {"size": 4},
        },
    )  # fmt: skip
    configuration = ThingApplyConfiguration(metadata=ObjectMetaApplyConfiguration(name="a"))
    assert ThingApplyConfiguration.extract(thing, "me") == configuration
