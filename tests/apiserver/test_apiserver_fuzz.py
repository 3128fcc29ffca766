"""Whatever is sent, the answer is a Status or an object: never a fault of the server's own."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.apiserver.inprocess import (
    APPLY,
    DEFINITIONS,
    DEPLOYMENTS,
    FOOS,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Kube,
    definition,
    deployment,
    foo,
)
from tests.budget import examples

CORE = "/api/v1/namespaces/default"
FIELDS = [
    *("metadata", "spec", "status", "name", "labels", "finalizers", "ownerReferences", "managedFields", "fieldsV1"),
    *("containers", "template", "selector", "matchLabels", "ports", "replicas", "deploymentName", "versions", "schema"),
    *("openAPIV3Schema", "properties", "type", "items", "names", "f:spec", "$patch", "strategy", "data", "webhooks"),
    *("maximum", "enum", "pattern", "required", "x-kubernetes-validations", "storage", "group", "annotations"),
]
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 99)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "a", "object", "v1", "Foo", "replace", "delete"])
)
VALUES = st.recursive(
    LEAVES,
    lambda child: st.lists(child, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), child, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=4)
TARGETS = [
    (FOOS, foo()),
    (DEPLOYMENTS, deployment("a")),
    (f"{CORE}/pods", {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}),
    (f"{CORE}/services", {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 1}]}}),
    (f"{CORE}/configmaps", {"metadata": {"name": "a"}}),
    (f"{CORE}/events", {"metadata": {"name": "a"}}),
    ("/apis/batch/v1/namespaces/default/jobs", {"metadata": {"name": "a"}}),
    ("/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", {"metadata": {"name": "a"}}),
    ("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", {"metadata": {"name": "a"}}),
    ("/apis/storage.k8s.io/v1/storageclasses", {"metadata": {"name": "a"}, "provisioner": "p"}),
    (DEFINITIONS, definition("bars", "Bar", "example.com")),
]
FUZZ = settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def overlaid(base: Any, changes: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(changes, dict):
        return changes
    return {**base, **{field: overlaid(base.get(field), value) for field, value in changes.items()}}


@pytest.mark.parametrize(("url", "base"), TARGETS)
@FUZZ
@given(changes=OBJECTS)
def test_any_object_is_taken_or_refused(kube: Kube, url: str, base: dict[str, Any], changes: dict[str, Any]) -> None:
    answer = kube.send("POST", f"{url}?dryRun=All", overlaid(base, changes))
    assert answer.status < 500 or "resourceVersion should not be set" in answer.json()["message"], answer.body


@pytest.mark.parametrize("kind", [MERGE, STRATEGIC, JSON_PATCH, APPLY])
@FUZZ
@given(patch=VALUES)
def test_any_patch_is_taken_or_refused(kube: Kube, kind: str, patch: Any) -> None:
    kube.send("POST", FOOS, foo())
    kube.send("POST", DEPLOYMENTS, deployment("a"))
    for url in (f"{FOOS}/a", f"{FOOS}/a/status", f"{FOOS}/a/scale", f"{DEPLOYMENTS}/a"):
        answer = kube.send("PATCH", f"{url}?fieldManager=m&dryRun=All", patch, kind)
        assert answer.status < 500, answer.body


@FUZZ
@given(query=st.text(alphabet="abcdefgh=!,()<>. in0123&%", max_size=30))
def test_any_query_is_taken_or_refused(kube: Kube, query: str) -> None:
    for name in ("labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "timeoutSeconds"):
        answer = kube.send("GET", f"{FOOS}?{name}={query}")
        assert answer.status < 500 or answer.status == 504, answer.body
