"""Inputs for fuzzing the bundled server, and the check of its responses; used by `tests/fuzz`."""

import json
from typing import Any

from apiserver.tests.inprocess import (
    APPLY,
    DEFINITIONS,
    DEPLOYMENTS,
    FOOS,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Kube,
    Object,
    definition,
    deployment,
    foo,
)
from clientgo_apiserver.http.messages import HTTPResponse

CORE = "/api/v1/namespaces/default"
CREATABLE: list[tuple[str, Object]] = [
    (FOOS, foo("b", replicas=3)),
    (DEPLOYMENTS, deployment("b", 2)),
    (f"{CORE}/pods", {"metadata": {"name": "b"}, "spec": {"containers": [{"name": "c", "image": "i", "ports": []}]}}),
    (f"{CORE}/services", {"metadata": {"name": "b"}, "spec": {"ports": [{"port": 1, "targetPort": "x"}]}}),
    (f"{CORE}/configmaps", {"metadata": {"name": "b", "ownerReferences": []}, "data": {"a": "b"}}),
    (f"{CORE}/events", {"metadata": {"name": "b"}, "involvedObject": {"namespace": "default"}, "reason": "r"}),
    (f"{CORE}/secrets", {"metadata": {"name": "b"}}),
    ("/apis/batch/v1/namespaces/default/jobs", {"metadata": {"name": "b"}}),
    ("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
     {"metadata": {"name": "b"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
    ("/apis/coordination.k8s.io/v1/namespaces/default/leases",
     {"metadata": {"name": "b"}, "spec": {"leaseDurationSeconds": 15, "renewTime": "2024-01-01T00:00:00.0Z"}}),
    (DEFINITIONS, definition("bars", "Bar", "example.com")),
    ("/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", {"metadata": {"name": "b"}}),
    ("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", {"metadata": {"name": "b"}}),
    ("/apis/storage.k8s.io/v1/storageclasses", {"metadata": {"name": "b"}, "provisioner": "p"}),
]  # fmt: skip
"""URL to create objects at, and a valid object. The kept inputs select one by position: append, do not reorder."""

PATCHED = [f"{FOOS}/a", f"{FOOS}/a/status", f"{FOOS}/a/scale", f"{DEPLOYMENTS}/a", f"{DEPLOYMENTS}/a/status"]
PATCH_TYPES = [MERGE, STRATEGIC, JSON_PATCH, APPLY]
FIELDS = [
    *("metadata", "spec", "status", "name", "labels", "annotations", "finalizers", "ownerReferences"),
    *("managedFields", "fieldsV1", "f:spec", "containers", "template", "selector", "matchLabels", "ports"),
    *("replicas", "deploymentName", "strategy", "data", "webhooks", "resources", "requests", "cpu", "names", "group"),
    *("versions", "storage", "schema", "openAPIV3Schema", "properties", "type", "items", "required", "enum"),
    *("default", "maximum", "pattern", "x-kubernetes-validations", "rule", "deletionTimestamp", "generateName", "op"),
    *("path", "from", "$patch", "$retainKeys", "$setElementOrder/containers"),
]


def with_objects() -> Kube:
    """Return a server that holds a Foo and a Deployment called a."""
    kube = Kube()
    kube.ok("POST", FOOS, foo())
    kube.ok("POST", DEPLOYMENTS, deployment("a"))
    return kube


# Messages of mistakes for which a real server, too, answers 500.
BLAMED_ON_THE_SERVER = (
    b"resourceVersion should not be set",
    b"does not contain declared merge key",
    b"unknown patch type",
    b"doesn't match $setElementOrder list",
    b"expected a",
    b"merging lists cannot yet be specified in the patch",
    b"is not a map",
    b"without merge key",
    b"unable to find api field",
    b"expected slice or array type",
    b"no elements in any of the given slices",
    b"list element types are not identical",
    b"data type is not struct",
    b"failed to create typed",
    b"resourceVersion: Invalid value",
)


def outcome(httpresponse: HTTPResponse) -> str:
    """Return the status code and message of a response; fail if the server broke or rejected without a message."""
    expected = httpresponse.status == 504 or any(text in httpresponse.body for text in BLAMED_ON_THE_SERVER)
    assert httpresponse.status < 500 or expected, httpresponse.body[:400]
    if httpresponse.status == 404 and httpresponse.body in (b"404 page not found\n", b""):
        return "no such page"  # Go's HTTP server sends this text, not a Status; /openapi/v3/x has no body
    if httpresponse.status < 400:
        return str(httpresponse.status)
    status: Any = json.loads(httpresponse.body)
    assert status.get("kind") == "Status", httpresponse.body[:400]
    assert status.get("message"), httpresponse.body[:400]
    return f"{httpresponse.status} {status['message'][:40]}"
