"""Behaviour of workloads and their pods that good guesses get wrong."""

from datetime import datetime
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest

from apiserver.tests.cluster.podcluster import DEPLOYMENTS, PodCluster
from apiserver.tests.inprocess import STRATEGIC, Kube
from clientgo.internal.cron import times_after
from clientgo_apiserver.storage.stored import Key

CRON_JOBS: Key = ("batch", "cronjobs")
JOBS: Key = ("batch", "jobs")
FIRST_DAYS_SECOND = 1_700_000_000  # of the clock of tests: 2023-11-14T22:13:20Z
POD = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}


def test_rollout_with_both_limits_rounded_to_zero_replaces_one_pod(cluster: PodCluster) -> None:
    rolling = {"maxSurge": "0%", "maxUnavailable": "5%"}
    cluster.deployment(replicas=10, strategy={"type": "RollingUpdate", "rollingUpdate": rolling})
    cluster.step(times=5)
    template = {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "j"}]}}
    cluster.change(DEPLOYMENTS, template=template)
    available = []
    for _ in range(5):
        available.append(cluster.status(DEPLOYMENTS)["availableReplicas"])
        cluster.step(0.5)
    assert min(available) == 9


def test_failures_of_a_job_delay_its_pods_by_10_20_and_40_seconds(cluster: PodCluster) -> None:
    annotations = {"simulation.clientgo.dev/job": "failed"}
    spec = {"backoffLimit": 10, "template": POD}
    cluster.create(JOBS, {"metadata": {"name": "w", "annotations": annotations}, "spec": spec})
    cluster.step(times=100)
    pods = sorted(cluster.pods(), key=lambda pod: str(pod["metadata"]["creationTimestamp"]))
    created = [datetime.fromisoformat(pod["metadata"]["creationTimestamp"]) for pod in pods]
    states = (pod["status"]["containerStatuses"][0]["state"] for pod in pods)
    ended = [datetime.fromisoformat(state["terminated"]["finishedAt"]) for state in states]
    assert [(after - before).seconds for before, after in zip(ended, created[1:], strict=False)] == [10, 20, 40]


def test_job_of_a_schedule_is_named_after_the_minutes_since_1970(cluster: PodCluster) -> None:
    cluster.create(
        CRON_JOBS,
        {"metadata": {"name": "x"}, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": POD}}}},
    )
    cluster.step(60)
    [job] = cluster.store.list(JOBS)
    assert job["metadata"]["name"] == f"x-{FIRST_DAYS_SECOND // 60 + 1}"


@pytest.mark.parametrize(
    ("schedule", "zone_day", "runs"),
    [
        pytest.param("30 2 * * *", "2023-03-12", 0, id="hour that is skipped"),
        pytest.param("30 1 * * *", "2023-11-05", 2, id="hour that occurs twice"),
        pytest.param("*/30 1 * * *", "2023-11-05", 4, id="each half of it"),
    ],
)
def test_schedule_runs_by_the_local_clock_when_it_is_shifted(schedule: str, zone_day: str, runs: int) -> None:
    zone = ZoneInfo("America/New_York")
    start = datetime.fromisoformat(f"{zone_day}T00:00").replace(tzinfo=zone)
    end = datetime.fromisoformat(f"{zone_day}T04:00").replace(tzinfo=zone).timestamp()
    times = takewhile(lambda moment: moment < end, times_after(schedule, zone, start.timestamp()))
    assert len(list(times)) == runs


PATH = "/api/v1/namespaces/default/pods"


@pytest.mark.parametrize(("version", "code"), [("1.35", 422), ("1.36", 200), ("1.37", 200)])
def test_init_containers_can_be_resized_since_1_36(version: str, code: int) -> None:
    kube = Kube(version=version)
    resources = {"requests": {"cpu": "1"}}
    containers = [{"name": name, "image": "i", "resources": resources} for name in ("c", "init")]
    spec = {"containers": containers[:1], "initContainers": containers[1:]}
    kube.ok("POST", PATH, {"metadata": {"name": "p"}, "spec": spec})
    patch = {"spec": {"initContainers": [{"name": "init", "resources": {"requests": {"cpu": "500m"}}}]}}
    response = kube.send("PATCH", f"{PATH}/p/resize", patch, STRATEGIC)
    assert response.status == code, response.body
    assert code == 200 or "resources for non-sidecar init containers are immutable" in response.json()["message"]
