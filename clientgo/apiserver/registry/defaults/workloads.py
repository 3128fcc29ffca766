"""Defaults of what runs pods: Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs."""

from typing import Any

from clientgo.apiserver.registry.defaults.filling import Object, filled, within
from clientgo.apiserver.registry.defaults.pods import template

_QUARTER = "25%"


def deployment(obj: Object) -> Object:
    """A Deployment."""
    spec = filled(obj.get("spec"), replicas=1, strategy={}, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = filled(spec["strategy"], type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        strategy["rollingUpdate"] = filled(strategy.get("rollingUpdate"), maxUnavailable=_QUARTER, maxSurge=_QUARTER)
    return {**obj, "spec": {**_templated(spec), "strategy": strategy}}


def replica_set(obj: Object) -> Object:
    """A ReplicaSet."""
    return {**obj, "spec": _templated(filled(obj.get("spec"), replicas=1))}


def replication_controller(obj: Object) -> Object:
    """A ReplicationController: its selector is its template's labels."""
    spec = _templated(filled(obj.get("spec"), replicas=1))
    labels = (spec.get("template") or {}).get("metadata", {}).get("labels")
    return {**obj, "spec": filled(spec, selector=labels) if labels else spec}


def stateful_set(obj: Object) -> Object:
    """A StatefulSet."""
    spec = filled(
        obj.get("spec"), replicas=1, podManagementPolicy="OrderedReady", revisionHistoryLimit=10, updateStrategy={}
    )
    strategy = filled(spec["updateStrategy"], type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        strategy["rollingUpdate"] = filled(strategy.get("rollingUpdate"), partition=0)
    spec["updateStrategy"] = strategy
    retention = filled(spec.get("persistentVolumeClaimRetentionPolicy"), whenDeleted="Retain", whenScaled="Retain")
    spec["persistentVolumeClaimRetentionPolicy"] = retention
    return {**obj, "spec": _templated(spec)}


def daemon_set(obj: Object) -> Object:
    """A DaemonSet."""
    spec = filled(obj.get("spec"), revisionHistoryLimit=10, updateStrategy={})
    strategy = filled(spec["updateStrategy"], type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        strategy["rollingUpdate"] = filled(strategy.get("rollingUpdate"), maxUnavailable=1, maxSurge=0)
    return {**obj, "spec": {**_templated(spec), "updateStrategy": strategy}}


def job(obj: Object) -> Object:
    """A Job; its selector comes with its uid (`job_identity`)."""
    return {**obj, "spec": job_spec(obj.get("spec"))}


def job_identity(obj: Object) -> Object:
    """A Job that selects its pods by its own uid, unless it selects them itself (`manualSelector`)."""
    spec, meta = obj["spec"], obj["metadata"]
    if spec.get("manualSelector") or spec.get("selector"):
        return obj
    uid, name = meta["uid"], meta.get("name", "")
    labels = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    pods = spec["template"]
    pod_meta = {**pods["metadata"], "labels": {**pods["metadata"].get("labels", {}), **labels}}
    selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    return {**obj, "spec": {**spec, "selector": selector, "template": {**pods, "metadata": pod_meta}}}


def job_spec(obj: Any) -> Object:
    """A Job's spec."""
    spec = filled(
        obj,
        parallelism=1,
        backoffLimit=6,
        completionMode="NonIndexed",
        suspend=False,
        podReplacementPolicy="TerminatingOrFailed",
        manualSelector=False,
    )
    if spec["completionMode"] == "NonIndexed" and "parallelism" not in (obj or {}):
        spec = filled(spec, completions=1)
    if not spec["manualSelector"]:
        del spec["manualSelector"]
    return _templated(spec)


def cron_job(obj: Object) -> Object:
    """A CronJob."""
    spec = filled(
        obj.get("spec"),
        concurrencyPolicy="Allow",
        suspend=False,
        successfulJobsHistoryLimit=3,
        failedJobsHistoryLimit=1,
    )
    return {**obj, "spec": within(spec, "jobTemplate", _job_template)}


def pod_template(obj: Object) -> Object:
    """A PodTemplate."""
    return {**obj, "template": template(obj.get("template"))}


def _job_template(obj: Object) -> Object:
    spec = dict(obj.get("spec") or {})
    # A job template gets the pod's defaults; the job's own come when a Job is made of it.
    return {**obj, "metadata": obj.get("metadata") or {}, "spec": _templated(spec)}


def _templated(spec: Object) -> Object:
    return {**spec, "template": template(spec.get("template"))}
