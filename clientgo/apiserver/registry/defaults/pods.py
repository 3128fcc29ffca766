"""Defaults of pods and pod templates."""

from typing import Any

from clientgo.apiserver.registry.defaults.filling import Object, each, filled, within

_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_FILE_MODE = 420  # 0644


def pod(obj: Object) -> Object:
    """A Pod: its spec's defaults, those the scheduler's side adds, and its quality of service."""
    spec = filled(
        pod_spec(obj.get("spec")), enableServiceLinks=True, preemptionPolicy="PreemptLowerPriority", priority=0
    )
    spec = within(spec, "containers", lambda items: each(items, _requests))
    obj = {**obj, "spec": spec}
    if isinstance(obj.get("status"), dict):
        obj["status"] = filled(obj["status"], qosClass=quality_of_service(spec))
    return obj


def template(obj: Any) -> Object:
    """A pod template."""
    given = dict(obj) if isinstance(obj, dict) else {}
    meta = {field: value for field, value in (given.get("metadata") or {}).items() if value not in (None, {}, [])}
    return {**given, "metadata": meta, "spec": pod_spec(given.get("spec"))}


def pod_spec(obj: Any) -> Object:
    """A pod's spec."""
    spec = filled(
        obj,
        restartPolicy="Always",
        terminationGracePeriodSeconds=30,
        dnsPolicy="ClusterFirst",
        securityContext={},
        schedulerName="default-scheduler",
    )
    for field in ("containers", "initContainers"):
        spec = within(spec, field, lambda items: each(items, container))
    if spec.get("serviceAccountName") and not spec.get("serviceAccount"):
        spec["serviceAccount"] = spec["serviceAccountName"]
    elif spec.get("serviceAccount") and not spec.get("serviceAccountName"):
        spec["serviceAccountName"] = spec["serviceAccount"]
    return within(spec, "volumes", lambda items: each(items, volume))


def container(obj: Object) -> Object:
    """A container."""
    new = filled(
        obj,
        resources={},
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy=pull_policy(obj.get("image") or ""),
    )
    for field in _PROBES:
        new = within(new, field, _probe)
    new = within(new, "ports", lambda items: each(items, lambda port: filled(port, protocol="TCP")))
    return within(new, "env", lambda items: each(items, _variable))


def pull_policy(image: str) -> str:
    """Always for `latest` or no tag at all, IfNotPresent for any other tag or digest."""
    name, at, _ = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "IfNotPresent" if at or tag not in ("", "latest") else "Always"


def volume(obj: Object) -> Object:
    """A volume; one without a source is an empty directory."""
    if set(obj) <= {"name"}:
        return {**obj, "emptyDir": {}}
    for field in ("secret", "configMap", "downwardAPI", "projected"):
        obj = within(obj, field, lambda source: filled(source, defaultMode=_FILE_MODE))
    return within(obj, "hostPath", lambda source: filled(source, type=""))


def quality_of_service(spec: Object) -> str:
    """Guaranteed, Burstable or BestEffort, by the resources its containers ask for and are limited to."""
    guaranteed, any_given = True, False
    for one in spec.get("containers") or ():
        resources = one.get("resources") or {}
        limits, requested = resources.get("limits") or {}, resources.get("requests") or {}
        any_given = any_given or bool(limits or requested)
        for name in ("cpu", "memory"):
            guaranteed = guaranteed and name in limits and requested.get(name, limits[name]) == limits[name]
    if not any_given:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _requests(obj: Object) -> Object:
    resources = obj.get("resources") or {}
    if not resources.get("limits"):
        return obj
    requests = {**resources["limits"], **(resources.get("requests") or {})}
    return {**obj, "resources": {**resources, "requests": requests}}


def _probe(obj: Object) -> Object:
    probe = filled(obj, **_PROBE)
    probe = within(probe, "httpGet", lambda get: filled(get, path="/", scheme="HTTP"))
    return within(probe, "grpc", lambda grpc: filled(grpc, service=""))


def _variable(obj: Object) -> Object:
    def source(value: Object) -> Object:
        return within(value, "fieldRef", lambda ref: filled(ref, apiVersion="v1"))

    return within(obj, "valueFrom", source)
