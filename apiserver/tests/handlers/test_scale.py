"""Scale subresource: what a Scale must say, who owns the replicas, and custom kinds without them."""

from collections.abc import Mapping

import pytest

from apiserver.tests.inprocess import (
    APPLY,
    DEFINITIONS,
    DEPLOYMENTS,
    GROUP,
    MERGE,
    STRATEGIC,
    Kube,
    Object,
    definition,
    deployment,
)

WIDGETS = f"/apis/{GROUP}/v1alpha1/namespaces/default/widgets"
SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 3}}


def scale(replicas: int, **meta: str) -> Object:
    return {**SCALE, "metadata": {"name": "a", **meta}, "spec": {"replicas": replicas}}


def owners(kube: Kube) -> dict[str, str]:
    """Return the operation of each manager that owns the replicas of the Deployment."""
    entries = kube.ok("GET", f"{DEPLOYMENTS}/a")["metadata"]["managedFields"]
    return {entry["manager"]: entry["operation"] for entry in entries if "f:replicas" in entry["fieldsV1"]["f:spec"]}


@pytest.fixture
def kube() -> Kube:
    cluster = Kube()
    cluster.ok("POST", f"{DEPLOYMENTS}?fieldManager=creator", deployment("a"))
    return cluster


@pytest.fixture
def widgets() -> Kube:
    """Return a server with a custom object whose replicas are not set."""
    schema: Object = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
    crd = definition("widgets", "Widget", schema=schema)
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    crd["spec"]["versions"][0]["subresources"] = {"scale": paths}
    cluster = Kube()
    cluster.ok("POST", DEFINITIONS, crd)
    cluster.ok("POST", WIDGETS, {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Widget", "metadata": {"name": "a"}})
    return cluster


@pytest.mark.parametrize(
    ("body", "code", "reason"),
    [
        ({"spec": {"replicas": 2}}, 400, "name must be provided"),
        (scale(2, namespace="other"), 400, "does not match the namespace sent on the request"),
        (scale(2, uid="u"), 409, "UID in precondition: u"),
        (scale(2, resourceVersion="1"), 409, "the object has been modified"),
        (scale(-1), 422, "must be greater than or equal to 0"),
    ],
)
def test_scale_of_another_object_is_rejected(kube: Kube, body: Object, code: int, reason: str) -> None:
    assert reason in kube.refused(code, "PUT", f"{DEPLOYMENTS}/a/scale", body)["message"]
    assert kube.ok("GET", f"{DEPLOYMENTS}/a")["metadata"]["generation"] == 1


def test_sent_scale_is_decoded_before_its_object_is_read(kube: Kube) -> None:
    kube.refused(400, "PUT", f"{DEPLOYMENTS}/missing/scale", {"apiVersion": "apps/v1beta1", "kind": "Scale"})
    kube.refused(404, "PUT", f"{DEPLOYMENTS}/missing/scale", {"metadata": {"name": "missing"}})


@pytest.mark.parametrize("validation", ["Warn", "Strict"])
def test_unknown_field_of_a_scale_is_reported(kube: Kube, validation: str) -> None:
    url = f"{DEPLOYMENTS}/a/scale?fieldValidation={validation}"
    response = kube.send("PATCH", url, {"spec": {"size": 1}}, MERGE)
    assert response.status == (200 if validation == "Warn" else 422)
    reported: Mapping[str, str] = dict(response.headers)
    assert 'unknown field \\"spec.size\\"' in reported.get("Warning", response.body.decode())


def test_scale_to_zero_has_no_owner(kube: Kube) -> None:
    kube.ok("PUT", f"{DEPLOYMENTS}/a/scale?fieldManager=m", scale(0))
    assert owners(kube) == {}


def test_replicas_without_an_owner_were_there_before_the_first_apply(kube: Kube) -> None:
    kube.ok("PUT", f"{DEPLOYMENTS}/a/scale", scale(0))
    kube.ok("PATCH", f"{DEPLOYMENTS}/a/scale", {"spec": {"replicas": 2}}, MERGE)
    url = f"{DEPLOYMENTS}/a/scale?fieldManager=m"
    status = kube.refused(409, "PATCH", url, SCALE, APPLY)
    conflict = 'conflict with "before-first-apply" with subresource "scale" using autoscaling/v1'
    assert status["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": conflict, "field": ".spec.replicas"}
    ]
    assert kube.ok("PATCH", f"{url}&force=true", SCALE, APPLY)["spec"] == {"replicas": 3}
    assert owners(kube) == {"m": "Apply"}


def test_applied_scale_takes_the_replicas_and_gives_them_up(kube: Kube) -> None:
    url = f"{DEPLOYMENTS}/a/scale?fieldManager=m"
    kube.ok("PATCH", f"{url}&force=true", SCALE, APPLY)
    assert owners(kube) == {"m": "Apply"}
    kube.ok("PATCH", f"{DEPLOYMENTS}/a/scale?fieldManager=u", {"spec": {"replicas": 5}}, MERGE)
    assert 'conflict with "u"' in kube.refused(409, "PATCH", url, SCALE, APPLY)["message"]
    kube.ok("PATCH", url, scale(5), APPLY)
    assert owners(kube) == {"m": "Apply", "u": "Update"}
    kube.ok("PATCH", url, {**SCALE, "spec": {}}, APPLY)
    assert owners(kube) == {"u": "Update"}


def test_custom_object_without_replicas_has_no_scale(widgets: Kube) -> None:
    status = widgets.refused(500, "GET", f"{WIDGETS}/a/scale")
    assert status["message"] == 'Internal error occurred: the spec replicas field ".spec.replicas" does not exist'
    status = widgets.refused(400, "PATCH", f"{WIDGETS}/a/scale", {"metadata": {}}, MERGE)
    assert status["message"] == 'the spec replicas field ".spec.replicas" cannot be empty'
    widgets.ok("PUT", f"{WIDGETS}/a/scale", scale(2))
    assert widgets.ok("GET", f"{WIDGETS}/a/scale")["spec"] == {"replicas": 2}


def test_scale_of_a_custom_object_is_neither_merged_strategically_nor_applied(widgets: Kube) -> None:
    widgets.ok("PUT", f"{WIDGETS}/a/scale", scale(2))
    widgets.refused(415, "PATCH", f"{WIDGETS}/a/scale", {"spec": {"replicas": 3}}, STRATEGIC)
    status = widgets.refused(500, "PATCH", f"{WIDGETS}/a/scale?fieldManager=m&force=true", SCALE, APPLY)
    assert "request to convert CR to an invalid group/version: autoscaling/v1" in status["message"]


@pytest.mark.parametrize(("version", "owned"), [({}, False), ({"apiVersion": "autoscaling/v1", "kind": "Scale"}, True)])
def test_unversioned_scale_of_a_custom_object_takes_the_replicas_from_their_owner(
    widgets: Kube, version: Object, owned: bool
) -> None:
    kind = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Widget"}
    widgets.ok("POST", WIDGETS, {**kind, "metadata": {"name": "b"}, "spec": {"replicas": 1}})
    widgets.ok("PUT", f"{WIDGETS}/b/scale", {**version, "metadata": {"name": "b"}, "spec": {"replicas": 2}})
    entries = widgets.ok("GET", f"{WIDGETS}/b")["metadata"]["managedFields"]
    assert any("f:replicas" in entry["fieldsV1"].get("f:spec", {}) for entry in entries) is owned


def test_apply_of_a_custom_scale_without_managers_fails_for_the_live_object(widgets: Kube) -> None:
    status = widgets.refused(500, "PATCH", f"{WIDGETS}/a/scale?fieldManager=m", SCALE, APPLY)
    assert status["message"].startswith(
        "failed to create manager for existing fields: failed to convert live object (/;"
    )


def test_scaled_workload_has_the_warnings_of_its_pods(kube: Kube) -> None:
    ports = [{"name": "c", "image": "i", "ports": [{"containerPort": 1}, {"containerPort": 1, "hostPort": 2}]}]
    kube.ok("PATCH", f"{DEPLOYMENTS}/a", {"spec": {"template": {"spec": {"containers": ports}}}}, MERGE)
    response = kube.send("PUT", f"{DEPLOYMENTS}/a/scale", scale(2))
    assert "overlapping port definition" in dict(response.headers)["Warning"]


def test_replacement_of_a_missing_custom_object_by_another_kind_is_not_found(widgets: Kube) -> None:
    other = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Other", "metadata": {"name": "a", "resourceVersion": "0"}}
    widgets.refused(404, "PUT", f"{WIDGETS}/missing", {**other, "metadata": {"name": "missing"}})
    status = widgets.refused(422, "PUT", f"{WIDGETS}/a", other)
    assert status["details"]["causes"][0]["field"] == "metadata.resourceVersion"


def test_replicas_that_the_schema_does_not_have_are_validated_and_not_reported() -> None:
    crd = definition("widgets", "Widget", schema={"type": "object"})
    kube = Kube()
    kube.ok("POST", DEFINITIONS, crd)
    kube.ok("POST", WIDGETS, {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Widget", "metadata": {"name": "a"}})
    assert "Warning" not in dict(kube.send("PUT", f"{WIDGETS}/a/scale", scale(2)).headers)
    status = kube.refused(422, "PUT", f"{WIDGETS}/a/scale", scale(-1))
    assert status["details"]["causes"][0]["message"] == "Invalid value: -1: should be a non-negative integer"
