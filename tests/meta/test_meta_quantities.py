"""Quantities given as numbers."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any, get_args, get_type_hints

import msgspec
import pytest

from clientgo.kubernetes import types as built_in_types
from clientgo.kubernetes.types.autoscaling_v2 import HorizontalPodAutoscaler
from clientgo.kubernetes.types.core_v1 import LimitRange, Node, Pod, ResourceQuota
from clientgo.kubernetes.types.pods import PodTemplateSpec, ResourceRequirements
from clientgo.kubernetes.types.storage_v1 import CSIStorageCapacity
from clientgo.meta import EMPTY_MAP, Meta, ObjectMeta, Quantity, Undecodable, api_type, decode, from_dict, to_dict
from clientgo.meta.codec import codec_for
from clientgo.meta.quantities import QUANTITY_FIELDS

NO_RESOURCES = ResourceRequirements()


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    resources: ResourceRequirements = NO_RESOURCES
    template: PodTemplateSpec | None = None
    budget: Quantity = 0
    limits: Annotated[Mapping[str, Quantity], Meta(max_properties=9)] = EMPTY_MAP
    steps: tuple[Quantity, ...] = ()
    name: str = ""


@api_type(group="example.com", version="v1")
@dataclass(frozen=True, slots=True)
class Workload:
    metadata: ObjectMeta
    spec: WorkloadSpec = WorkloadSpec()


def workload(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Workload", "metadata": {"name": "w"}, "spec": spec}


NUMBERS = [
    ("2", "2"), ("0", "0"), ("1000", "1k"), ("1024", "1024"), ("0.5", "500m"), ("2.0", "2"), ("1e3", "1k"),
    ("1.5", "1500m"), ("-3", "-3"), ("1e-9", "1n"), ("123456789", "123456789"), ("2.5e9", "2500M"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "stored"), NUMBERS)
def test_number_becomes_the_quantity_that_the_server_stores(number: str, stored: str) -> None:
    decoded = decode(
        Workload, b'{"metadata":{"name":"w"},"spec":{"resources":{"limits":{"cpu":%s}}}}' % number.encode()
    )
    assert decoded.spec.resources.limits == {"cpu": stored}


def test_numbers_are_accepted_everywhere_in_an_embedded_pod_template() -> None:
    resources = {"requests": {"cpu": 1, "memory": "1Gi"}}
    pod = {
        "overhead": {"cpu": 0.25},
        "containers": [{"name": "c", "resources": resources}],
        "volumes": [
            {"name": "v", "emptyDir": {"sizeLimit": 1024}},
            {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": 5}}}}}},
        ],
    }
    template = from_dict(Workload, workload(template={"spec": pod})).spec.template
    assert template is not None
    assert template.spec.overhead == {"cpu": "250m"}
    assert template.spec.containers[0].resources == ResourceRequirements(requests={"cpu": "1", "memory": "1Gi"})
    assert to_dict(from_dict(Workload, workload(template={"spec": pod})))["spec"]["template"]["spec"]["volumes"] == [
        {"name": "v", "emptyDir": {"sizeLimit": "1024"}},
        {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "5"}}}}}},
    ]


def test_a_quantity_of_a_user_s_class_holds_integers_and_strings() -> None:
    result = from_dict(Workload, workload(budget=0.5, limits={"a": 1, "b": "2Gi", "c": 1.5}, steps=[1, 2.5, "3"]))
    assert result.spec.budget == "500m"
    assert result.spec.limits == {"a": 1, "b": "2Gi", "c": "1500m"}
    assert result.spec.steps == (1, "2500m", "3")


@pytest.mark.parametrize(
    ("cls", "content"),
    [
        (Pod, {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": 2}}}]}}),
        (Node, {"status": {"capacity": {"cpu": 2}, "allocatable": {"cpu": 2}}}),
        (ResourceQuota, {"spec": {"hard": {"pods": 2}}, "status": {"hard": {"pods": 2}, "used": {"pods": 1}}}),
        (LimitRange, {"spec": {"limits": [{"type": "Pod", "max": {"cpu": 2}, "maxLimitRequestRatio": {"cpu": 3}}]}}),
        (HorizontalPodAutoscaler, {"spec": {"behavior": {"scaleUp": {"tolerance": 2}}, "maxReplicas": 10}}),
        (CSIStorageCapacity, {"storageClassName": "a", "capacity": 5, "maximumVolumeSize": 5}),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_built_in_kinds_accept_numbers(cls: type, content: dict[str, Any]) -> None:
    full = {"metadata": {"name": "a"}, **content}
    result = to_dict(from_dict(cls, full))
    assert {name: result[name] for name in content} == json.loads(re.sub(r"\b(\d)\b", r'"\1"', json.dumps(content)))


def test_object_with_numbers_does_not_affect_others_in_a_list() -> None:
    items = [workload(resources={"limits": {"cpu": cpu}}) for cpu in ("1", 2, 0.5)]
    page = codec_for(Workload).decode_list(json.dumps({"kind": "WorkloadList", "items": items}).encode())
    assert [item.spec.resources.limits["cpu"] for item in page.items] == ["1", "2", "500m"]
    assert page.undecodable == ()


@pytest.mark.parametrize(
    "spec",
    [{"name": 2}, {"resources": {"limits": {"cpu": True}}}, {"resources": {"limits": {"cpu": [2]}}}, {"budget": {}}],
    ids=["a string field", "a boolean", "a list", "an object"],
)
def test_invalid_quantity_is_undecodable(spec: dict[str, Any]) -> None:
    with pytest.raises(Undecodable):
        from_dict(Workload, workload(**spec))


def test_every_known_quantity_is_a_string_of_a_built_in_type() -> None:
    modules = [
        import_module(f"{built_in_types.__name__}.{item.name}") for item in iter_modules(built_in_types.__path__)
    ]
    result = {name: cls for module in modules for name, cls in vars(module).items()}
    classes = {name: cls for name, cls in result.items() if isinstance(cls, msgspec.StructMeta)}
    for name, fields in QUANTITY_FIELDS.items():
        if name in classes:
            names = dict(zip(classes[name].__struct_encode_fields__, classes[name].__struct_fields__, strict=True))
            hints = get_type_hints(classes[name])
            for field in fields:
                hint = hints[names[field]]
                assert str in (hint, *get_args(hint)), f"{name}.{field}"
