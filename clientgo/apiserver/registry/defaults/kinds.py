"""Which defaults a built-in kind gets: one function a kind, found by (group, plural).

The values are those the real server fills in (the defaults of its versioned types) as recorded from one.
"""

from collections.abc import Callable
from typing import Any

from clientgo.apiserver.apiextensions import crdschema
from clientgo.apiserver.registry.defaults import core, pods, workloads
from clientgo.apiserver.registry.registry import Resource
from clientgo.clock import Clock

Object = dict[str, Any]
Defaulter = Callable[[Object], Object]


def set_defaults(resource: Resource, obj: Object, old: Object | None, clock: Clock) -> Object:
    """The object with its kind's defaults; the one given is not changed.

    A new object of a kind with a status starts with the status the server gives it, not with the client's.
    """
    fresh = old is None
    if fresh and resource.status and resource.storage not in _KEEPS_STATUS:
        obj = {**obj, "status": _FIRST_STATUS.get(resource.storage, dict)()}
    defaulter = _DEFAULTS.get(resource.storage)
    return defaulter(obj) if defaulter is not None else obj


# The kubelet registers its node with a status; a definition's status is its controller's.
_KEEPS_STATUS = frozenset({("", "nodes"), ("apiextensions.k8s.io", "customresourcedefinitions")})
_FIRST_STATUS: dict[tuple[str, str], Callable[[], Object]] = {
    ("", "namespaces"): lambda: {"phase": "Active"},
    ("", "pods"): lambda: {"phase": "Pending"},
    ("", "services"): lambda: {"loadBalancer": {}},
    ("", "persistentvolumes"): lambda: {"phase": "Pending"},
    ("", "persistentvolumeclaims"): lambda: {"phase": "Pending"},
    ("", "replicationcontrollers"): lambda: {"replicas": 0},
    ("apps", "replicasets"): lambda: {"replicas": 0},
    ("apps", "statefulsets"): lambda: {"replicas": 0, "availableReplicas": 0},
    ("apps", "daemonsets"): lambda: {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    },
    ("networking.k8s.io", "ingresses"): lambda: {"loadBalancer": {}},
    ("policy", "poddisruptionbudgets"): lambda: {
        "disruptionsAllowed": 0,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
    },
    ("autoscaling", "horizontalpodautoscalers"): lambda: {"desiredReplicas": 0, "currentMetrics": None},
}
_DEFAULTS: dict[tuple[str, str], Defaulter] = {
    ("", "namespaces"): core.namespace,
    ("", "events"): core.event,
    ("", "services"): core.service,
    ("", "limitranges"): core.limit_range,
    ("", "secrets"): core.secret,
    ("", "persistentvolumeclaims"): core.volume_claim,
    ("", "persistentvolumes"): core.volume,
    ("", "pods"): pods.pod,
    ("", "podtemplates"): workloads.pod_template,
    ("", "replicationcontrollers"): workloads.replication_controller,
    ("apps", "deployments"): workloads.deployment,
    ("apps", "replicasets"): workloads.replica_set,
    ("apps", "statefulsets"): workloads.stateful_set,
    ("apps", "daemonsets"): workloads.daemon_set,
    ("batch", "jobs"): workloads.job,
    ("batch", "cronjobs"): workloads.cron_job,
    ("apiextensions.k8s.io", "customresourcedefinitions"): crdschema.with_defaults,
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): core.mutating_webhooks,
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): core.validating_webhooks,
    ("autoscaling", "horizontalpodautoscalers"): core.autoscaler,
    ("networking.k8s.io", "networkpolicies"): core.network_policy,
    ("storage.k8s.io", "storageclasses"): core.storage_class,
    ("scheduling.k8s.io", "priorityclasses"): core.priority_class,
    ("rbac.authorization.k8s.io", "rolebindings"): core.role_binding,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): core.role_binding,
}
