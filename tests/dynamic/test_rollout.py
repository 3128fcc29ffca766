"""Rollouts, judged as `kubectl rollout status` does."""

from typing import Any

import pytest

from clientgo.dynamic.rollout import RolloutFailed, rollout_status


def workload(kind: str, status: dict[str, Any], *, replicas: int | None = 3, **strategy: Any) -> dict[str, Any]:
    spec = {"replicas": replicas, "updateStrategy": {"type": "RollingUpdate", **strategy}}
    metadata = {"name": "web", "generation": 2}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec, "status": status}


def observed(**counts: Any) -> dict[str, Any]:
    return {"observedGeneration": 2, **counts}


DEPLOYMENT = 'Waiting for deployment "web" rollout to finish: '
DAEMON_SET = 'Waiting for daemon set "web" rollout to finish: '


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({}, "Waiting for deployment spec update to be observed..."),
        ({"observedGeneration": 1, "updatedReplicas": 3, "replicas": 3, "availableReplicas": 3},
         "Waiting for deployment spec update to be observed..."),
        (observed(updatedReplicas=1, replicas=4), f"{DEPLOYMENT}1 out of 3 new replicas have been updated..."),
        (observed(updatedReplicas=3, replicas=4), f"{DEPLOYMENT}1 old replicas are pending termination..."),
        (observed(updatedReplicas=3, replicas=3, availableReplicas=2),
         f"{DEPLOYMENT}2 of 3 updated replicas are available..."),
    ],
)  # fmt: skip
def test_deployment_is_not_rolled_out(status: dict[str, Any], message: str) -> None:
    assert rollout_status(workload("Deployment", status)) == (False, message)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (observed(updatedNumberScheduled=1, desiredNumberScheduled=3), "1 out of 3 new pods have been updated..."),
        (
            observed(updatedNumberScheduled=3, desiredNumberScheduled=3, numberAvailable=2),
            "2 of 3 updated pods are available...",
        ),
    ],
)
def test_daemon_set_is_not_rolled_out(status: dict[str, Any], message: str) -> None:
    assert rollout_status(workload("DaemonSet", status)) == (False, f"{DAEMON_SET}{message}")
    old = {**status, "observedGeneration": 1}
    assert rollout_status(workload("DaemonSet", old))[1] == "Waiting for daemon set spec update to be observed..."


def test_stateful_set_is_not_rolled_out() -> None:
    unobserved = workload("StatefulSet", {})
    assert rollout_status(unobserved) == (False, "Waiting for statefulset spec update to be observed...")
    assert rollout_status(workload("StatefulSet", observed(readyReplicas=1))) == (
        False,
        "Waiting for 2 pods to be ready...",
    )
    ready = observed(readyReplicas=3, updatedReplicas=1, currentRevision="a", updateRevision="b")
    assert rollout_status(workload("StatefulSet", ready, rollingUpdate={"partition": 1})) == (
        False,
        "Waiting for partitioned roll out to finish: 1 out of 2 new pods have been updated...",
    )
    assert rollout_status(workload("StatefulSet", ready)) == (
        False,
        "waiting for statefulset rolling update to complete 1 pods at revision b...",
    )


def test_complete_rollouts_are_reported_in_the_words_of_kubectl() -> None:
    counts = {"updatedReplicas": 3, "replicas": 3, "availableReplicas": 3, "readyReplicas": 3, "currentReplicas": 3}
    done = observed(
        **counts, updatedNumberScheduled=2, desiredNumberScheduled=2, numberAvailable=2, currentRevision="a"
    )
    done["updateRevision"] = "a"
    results = [rollout_status(workload(kind, done)) for kind in ("Deployment", "DaemonSet", "StatefulSet")]
    partitioned = rollout_status(workload("StatefulSet", done, rollingUpdate={"partition": 0}))
    assert [*results, partitioned] == [
        (True, 'deployment "web" successfully rolled out'),
        (True, 'daemon set "web" successfully rolled out'),
        (True, "statefulset rolling update complete 3 pods at revision a..."),
        (True, "partitioned roll out complete: 3 new pods have been updated..."),
    ]


def test_exceeded_progress_deadline_of_this_generation_is_an_error() -> None:
    late = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
    with pytest.raises(RolloutFailed, match='deployment "web" exceeded its progress deadline'):
        rollout_status(workload("Deployment", observed(conditions=[late])))
    assert not rollout_status(workload("Deployment", {"observedGeneration": 1, "conditions": [late]})).is_complete


@pytest.mark.parametrize("kind", ["DaemonSet", "StatefulSet"])
def test_strategy_without_a_rollout_is_an_error(kind: str) -> None:
    with pytest.raises(RolloutFailed, match="rollout status is only available for RollingUpdate strategy type"):
        rollout_status(workload(kind, observed(), type="OnDelete"))


def test_kind_without_a_rollout_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"a Job.apps has no rollout: expected a Deployment, StatefulSet or DaemonSet"):
        rollout_status(workload("Job", observed()))


def test_invalid_fields_count_as_absent() -> None:
    invalid = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": 3, "spec": [], "status": "text"}
    assert rollout_status(invalid) == (True, 'deployment "" successfully rolled out')
    conditions = [{"type": {}, "reason": []}, "text"]
    assert not rollout_status(workload("Deployment", observed(conditions=conditions, updatedReplicas="3"))).is_complete
