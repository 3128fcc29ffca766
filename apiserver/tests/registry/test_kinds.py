"""Validation of built-in kinds other than workloads, in the words of a real server."""

from typing import Any

import pytest

from apiserver.tests.inprocess import MERGE, Kube

CORE = "/api/v1/namespaces/default"
NETWORKING = "/apis/networking.k8s.io/v1/namespaces/default"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PORT = {"port": 80}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
VOLUME = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
RULE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}


def path(text: str, kind: str = "Prefix", **backend: Any) -> dict[str, Any]:
    service = {"service": {"name": "s", "port": {"number": 80}}, **backend}
    return {"rules": [{"http": {"paths": [{"path": text, "pathType": kind, "backend": service}]}}]}


@pytest.mark.parametrize(
    ("url", "body", "reason"),
    [
        (f"{CORE}/services", {"spec": {"ports": [PORT, {"port": 81}]}}, "spec.ports[0].name: Required value"),
        (f"{CORE}/services", {"spec": {"ports": [{"port": 99999}]}}, "must be between 1 and 65535, inclusive"),
        (f"{CORE}/services", {"spec": {"type": "ExternalName"}}, "spec.externalName: Required value"),
        (f"{CORE}/services", {"spec": {"ports": [PORT], "sessionAffinity": "X"}}, 'values: "ClientIP", "None"'),
        (f"{CORE}/services", {"spec": {"ports": [{**PORT, "nodePort": 30001}]}}, "when `type` is 'ClusterIP'"),
        (f"{CORE}/endpoints", {"subsets": [{"addresses": [{"ip": "127.0.0.1"}]}]}, "in the loopback range"),
        (f"{CORE}/endpoints", {"subsets": [{"ports": [PORT]}]}, "must specify `addresses` or `notReadyAddresses`"),
        (f"{NETWORKING}/ingresses", {"spec": {}}, "spec: Invalid value: null: either `defaultBackend` or `rules`"),
        (f"{NETWORKING}/ingresses", {"spec": path("/a//b")}, "must not contain '//'"),
        (f"{NETWORKING}/ingresses", {"spec": path("/", "X")}, '"Exact", "ImplementationSpecific", "Prefix"'),
        (f"{NETWORKING}/ingresses", {"spec": path("/", service=None)}, "resource or service backend is required"),
        (f"{NETWORKING}/networkpolicies",
         {"spec": {"podSelector": {}, "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.1/8"}}]}]}},
         "must not have bits set beyond the prefix length"),
        (f"{NETWORKING}/networkpolicies",
         {"spec": {"podSelector": {}, "egress": [{"ports": [{"port": 80, "endPort": 70}]}]}},
         "spec.egress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`"),
        (f"{CORE}/secrets", {"type": "kubernetes.io/tls"}, "[data[tls.crt]: Required value, data[tls.key]: Required"),
        (f"{CORE}/configmaps", {"data": {"a": "b"}, "binaryData": {"a": "YQ=="}}, "duplicate of key present"),
        (f"{CORE}/persistentvolumeclaims", {"spec": {}}, "at least 1 access mode is required"),
        ("/api/v1/persistentvolumes", {"spec": VOLUME}, "spec: Required value: must specify a volume type"),
        ("/api/v1/persistentvolumes", {"spec": {**VOLUME, "local": {"path": "/x"}}},
         "spec.nodeAffinity: Required value: Local volume requires node affinity"),
        ("/apis/storage.k8s.io/v1/storageclasses", {}, "provisioner: Required value"),
        ("/apis/scheduling.k8s.io/v1/priorityclasses", {"value": 2 * 10**9}, "maximum allowed value of a user defined"),
        ("/api/v1/nodes", {"spec": {"taints": [{"key": "a", "effect": "X"}]}}, '"NoSchedule", "PreferNoSchedule", "No'),
        (f"{CORE}/resourcequotas", {"spec": {"hard": {"pods": "1.5"}}}, "must be an integer"),
        (f"{CORE}/resourcequotas", {"spec": {"hard": {"bogus": "1"}}}, "must be a standard resource for quota"),
        (f"{CORE}/limitranges",
         {"spec": {"limits": [{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]}},
         'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1'),
        (f"{RBAC}/namespaces/default/roles", {"rules": [{"verbs": ["get"]}]}, "must supply at least one api group"),
        (f"{RBAC}/namespaces/default/rolebindings",
         {"roleRef": RULE, "subjects": [{"kind": "ServiceAccount", "name": "x", "apiGroup": "y"}]},
         'subjects[0].apiGroup: Unsupported value: "y": supported values: ""'),
        ("/apis/events.k8s.io/v1/namespaces/default/events", {"regarding": {"namespace": "default"}, "type": "X"},
         'Event "x" is invalid: [eventTime: Required value, type: Invalid value: "": has invalid value: X]'),
        ("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
         {"webhooks": [{"name": "a.b.c", "rules": [{"operations": ["*", "CREATE"]}]}]},
         "if '*' is present, must not specify other operations"),
    ],
)  # fmt: skip
def test_invalid_objects_are_rejected(kube: Kube, url: str, body: dict[str, Any], reason: str) -> None:
    assert reason in kube.refused(422, "POST", url, {"metadata": {"name": "x"}, **body})["message"]


@pytest.mark.parametrize(
    ("url", "body", "patch", "reason"),
    [
        (f"{CORE}/secrets", {}, {"type": "other"}, 'type: Invalid value: "other": field is immutable'),
        (f"{CORE}/persistentvolumeclaims", {"spec": CLAIM}, {"spec": {"accessModes": ["ReadOnlyMany"]}},
         "is immutable"),
        ("/api/v1/persistentvolumes", {"spec": {**VOLUME, "hostPath": {"path": "/x"}}},
         {"spec": {"hostPath": {"path": "/y"}}}, "spec.persistentvolumesource is immutable after creation"),
        ("/apis/storage.k8s.io/v1/storageclasses", {"provisioner": "a.b/c"}, {"parameters": {"a": "b"}},
         'parameters: Invalid value: {"a":"b"}: field is immutable'),
        (f"{RBAC}/namespaces/default/rolebindings", {"roleRef": RULE}, {"roleRef": {"name": "y"}},
         "cannot change roleRef"),
        ("/apis/scheduling.k8s.io/v1/priorityclasses", {"value": 5}, {"value": 6}, "may not be changed in an update."),
    ],
)  # fmt: skip
def test_immutable_fields_are_kept(
    kube: Kube, url: str, body: dict[str, Any], patch: dict[str, Any], reason: str
) -> None:
    kube.ok("POST", url, {"metadata": {"name": "x"}, **body})
    kube.ok("PATCH", f"{url}/x", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    assert reason in kube.refused(422, "PATCH", f"{url}/x", patch, MERGE)["message"]
