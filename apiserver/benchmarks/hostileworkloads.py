"""Hostile workloads, whose pods the server creates, and changes of what has thousands of pods."""

from collections.abc import Iterator
from typing import Any

from apiserver.benchmarks.hostilemore import CONTAINER, Table
from apiserver.benchmarks.hostilerequests import MERGE, Request, encoded, post

WORKLOADS, LIVES = Table(), Table()

_CORE, _APPS, _BATCH = (f"/{path}/namespaces/default" for path in ("api/v1", "apis/apps/v1", "apis/batch/v1"))
_BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
_SIMULATED = "simulation.clientgo.dev"
_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER], "restartPolicy": "Always"}}
_SELECTOR = {"matchLabels": {"a": "b"}}
_SELECTED = {"selector": _SELECTOR, "template": _TEMPLATE}
_RUN_ONCE = {"containers": [CONTAINER], "restartPolicy": "Never"}
_ONCE = {"template": {"spec": _RUN_ONCE}}
_FAILING = {"template": {"metadata": {"annotations": {f"{_SIMULATED}/pod": "failed"}}, "spec": _RUN_ONCE}}
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_ALL = 2**31 - 1


def _created(path: str, spec: Any, name: str = "w") -> Request:
    return post(path, {"metadata": {"name": name}, "spec": spec})


def _workload(name: str, path: str, spec: Any) -> None:
    WORKLOADS.only(f"pods: {name}", _created(path, spec, f"w{len(WORKLOADS)}"), pause=3.0)


_workload("a Job of 2,147,483,647 pods", f"{_BATCH}/jobs", {**_ONCE, "parallelism": _ALL})
_workload(
    "an Indexed Job of 100,000 pods",
    f"{_BATCH}/jobs",
    {**_ONCE, "parallelism": 100_000, "completions": 100_000, "completionMode": "Indexed"},
)
_workload(
    "a CronJob on the 31st of February",
    f"{_BATCH}/cronjobs",
    {"schedule": "0 0 31 2 *", "jobTemplate": {"spec": _ONCE}},
)
_workload(
    "a StatefulSet of 2,147,483,647 pods",
    f"{_APPS}/statefulsets",
    {**_SELECTED, "serviceName": "s", "replicas": _ALL, "podManagementPolicy": "Parallel"},
)
_workload("a Deployment of 2,147,483,647 pods", f"{_APPS}/deployments", {**_SELECTED, "replicas": _ALL})
_workload("a ReplicaSet of 2,147,483,647 pods", f"{_APPS}/replicasets", {**_SELECTED, "replicas": _ALL})
_workload(
    "a Job of 2,147,483,647 pods that fail",
    f"{_BATCH}/jobs",
    {**_FAILING, "parallelism": _ALL, "backoffLimit": _ALL},
)
_workload(
    "a StatefulSet with claims",
    f"{_APPS}/statefulsets",
    {
        **_SELECTED,
        "serviceName": "s",
        "replicas": 100_000,
        "podManagementPolicy": "Parallel",
        "volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": _CLAIM}],
    },
)
_workload(
    "a CronJob each second",
    f"{_BATCH}/cronjobs",
    {"schedule": "@every 1s", "jobTemplate": {"spec": {**_ONCE, "parallelism": 50}}},
)

# Changes of 100,000 pods of a Deployment behind a Service, with a budget, and of 1,000 nodes.


_CROWD_CORE, _CROWD_APPS, _CROWD_BUDGETS = (path.replace("default", "crowd") for path in (_CORE, _APPS, _BUDGETS))


def _deployment() -> Iterator[Request]:
    yield post("/api/v1/namespaces", {"metadata": {"name": "crowd"}})
    yield post(
        f"{_CROWD_CORE}/services",
        {"metadata": {"name": "s"}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}},
    )
    yield _created(_CROWD_BUDGETS, {"maxUnavailable": "30%", "selector": _SELECTOR})
    yield _created(f"{_CROWD_APPS}/deployments", {**_SELECTED, "replicas": 100_000})


def _change(name: str, path: str, value: Any) -> None:
    LIVES.only(f"life: {name}", ("PATCH", path, encoded(value), MERGE), pause=3.0)


LIVES.row("life: a Deployment of 100,000 pods behind a Service", _deployment, pause=8.0)
_UNAVAILABLE: Any = {"metadata": {"annotations": {f"{_SIMULATED}/available": "false"}}}
_NEW_TEMPLATE = {"spec": {"template": {"spec": {"containers": [{**CONTAINER, "image": "j"}]}}}}
_change("none of its pods is available", f"{_CROWD_APPS}/deployments/w", _UNAVAILABLE)
_change("it has a new template", f"{_CROWD_APPS}/deployments/w", _NEW_TEMPLATE)
for _ready in ("unknown", None):
    _node: Any = {"metadata": {"annotations": {f"{_SIMULATED}/ready": _ready}}}
    _change(f"a node is {_ready or 'known again'}", "/api/v1/nodes/node-1", _node)
_change("it has no pods", f"{_CROWD_APPS}/deployments/w", {"spec": {"replicas": 0}})


def _daemons() -> Iterator[Request]:
    for number in range(1_000):
        yield post("/api/v1/nodes", {"metadata": {"name": f"n{number}"}})
    yield _created(f"{_CROWD_APPS}/daemonsets", _SELECTED)


LIVES.row("life: a DaemonSet on 1,000 nodes", _daemons, pause=8.0)
LIVES.only("life: all pods are deleted", ("DELETE", f"{_CROWD_CORE}/pods", b"", ""), pause=3.0)
LIVES.only("life: their namespace is deleted", ("DELETE", _CROWD_CORE, b"", ""), pause=3.0)
