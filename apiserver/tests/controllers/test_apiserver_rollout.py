from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo_apiserver.controllers.rollout import (
    RolloutProgress,
    deployment_status,
    max_unavailable,
    replica_set_status,
    template_hash,
)

NOW, EARLIER = "2026-01-02T03:04:05Z", "2026-01-01T00:00:00Z"


def deployment(replicas: int | None = 4, *, image: str = "i", status: dict[str, Any] | None = None, **spec: Any) -> Any:
    template = {"spec": {"containers": [{"name": "c", "image": image}]}}
    return {
        "metadata": {"name": "d", "generation": 3},
        "spec": {"replicas": replicas, "template": template, **spec},
        "status": status or {},
    }


def done(replicas: int) -> RolloutProgress:
    return RolloutProgress(replicas, replicas, template_changed=False)


def condition(status: dict[str, Any], kind: str) -> dict[str, Any]:
    result: dict[str, Any] = next(item for item in status["conditions"] if item["type"] == kind)
    return result


def test_finished_rollout_has_kubernetes_conditions() -> None:
    obj = deployment()
    assert deployment_status(obj, done(4), NOW) == {
        "observedGeneration": 3,
        "replicas": 4,
        "updatedReplicas": 4,
        "readyReplicas": 4,
        "availableReplicas": 4,
        "unavailableReplicas": None,
        "conditions": [
            {
                "type": "Available",
                "status": "True",
                "lastUpdateTime": NOW,
                "lastTransitionTime": NOW,
                "reason": "MinimumReplicasAvailable",
                "message": "Deployment has minimum availability.",
            },
            {
                "type": "Progressing",
                "status": "True",
                "lastUpdateTime": NOW,
                "lastTransitionTime": NOW,
                "reason": "NewReplicaSetAvailable",
                "message": f'ReplicaSet "d-{template_hash(obj)}" has successfully progressed.',
            },
        ],
    }


def test_rollout_under_way_is_unavailable_and_progressing() -> None:
    status = deployment_status(deployment(), RolloutProgress(0, 0, template_changed=True), NOW)
    assert (status["replicas"], status["unavailableReplicas"], status["readyReplicas"]) == (4, 4, None)
    assert condition(status, "Available")["reason"] == "MinimumReplicasUnavailable"
    assert condition(status, "Available")["status"] == "False"
    assert condition(status, "Progressing")["reason"] == "ReplicaSetUpdated"


def test_deployment_of_zero_replicas_is_available_without_counts() -> None:
    status = deployment_status(deployment(0), done(0), NOW)
    assert [status[name] for name in ("replicas", "readyReplicas", "availableReplicas")] == [None, None, None]
    assert condition(status, "Available")["status"] == "True"


def test_replicas_default_to_one() -> None:
    assert deployment_status(deployment(None), done(1), NOW)["replicas"] == 1


def test_unchanged_condition_keeps_its_times() -> None:
    before = deployment_status(deployment(), done(4), EARLIER)
    after = deployment_status(deployment(status=before), done(4), NOW)
    assert after["conditions"] == before["conditions"]


def test_new_reason_keeps_the_transition_time() -> None:
    before = deployment_status(deployment(), done(4), EARLIER)
    rolling = deployment_status(deployment(image="j", status=before), RolloutProgress(4, 0, template_changed=True), NOW)
    result = condition(rolling, "Progressing")
    assert (result["reason"], result["lastUpdateTime"], result["lastTransitionTime"]) == (
        "ReplicaSetUpdated",
        NOW,
        EARLIER,
    )


def test_new_status_sets_the_transition_time() -> None:
    before = deployment_status(deployment(), done(4), EARLIER)
    result = condition(
        deployment_status(deployment(8, status=before), RolloutProgress(4, 8, template_changed=False), NOW), "Available"
    )
    assert (result["status"], result["lastTransitionTime"]) == ("False", NOW)


def test_scaling_keeps_the_progressing_condition() -> None:
    before = deployment_status(deployment(), done(4), EARLIER)
    scaling = deployment_status(deployment(8, status=before), RolloutProgress(4, 8, template_changed=False), NOW)
    assert condition(scaling, "Progressing") == condition(before, "Progressing")


def test_paused_rollout_has_unknown_progress() -> None:
    result = condition(deployment_status(deployment(paused=True), done(4), NOW), "Progressing")
    assert (result["status"], result["reason"], result["message"]) == (
        *("Unknown", "DeploymentPaused", "Deployment is paused"),
    )


@pytest.mark.parametrize(
    ("replicas", "strategy", "expected"),
    [
        (4, None, 1),
        (3, None, 0),
        (4, {"type": "Recreate"}, 0),
        (4, {"rollingUpdate": {"maxUnavailable": 2, "maxSurge": 0}}, 2),
        (10, {"rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}, 2),
        (1, {"rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 0}}, 1),
        (2, {"rollingUpdate": {"maxUnavailable": 5, "maxSurge": 0}}, 2),
        (0, {"rollingUpdate": {"maxUnavailable": 5, "maxSurge": 0}}, 0),
    ],
)
def test_max_unavailable_follows_the_strategy(replicas: int, strategy: Any, expected: int) -> None:
    assert max_unavailable(deployment(replicas, strategy=strategy)) == expected


def test_template_hash_depends_only_on_the_template() -> None:
    assert template_hash(deployment(1)) == template_hash(deployment(9))
    assert template_hash(deployment(image="i")) != template_hash(deployment(image="j"))


def test_replica_set_writes_its_replicas_even_when_there_are_none() -> None:
    status = replica_set_status(deployment(0), 0)
    assert status == {
        "observedGeneration": 3,
        "replicas": 0,
        "fullyLabeledReplicas": None,
        "readyReplicas": None,
        "availableReplicas": None,
    }


@given(st.integers(0, 50), st.integers(0, 50), st.booleans())
def test_counts_add_up_at_every_stage(replicas: int, ready: int, changed: bool) -> None:
    stage = RolloutProgress(min(ready, replicas), 0 if changed else replicas, template_changed=changed)
    status = deployment_status(deployment(replicas), stage, NOW)
    assert (status["availableReplicas"] or 0) + (status["unavailableReplicas"] or 0) == replicas
    complete = stage.ready == replicas and stage.updated == replicas
    assert (condition(status, "Progressing")["reason"] == "NewReplicaSetAvailable") is complete
