"""Typed decoding of built-in objects: Go's errors, `omitempty`, quantities and times."""

from typing import Any

import pytest

from apiserver.tests.inprocess import Kube
from clientgo_apiserver.gotypes.decoding import decode, message_of
from clientgo_apiserver.gotypes.scalars import DecodeError

POD, LEASE = ("v1", "Pod"), ("coordination.k8s.io/v1", "Lease")
DEPLOYMENT, CONFIG_MAP, QUOTA = ("apps/v1", "Deployment"), ("v1", "ConfigMap"), ("v1", "ResourceQuota")
MICRO = "2006-01-02T15:04:05.000000Z07:00"
WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def decoded(kind: tuple[str, str], **fields: Any) -> Any:
    return decode(message_of(*kind), fields, [])


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (POD, {"spec": []}, "json: cannot unmarshal array into Go struct field Pod.spec of type v1.PodSpec"),
        (
            POD,
            {"spec": {"containers": [{"ports": [{"containerPort": "80"}]}]}},
            "json: cannot unmarshal string into Go struct field"
            " ContainerPort.spec.containers.ports.containerPort of type int32",
        ),
        (DEPLOYMENT, {"spec": {"replicas": 3000000000}},
         "json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32"),
        (
            DEPLOYMENT,
            {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 1.5}}}},
            "json: cannot unmarshal number 1.5 into Go struct field"
            " RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32",
        ),
        (
            ("autoscaling/v2", "HorizontalPodAutoscaler"),
            {"spec": {"metrics": {}}},
            "json: cannot unmarshal object into Go struct field"
            " HorizontalPodAutoscalerSpec.spec.metrics of type []v2.MetricSpec",
        ),
        (CONFIG_MAP, {"data": {"a": True}},
         "json: cannot unmarshal bool into Go struct field ConfigMap.data of type string"),
        (CONFIG_MAP, {"binaryData": {"a": "AAE*"}}, "illegal base64 data at input byte 3"),
        (QUOTA, {"spec": {"hard": {"pods": "1x"}}}, WRONG),
        (QUOTA, {"spec": {"hard": {"pods": "1KiB"}}}, WRONG),
        (QUOTA, {"spec": {"hard": {"pods": "1mm"}}}, "unable to parse quantity's suffix"),
        (LEASE, {"spec": {"renewTime": "2026-01-01T00:00:00Z"}},
         f'parsing time "2026-01-01T00:00:00Z" as "{MICRO}": cannot parse "Z" as ".000000"'),
        (LEASE, {"spec": {"renewTime": "2026-13-01T00:00:00.000000Z"}},
         'parsing time "2026-13-01T00:00:00.000000Z": month out of range'),
    ],
)  # fmt: skip
def test_value_of_the_wrong_type_is_rejected_as_by_go(kind: tuple[str, str], fields: Any, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decoded(kind, **fields)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("arguments", "stored"),
    [
        (2, "2"),
        (0.5, "500m"),
        ("1000m", "1"),
        ("1000", "1k"),
        ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("1025Mi", "1025Mi"),
        ("1e3", "1e3"),
        ("10e3", "10e3"),
        ("1000e3", "1e6"),
    ],
)
def test_quantity_is_stored_in_canonical_form(arguments: Any, stored: str) -> None:
    assert decoded(QUOTA, spec={"hard": {"pods": arguments}}) == {"spec": {"hard": {"pods": stored}}}


def test_zero_values_are_omitted_unless_go_tells_them_from_absent_ones() -> None:
    spec = {"replicas": 0, "minReadySeconds": 0, "paused": False, "selector": {"matchLabels": {}}, "template": None}
    assert decoded(DEPLOYMENT, spec=spec) == {"spec": {"replicas": 0, "selector": {}}}


def test_nulls_in_lists_and_maps_are_zero_values() -> None:
    assert decoded(CONFIG_MAP, data={"a": None}) == {"data": {"a": ""}}
    assert decoded(POD, spec={"containers": [None]}) == {"spec": {"containers": [{}]}}


def test_unknown_fields_are_reported_with_indexes() -> None:
    unknown: list[str] = []
    spec = {"bad": 1, "containers": [{"name": "a"}, {"env": [{"nope": 1}]}]}
    decode(message_of(*POD), {"spec": spec}, unknown)
    assert unknown == ["spec.bad", "spec.containers[1].env[0].nope"]


def test_empty_text_is_kept_where_a_number_could_be() -> None:
    assert decoded(("v1", "Service"), spec={"ports": [{"targetPort": ""}]}) == {"spec": {"ports": [{"targetPort": ""}]}}


@pytest.mark.parametrize(
    ("path", "body", "field", "name"),
    [
        ("/api/v1/namespaces/default/services", {"spec": {"type": 7}}, "ServiceSpec.spec.type", "v1.ServiceType"),
        ("/api/v1/namespaces/default/persistentvolumeclaims", {"spec": {"accessModes": "x"}},
         "PersistentVolumeClaimSpec.spec.accessModes", "[]v1.PersistentVolumeAccessMode"),
        ("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", {"spec": {"metrics": [{"type": 7}]}},
         "MetricSpec.spec.metrics.type", "v2.MetricSourceType"),
        ("/api/v1/namespaces/default/secrets", {"metadata": {"uid": 7}}, "ObjectMeta.metadata.uid", "types.UID"),
        ("/api/v1/namespaces/default/services", {"spec": {"clusterIP": 7}}, "ServiceSpec.spec.clusterIP", "string"),
    ],
)  # fmt: skip
def test_string_types_are_named_as_in_go(path: str, body: Any, field: str, name: str) -> None:
    message = Kube().refused(400, "POST", path, body)["message"]
    assert message.endswith(f"into Go struct field {field} of type {name}")
