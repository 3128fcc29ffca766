"""Objects for measurements: Foos as users write them, Deployments as a cluster stores them."""

import json
import uuid
from typing import Any

AVAILABLE = 2
"""Available replicas of a running Deployment."""
OWNER_UID = "6b1b0a3c-7f0a-4c56-a3c2-0c3f4f6f8a11"


def foo(name: str, replicas: int = 1) -> bytes:
    """Return a Foo to create."""
    spec = {"deploymentName": name, "replicas": replicas}
    return _json(
        {
            "apiVersion": "samplecontroller.k8s.io/v1alpha1",
            "kind": "Foo",
            "metadata": {"name": name, "labels": {"app": "shop", "team": "payments"}},
            "spec": spec,
        }
    )


def stored_foo(name: str, version: int, namespace: str = "default", replicas: int = 1) -> bytes:
    """Return a Foo as a server sends it."""
    document = json.loads(foo(name, replicas))
    document["metadata"] |= {
        "namespace": namespace,
        "uid": str(uuid.uuid5(uuid.NAMESPACE_DNS, name)),
        "resourceVersion": str(version),
        "generation": 1,
        "creationTimestamp": "2026-11-20T08:15:00Z",
    }
    document["status"] = {"availableReplicas": replicas}
    return _json(document)


def deployment(name: str, uid: str = OWNER_UID, replicas: int = 1) -> bytes:
    """Return the Deployment that the sample controller creates for a Foo."""
    labels = {"app": "nginx", "controller": name}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "nginx", "image": "nginx:latest"}]},
        },
    }
    meta = {"name": name, "ownerReferences": [owner(name, uid)]}
    return _json({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec})


def running_deployment(name: str, namespace: str = "default", uid: str = "", *, replicas: int = 2) -> bytes:
    """Return a typical Deployment with labels, probes and two conditions, owned by the Foo with that uid, if any."""
    labels = {
        "app.kubernetes.io/name": "shop",
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/part-of": "payments",
    }
    probe = {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10, "timeoutSeconds": 1}
    container = {
        "name": "server",
        "image": "registry.example.com/shop/server:1.24.3",
        "args": ["--listen=:8080", "--log-format=json"],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [
            {"name": "REGION", "value": "eu-central-1"},
            {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": name, "key": "password"}}},
        ],
        "resources": {"limits": {"memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
        "livenessProbe": probe,
        "readinessProbe": probe,
        "volumeMounts": [{"name": "config", "mountPath": "/etc/shop"}],
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    pod = {
        "containers": [container],
        "volumes": [{"name": "config", "configMap": {"name": name, "defaultMode": 420}}],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
    }
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
        "strategy": rolling,
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    }
    meta: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "labels": labels,
        "annotations": {"deployment.kubernetes.io/revision": "3"},
    }
    if uid:
        meta["ownerReferences"] = [owner(name, uid)]
    full = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec, "status": _status()}
    return _json(full)


def stored_deployment(name: str, version: int) -> bytes:
    """Return a running Deployment as a server sends it, with managed fields of two writers."""
    document = json.loads(running_deployment(name, uid=OWNER_UID))
    document["metadata"] |= {
        "uid": f"1d7c4b63-9a3e-4c1f-8a3b-{version:012d}",
        "resourceVersion": str(version),
        "generation": 3,
        "creationTimestamp": "2026-11-20T08:15:00Z",
        "managedFields": [
            _managed("kubectl", document["spec"], "f:spec", ""),
            _managed("kube-controller-manager", document["status"], "f:status", "status"),
        ],
    }
    return _json(document)


def owner(name: str, uid: str) -> dict[str, Any]:
    """Return a controller reference to a Foo."""
    version = "samplecontroller.k8s.io/v1alpha1"
    flags = {"controller": True, "blockOwnerDeletion": True}
    return {"apiVersion": version, "kind": "Foo", "name": name, "uid": uid, **flags}


def event(name: str, uid: str, number: int, namespace: str) -> bytes:
    """Return the event that the sample controller sends for a synced Foo."""
    involved = {
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "kind": "Foo",
        "name": name,
        "namespace": namespace,
        "uid": uid,
    }
    return _json(
        {
            "metadata": {"name": f"{name}.{number:016x}", "namespace": namespace},
            "involvedObject": involved,
            "reason": "Synced",
            "message": "Foo synced successfully",
            "type": "Normal",
            "count": 1,
            "firstTimestamp": "2026-11-20T08:15:00Z",
            "lastTimestamp": "2026-11-20T08:15:00Z",
            "source": {"component": "sample-controller"},
            "reportingComponent": "sample-controller",
            "reportingInstance": "",
        }
    )


def _status() -> dict[str, Any]:
    times = {"lastUpdateTime": "2026-11-20T08:15:42Z", "lastTransitionTime": "2026-11-20T08:15:00Z", "status": "True"}
    available = {
        "type": "Available",
        "reason": "MinimumReplicasAvailable",
        "message": "Deployment has minimum availability.",
    }
    progressing = {"type": "Progressing", "reason": "NewReplicaSetAvailable", "message": "ReplicaSet has progressed."}
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), AVAILABLE)
    return {"observedGeneration": 3, **counts, "conditions": [{**available, **times}, {**progressing, **times}]}


def _managed(manager: str, value: Any, under: str, subresource: str) -> dict[str, Any]:
    entry = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "apps/v1",
        "time": "2026-11-20T08:15:42Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {under: _fields(value)},
    }
    return {**entry, "subresource": subresource} if subresource else entry


def _fields(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {f"f:{key}": _fields(inner) for key, inner in value.items()}
    return {}


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
