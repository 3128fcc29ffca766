"""Workloads of many pods: what one sync decides is done a few pods after the other, while other clients are served."""

from typing import Any

import pytest

from apiserver.tests.cluster.podcluster import NODES, PODS, REPLICA_SETS, Object, PodCluster, pod_template
from clientgo_apiserver.api.limits import MAX_WAITING_PODS
from clientgo_apiserver.cluster.podcontrol import SLICE
from clientgo_apiserver.storage.stored import Key

JOBS: Key = ("batch", "jobs")
STATEFUL_SETS: Key = ("apps", "statefulsets")
DAEMON_SETS: Key = ("apps", "daemonsets")
ONCE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
SELECTED = {"selector": {"matchLabels": {"app": "w"}}, "template": pod_template("w", "i")}
INDEXED = {"completionMode": "Indexed", "template": ONCE}

WORKLOADS: list[tuple[Key, Object]] = [
    (REPLICA_SETS, {**SELECTED, "replicas": 60}),
    (("", "replicationcontrollers"), {"selector": {"app": "w"}, "template": SELECTED["template"], "replicas": 60}),
    (STATEFUL_SETS, {**SELECTED, "serviceName": "s", "replicas": 60, "podManagementPolicy": "Parallel"}),
    (DAEMON_SETS, SELECTED),
    (JOBS, {"template": ONCE, "parallelism": 60, "completions": 60}),
    (JOBS, {**INDEXED, "parallelism": 60, "completions": 60}),
    (JOBS, {**INDEXED, "parallelism": 60, "completions": 60, "backoffLimitPerIndex": 1}),
]


AT_ONCE = 2 * SLICE
"""Pods of a round: on a slow machine a round may end in the turn that the highest rank begins, with a second slice."""


class Rounds:
    """Writes of pods by one component in each round of what runs soon."""

    def __init__(self, cluster: PodCluster) -> None:
        self._state = cluster.internal.state
        self._written = 0
        self._rest = 1000
        self.most = 0
        cluster.store.subscribe(self._changed)
        self._next()

    def _changed(self, kind: str, key: Key, old: Any, new: Any) -> None:
        is_deleted = new is None or ("deletionTimestamp" in new["metadata"]) != ("deletionTimestamp" in (old or new))
        if key == PODS and (kind == "ADDED" or is_deleted):
            self._written += 1

    def _next(self) -> None:
        self.most, self._written, self._rest = max(self.most, self._written), 0, self._rest - 1
        if self._rest:
            self._state.call_soon(self._next)


@pytest.mark.parametrize(("key", "spec"), WORKLOADS, ids=lambda value: value[1] if isinstance(value, tuple) else "")
def test_pods_are_created_a_few_at_a_time(cluster: PodCluster, key: Key, spec: Object) -> None:
    for number in range(60 if key == DAEMON_SETS else 0):
        cluster.create(NODES, {"metadata": {"name": f"n{number}"}}, "")
    rounds = Rounds(cluster)
    cluster.create(key, {"metadata": {"name": "w"}, "spec": spec})
    assert len(cluster.pods()) >= 60
    assert rounds.most <= AT_ONCE


@pytest.mark.parametrize("key", [REPLICA_SETS, STATEFUL_SETS])
def test_pods_are_deleted_a_few_at_a_time(cluster: PodCluster, key: Key) -> None:
    spec = dict(next(spec for kind, spec in WORKLOADS if kind == key))
    cluster.create(key, {"metadata": {"name": "w"}, "spec": spec})
    rounds = Rounds(cluster)
    cluster.change(key, replicas=2)
    assert sum("deletionTimestamp" not in pod["metadata"] for pod in cluster.pods()) == 2
    assert rounds.most <= AT_ONCE


def test_burst_ends_when_the_workload_changes(cluster: PodCluster) -> None:
    spec = {**SELECTED, "replicas": 400}
    cluster.internal.create(REPLICA_SETS, "default", {"metadata": {"name": "w"}, "spec": spec})
    cluster.internal.state.call_soon(
        lambda: cluster.internal.patch(REPLICA_SETS, "default", "w", {"spec": {"replicas": 7}})
    )
    cluster.scheduler.run()
    cluster.step()
    assert len(cluster.pods()) == 7


def test_workload_of_more_pods_than_a_burst_is_completed(cluster: PodCluster) -> None:
    cluster.create(REPLICA_SETS, {"metadata": {"name": "w"}, "spec": {**SELECTED, "replicas": 530}})
    assert 500 <= len(cluster.pods()) < 530, "the others follow at the pace of a controller"
    cluster.step(times=5)
    assert cluster.status(REPLICA_SETS)["readyReplicas"] == 530


@pytest.mark.parametrize("spec", [spec for key, spec in WORKLOADS if key == JOBS])
@pytest.mark.parametrize("outcome", ["succeeded", "failed"])
def test_pods_of_a_job_that_end_together_are_counted_once(cluster: PodCluster, spec: Object, outcome: str) -> None:
    template = {**ONCE, "metadata": {"annotations": {"simulation.clientgo.dev/pod": outcome}}}
    spec = {**spec, "template": template, "backoffLimit": 59}
    if "backoffLimitPerIndex" in spec:
        spec |= {"backoffLimitPerIndex": 0}
    cluster.create(JOBS, {"metadata": {"name": "w"}, "spec": spec})
    cluster.step(times=4)
    status = cluster.status(JOBS)
    assert status[outcome] == 60
    assert status["conditions"][-1]["type"] == {"succeeded": "Complete", "failed": "Failed"}[outcome]
    assert all(not pod["metadata"].get("finalizers") for pod in cluster.pods())


def test_replicas_overflow_as_in_go(cluster: PodCluster) -> None:
    cluster.deployment(replicas=2**31 - 1)
    [replica_set] = cluster.store.list(REPLICA_SETS)
    assert replica_set["metadata"]["annotations"]["deployment.kubernetes.io/max-replicas"] == "-1610612737"
    assert replica_set["spec"]["replicas"] == 0, "as kube-controller-manager decides"
    assert not cluster.pods()


def test_leases_of_nodes_are_renewed_when_they_are_read(cluster: PodCluster) -> None:
    rounds: list[str] = []
    cluster.store.subscribe(lambda *_: rounds.append("renewed"), [("coordination.k8s.io", "leases")])
    cluster.clock.step(10)
    cluster.scheduler.run()
    assert not rounds, "not read yet"
    leases = cluster.store.list(("coordination.k8s.io", "leases"))
    assert rounds.count("renewed") == 3
    assert {lease["spec"]["renewTime"] for lease in leases} == {"2023-11-14T22:13:30.000000Z"}
    cluster.clock.step(10)
    cluster.scheduler.run()
    assert cluster.scheduler.next_due() is None, "no time has to come until they are read again"


def test_no_pods_are_created_while_thousands_wait_for_a_node(cluster: PodCluster) -> None:
    for number in range(MAX_WAITING_PODS):  # for another scheduler
        pod = pod_template(f"p{number}", "i")
        meta = {"name": f"p{number}", "namespace": "default", "uid": f"uid-{number}"}
        pod |= {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**pod["spec"], "schedulerName": "other"}}
        cluster.store.put(PODS, pod)
    cluster.create(REPLICA_SETS, {"metadata": {"name": "w"}, "spec": {**SELECTED, "replicas": 3}})
    assert len(cluster.pods()) == MAX_WAITING_PODS
    [condition] = cluster.status(REPLICA_SETS)["conditions"]
    assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
    assert "2000 pods already wait for a node" in condition["message"]
    cluster.delete(PODS, "p0")
    cluster.step(times=61)
    assert len(cluster.pods()) == MAX_WAITING_PODS + 2, "the limit is that of pods without a node"
    assert not cluster.status(REPLICA_SETS).get("conditions")
