"""CRDs of kinds that embed built-in types: same merge keys, formats, defaults and validation as in Kubernetes."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import pytest
import yaml

from apiserver.tests.inprocess import APPLY, DEFINITIONS, Kube
from clientgo.codegen.crd.builtinfacts import borrowed_name
from clientgo.codegen.problems import field_docs
from clientgo.codegen.render.source import first_sentence
from clientgo.kubernetes.scheme import KINDS
from clientgo.kubernetes.types.apiextensions_v1 import JSONSchemaProps
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.kubernetes.types.core_v1 import (
    Container,
    ContainerPort,
    PersistentVolumeSpec,
    PodSpec,
    PodTemplateSpec,
    ResourceRequirements,
    ServicePort,
    TokenRequest,
)
from clientgo.kubernetes.types.rbac_v1 import PolicyRule
from clientgo.kubernetes.types.shared import Condition, LabelSelector
from clientgo.meta import Meta, ObjectMeta, api_of, api_type, from_dict, replace, to_dict
from clientgo.meta.schema.descriptions import descriptions_of
from clientgo.testing.validation import validate
from clientgo_apiserver.registry.schemas import definition_of
from tests.codegen.generating import generate
from tests.codegen.kinds.bakery import Oven, OvenSpec

OVENS = "/apis/bakery.example.com/v1/namespaces/default/ovens"


@pytest.fixture(scope="module")
def definition(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("bakery")
    generate(folder, "bakery", package="made_bakery", more=("--generators", "crd"))
    return yaml.safe_load(Path(folder / "crd/bakery.example.com_ovens.yaml").read_text())


@pytest.fixture
def kube(definition: Any) -> Kube:
    kube = Kube()
    kube.ok("POST", DEFINITIONS, definition)
    return kube


def spec_schema(definition: Any) -> Any:
    return definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]


def oven(*containers: Container) -> Oven:
    return Oven(ObjectMeta(name="o"), OvenSpec(PodTemplateSpec(spec=PodSpec(containers=containers))))


@pytest.mark.feature("D-85")
def test_embedded_pod_keeps_list_and_map_types(definition: Any) -> None:
    pod = spec_schema(definition)["template"]["properties"]["spec"]["properties"]
    ports = pod["containers"]["items"]["properties"]["ports"]
    assert pod["containers"]["x-kubernetes-list-map-keys"] == ["name"]
    assert ports["x-kubernetes-list-map-keys"] == ["containerPort", "protocol"]
    assert ports["items"]["properties"]["protocol"]["default"] == "TCP"
    assert pod["topologySpreadConstraints"]["x-kubernetes-list-map-keys"] == ["topologyKey", "whenUnsatisfiable"]
    assert pod["tolerations"]["x-kubernetes-list-type"] == "atomic"
    assert pod["nodeSelector"]["x-kubernetes-map-type"] == "atomic"
    assert spec_schema(definition)["selector"]["x-kubernetes-map-type"] == "atomic"


@pytest.mark.feature("A-56")
def test_embedded_pod_keeps_number_and_quantity_formats(definition: Any) -> None:
    pod = spec_schema(definition)["template"]["properties"]["spec"]["properties"]
    probe = pod["containers"]["items"]["properties"]["livenessProbe"]["properties"]
    assert pod["terminationGracePeriodSeconds"]["format"] == "int64"
    assert probe["periodSeconds"]["format"] == "int32"
    assert probe["httpGet"]["properties"]["port"]["x-kubernetes-int-or-string"] is True
    limits = pod["containers"]["items"]["properties"]["resources"]["properties"]["limits"]
    assert limits["additionalProperties"]["x-kubernetes-int-or-string"] is True
    assert spec_schema(definition)["template"]["properties"]["spec"]["required"] == ["containers"]


def test_recursive_type_is_an_open_object_from_the_second_level(definition: Any) -> None:
    schema = spec_schema(definition)["schema"]["properties"]
    open_object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert schema["not"] == open_object
    assert schema["properties"]["additionalProperties"] == open_object
    assert schema["maximum"] == {"type": "number"}


def test_created_object_keeps_every_field_and_gets_defaults(kube: Kube) -> None:
    container = Container(
        name="c",
        image="i",
        ports=(ContainerPort(container_port=80),),
        resources=ResourceRequirements(limits={"cpu": "500m"}),
    )
    inner = JSONSchemaProps(type="object", properties={"x": JSONSchemaProps(type="string", max_length=3)})
    spec = OvenSpec(
        PodTemplateSpec(metadata=ObjectMeta(labels={"a": "b"}), spec=PodSpec(containers=(container,))),
        selector=LabelSelector(match_labels={"a": "b"}),
        ports=(ServicePort(port=80),),
        schema=JSONSchemaProps(all_of=(inner,)),
    )
    stored = kube.ok("POST", OVENS, to_dict(Oven(ObjectMeta(name="o"), spec)))
    (port,) = stored["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert port == {"containerPort": 80, "protocol": "TCP"}
    read = from_dict(Oven, stored).spec
    assert (read.schema, read.selector) == (spec.schema, spec.selector)
    assert read.template.metadata.labels == {"a": "b"}
    assert read.template.spec.containers[0].resources == container.resources


@pytest.mark.feature("A-46")
def test_two_managers_each_apply_a_container(kube: Kube) -> None:
    def apply(manager: str, container: dict[str, Any]) -> Any:
        config = {**to_dict(oven()), "spec": {"template": {"spec": {"containers": [container]}}}}
        return kube.ok("PATCH", f"{OVENS}/o?fieldManager={manager}", config, APPLY)

    apply("one", {"name": "a", "image": "i"})
    both = apply("two", {"name": "b", "image": "j"})
    assert [each["name"] for each in both["spec"]["template"]["spec"]["containers"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        pytest.param((), "spec.template.spec.containers: Required value", id="none"),
        pytest.param((Container(name="c"), Container(name="c")), "Duplicate value", id="one name twice"),
    ],
)
def test_invalid_pod_template_is_rejected(kube: Kube, containers: tuple[Container, ...], expected: str) -> None:
    assert expected in kube.refused(422, "POST", OVENS, to_dict(oven(*containers)))["message"]


@dataclass(frozen=True, slots=True)
class BatchStatus:
    conditions: Annotated[tuple[Condition, ...], Meta(list_type="map", list_map_keys=("type",))] = ()


@api_type(group="bakery.example.com", version="v1")
@dataclass(frozen=True, slots=True)
class Batch:
    metadata: ObjectMeta
    status: BatchStatus = BatchStatus()


@pytest.mark.parametrize(
    ("field", "valid", "invalid"),
    [
        ("type", ["Ready", "bakery.example.com/Ready"], ["", "no type", "Bakery/Ready"]),
        ("status", ["True", "False", "Unknown"], ["", "true"]),
        ("reason", ["Baked", "a_b:C,d"], ["", "not baked", "1st", "Not-Baked"]),
        ("message", ["", "any text"], ["x" * 32769]),
        ("observed_generation", [0, 1], [-1]),
    ],
)
def test_conditions_are_validated_as_those_of_controller_gen(field: str, valid: list[Any], invalid: list[Any]) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    condition = Condition(type="Ready", status="True", reason="Baked", message="", last_transition_time=now)

    def rejected(value: Any) -> bool:
        status = BatchStatus((replace(condition, **{field: value}),))
        return bool(validate(Batch(ObjectMeta(name="b", namespace="default"), status)))

    assert not any(map(rejected, valid))
    assert all(map(rejected, invalid))


def test_descriptions_of_built_in_types_are_the_first_sentences_of_the_installed_models(definition: Any) -> None:
    template = descriptions_of("io.k8s.api.core.v1.PodSpec").fields["nodeName"]
    described = spec_schema(definition)["template"]["properties"]["spec"]["properties"]["nodeName"]["description"]
    assert described == first_sentence(template)
    assert template.startswith(described)


def test_generated_types_have_no_descriptions_of_kubernetes() -> None:
    assert field_docs(PodSpec) == {}
    assert (PodSpec.__doc__ or "").startswith("Part of objects of core/v1, apps/v1 and batch/v1 (https:")


@pytest.mark.parametrize(
    ("cls", "anchor"),
    [
        (Deployment, "deployment-v1-apps"),
        (PodSpec, "podspec-v1-core"),
        (PersistentVolumeSpec, "persistentvolumespec-v1-core"),
        (PolicyRule, "policyrule-v1-rbac-authorization-k8s-io"),
        (JSONSchemaProps, "jsonschemaprops-v1-apiextensions-k8s-io"),
        (LabelSelector, "labelselector-v1-meta"),
        (TokenRequest, "tokenrequest-v1-authentication-k8s-io"),
    ],
)
def test_generated_type_links_to_its_place_in_the_api_reference(cls: type[Any], anchor: str) -> None:
    reference = r"https://kubernetes\.io/docs/reference/generated/kubernetes-api/v1\.\d+/#"
    assert re.search(rf" \({reference}{anchor}\)\.", cls.__doc__ or "")


def test_generated_kinds_have_the_names_of_the_servers_definitions() -> None:
    newer = {"ClusterTrustBundle", "PodCertificateRequest"}  # than the server's data
    for api, cls in ((api_of(cls), cls) for cls in KINDS if cls.__name__ not in newer):
        assert borrowed_name(cls) == definition_of(api.group, api.version, api.kind)
