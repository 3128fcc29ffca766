"""Simulated StatefulSets, DaemonSets, Jobs and disruption budgets."""

from typing import Any

import pytest

from apiserver.tests.controllers.clusters import calls_of
from apiserver.tests.inprocess import DEPLOYMENTS, MERGE, Kube, deployment
from clientgo_apiserver.controllers.budgets import DisruptionSimulation, desired_healthy
from clientgo_apiserver.controllers.deployments import AVAILABLE, DeploymentSimulation
from clientgo_apiserver.controllers.jobs import OUTCOME, JobSimulation
from clientgo_apiserver.internal import Internal

Object = dict[str, Any]

APPS = "/apis/apps/v1/namespaces/default"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
SECONDS = 5.0


@pytest.fixture
def cluster(kube: Kube) -> Kube:
    """A cluster whose replicas become ready after five seconds."""
    internal = Internal(kube.api)
    DeploymentSimulation(internal, ready_seconds=SECONDS).start()
    JobSimulation(internal, ready_seconds=SECONDS).start()
    DisruptionSimulation(internal).start()
    return kube


def later(kube: Kube, seconds: float = SECONDS) -> None:
    kube.clock.step(seconds)
    kube.scheduler.run()


def workload(kind: str, name: str = "w", image: str = "i", **spec: Any) -> Object:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": image}], **spec.pop("pod", {})},
    }
    selector = {"matchLabels": {"app": name}}
    return {"kind": kind, "metadata": {"name": name}, "spec": {"selector": selector, "template": template, **spec}}


def job(annotations: Object | None = None, **spec: Any) -> Object:
    pod = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
    return {"metadata": {"name": "j", "annotations": annotations or {}}, "spec": {"template": {"spec": pod}, **spec}}


def status(kube: Kube, url: str) -> Object:
    result: Object = kube.ok("GET", url)["status"]
    return result


def test_a_stateful_set_becomes_ready_and_rolls_to_a_new_revision(cluster: Kube) -> None:
    sets = f"{APPS}/statefulsets"
    cluster.ok("POST", sets, workload("StatefulSet", replicas=3, serviceName="w"))
    assert status(cluster, f"{sets}/w").get("readyReplicas") is None
    later(cluster)
    first = status(cluster, f"{sets}/w")
    assert [first[field] for field in ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas")] == [3] * 4
    assert first["currentRevision"] == first["updateRevision"] != ""
    image = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "new"}]}}}}
    cluster.ok("PATCH", f"{sets}/w", image, MERGE)
    rolling = status(cluster, f"{sets}/w")
    assert (rolling["currentRevision"], rolling.get("updatedReplicas")) == (first["currentRevision"], None)
    assert rolling["updateRevision"] != first["updateRevision"]
    later(cluster)
    done = status(cluster, f"{sets}/w")
    assert (done["currentRevision"], done["updatedReplicas"]) == (rolling["updateRevision"], 3)


def test_a_partition_keeps_the_lower_replicas_of_a_stateful_set(cluster: Kube) -> None:
    sets = f"{APPS}/statefulsets"
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    cluster.ok("POST", sets, workload("StatefulSet", replicas=3, serviceName="w", updateStrategy=strategy))
    later(cluster)
    image = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "new"}]}}}}
    cluster.ok("PATCH", f"{sets}/w", image, MERGE)
    later(cluster)
    done = status(cluster, f"{sets}/w")
    assert (done["updatedReplicas"], done["currentReplicas"], done["readyReplicas"]) == (1, 2, 3)
    assert done["currentRevision"] != done["updateRevision"]


def test_on_delete_keeps_the_replicas_of_a_stateful_set(cluster: Kube) -> None:
    sets = f"{APPS}/statefulsets"
    cluster.ok("POST", sets, workload("StatefulSet", replicas=2, serviceName="w", updateStrategy={"type": "OnDelete"}))
    later(cluster)
    image = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "new"}]}}}}
    cluster.ok("PATCH", f"{sets}/w", image, MERGE)
    later(cluster)
    done = status(cluster, f"{sets}/w")
    assert (done.get("updatedReplicas"), done["currentReplicas"], done["readyReplicas"]) == (None, 2, 2)
    assert done["currentRevision"] != done["updateRevision"]


def test_a_daemon_set_runs_on_every_node_it_selects(cluster: Kube) -> None:
    sets = f"{APPS}/daemonsets"
    for name, labels in (("a", {"disk": "ssd"}), ("b", {})):
        cluster.ok("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": labels}})
    cluster.ok("POST", sets, workload("DaemonSet", "all"))
    cluster.ok("POST", sets, workload("DaemonSet", "some", pod={"nodeSelector": {"disk": "ssd"}}))
    assert status(cluster, f"{sets}/all")["numberUnavailable"] == 2
    later(cluster)
    counts = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled")
    assert [status(cluster, f"{sets}/all")[field] for field in counts] == [2] * 4
    assert [status(cluster, f"{sets}/some")[field] for field in counts] == [1] * 4
    cluster.ok("POST", "/api/v1/nodes", {"metadata": {"name": "c"}})
    assert status(cluster, f"{sets}/all")["numberReady"] == 2
    later(cluster)
    assert status(cluster, f"{sets}/all")["numberReady"] == 3
    cluster.ok("DELETE", "/api/v1/nodes/a")
    assert status(cluster, f"{sets}/some")["desiredNumberScheduled"] == 0


def test_annotated_workload_gets_no_replicas(cluster: Kube) -> None:
    built = workload("StatefulSet", replicas=2, serviceName="w")
    built["metadata"]["annotations"] = {AVAILABLE: "false"}
    cluster.ok("POST", f"{APPS}/statefulsets", built)
    later(cluster, 1000)
    assert status(cluster, f"{APPS}/statefulsets/w")["availableReplicas"] == 0
    cluster.ok("PATCH", f"{APPS}/statefulsets/w", {"metadata": {"annotations": None}}, MERGE)
    later(cluster)
    assert status(cluster, f"{APPS}/statefulsets/w")["availableReplicas"] == 2


def test_a_job_runs_and_completes(cluster: Kube) -> None:
    cluster.ok("POST", JOBS, job(parallelism=2, completions=3))
    assert status(cluster, f"{JOBS}/j")["active"] == 2
    later(cluster)
    done = status(cluster, f"{JOBS}/j")
    assert (done["succeeded"], done.get("active"), "completionTime" in done) == (3, None, True)
    assert [(item["type"], item["reason"]) for item in done["conditions"]] == [
        ("SuccessCriteriaMet", "CompletionsReached"),
        ("Complete", "CompletionsReached"),
    ]


def test_annotated_job_fails_or_keeps_running(cluster: Kube) -> None:
    cluster.ok("POST", JOBS, job({OUTCOME: "running"}, backoffLimit=1))
    later(cluster, 1000)
    assert status(cluster, f"{JOBS}/j")["active"] == 1
    cluster.ok("PATCH", f"{JOBS}/j", {"metadata": {"annotations": {OUTCOME: "failed"}}}, MERGE)
    later(cluster)
    failed = status(cluster, f"{JOBS}/j")
    assert failed["failed"] == 2
    assert "completionTime" not in failed
    assert failed["conditions"][-1]["reason"] == "BackoffLimitExceeded"
    assert failed["conditions"][-1]["type"] == "Failed"


def test_job_of_another_controller_is_left_alone(cluster: Kube) -> None:
    cluster.ok("POST", JOBS, job(managedBy="example.com/queue"))
    later(cluster)
    assert status(cluster, f"{JOBS}/j") == {}


def test_indexed_job_lists_its_completed_indexes(cluster: Kube) -> None:
    cluster.ok("POST", JOBS, job(completionMode="Indexed", completions=4, parallelism=2))
    later(cluster)
    assert (status(cluster, f"{JOBS}/j")["completedIndexes"], status(cluster, f"{JOBS}/j")["succeeded"]) == ("0-3", 4)


@pytest.mark.parametrize("spec", [{}, {"completions": 2}], ids=["work queue", "with completions"])
def test_job_with_parallelism_0_waits_until_it_is_raised(cluster: Kube, spec: Object) -> None:
    cluster.ok("POST", JOBS, job(parallelism=0, **spec))
    later(cluster, 1000)
    waiting = status(cluster, f"{JOBS}/j")
    assert (waiting.get("active", 0), waiting.get("conditions")) == (0, None)
    cluster.ok("PATCH", f"{JOBS}/j", {"spec": {"parallelism": 1}}, MERGE)
    later(cluster)
    assert status(cluster, f"{JOBS}/j")["conditions"][-1]["type"] == "Complete"


def test_suspended_job_waits_and_resumes(cluster: Kube) -> None:
    cluster.ok("POST", JOBS, job(suspend=True))
    later(cluster, 1000)
    assert [(item["type"], item["status"]) for item in status(cluster, f"{JOBS}/j")["conditions"]] == [
        ("Suspended", "True")
    ]
    cluster.ok("PATCH", f"{JOBS}/j", {"spec": {"suspend": False}}, MERGE)
    later(cluster)
    result = {entry["type"]: entry["status"] for entry in status(cluster, f"{JOBS}/j")["conditions"]}
    assert result == {"Suspended": "False", "SuccessCriteriaMet": "True", "Complete": "True"}


def test_job_is_deleted_after_its_ttl(cluster: Kube) -> None:
    cluster.ok("POST", JOBS, job(ttlSecondsAfterFinished=10))
    later(cluster)
    cluster.ok("GET", f"{JOBS}/j")
    later(cluster, 10)
    gone = cluster.send("GET", f"{JOBS}/j")
    assert gone.status == 404 or gone.json()["metadata"]["deletionTimestamp"]


def test_without_delay_the_response_contains_the_status(kube: Kube) -> None:
    JobSimulation(Internal(kube.api)).start()
    assert kube.ok("POST", JOBS, job())["status"]["succeeded"] == 1


def test_budget_status_has_allowed_disruptions(cluster: Kube) -> None:
    cluster.ok("POST", DEPLOYMENTS, deployment("d", 3))
    spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": "d"}}}
    cluster.ok("POST", BUDGETS, {"metadata": {"name": "b"}, "spec": spec})
    assert status(cluster, f"{BUDGETS}/b")["disruptionsAllowed"] == 0
    later(cluster)
    messages = status(cluster, f"{BUDGETS}/b")
    assert [
        messages[field] for field in ("expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed")
    ] == [
        *(3, 3, 2),
        1,
    ]
    assert (messages["conditions"][0]["type"], messages["conditions"][0]["status"]) == ("DisruptionAllowed", "True")


@pytest.mark.parametrize(
    ("spec", "desired"),
    [({"minAvailable": "50%"}, 3), ({"maxUnavailable": "25%"}, 3), ({"maxUnavailable": 0}, 5), ({}, 1)],
)
def test_percentages_are_rounded_as_by_kubernetes(spec: Object, desired: int) -> None:
    assert desired_healthy({"metadata": {"name": "b"}, "spec": spec}, 5) == desired


def test_budget_follows_its_selector_and_the_labels_of_workloads(cluster: Kube) -> None:
    spec = {"selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]}}
    cluster.ok("POST", BUDGETS, {"metadata": {"name": "b"}, "spec": spec})
    for name, replicas in (("a", 1), ("b", 2), ("c", 4)):
        cluster.ok("POST", DEPLOYMENTS, deployment(name, replicas))
        cluster.ok("POST", f"{APPS}/statefulsets", workload("StatefulSet", name, replicas=replicas, serviceName="w"))
    cluster.scheduler.run()
    assert status(cluster, f"{BUDGETS}/b")["expectedPods"] == 6
    cluster.ok(
        "PATCH", f"{BUDGETS}/b", {"spec": {"selector": {"matchExpressions": None, "matchLabels": {"app": "c"}}}}, MERGE
    )
    cluster.scheduler.run()
    assert status(cluster, f"{BUDGETS}/b")["expectedPods"] == 8
    cluster.ok("DELETE", f"{DEPLOYMENTS}/c")
    cluster.scheduler.run()
    assert status(cluster, f"{BUDGETS}/b")["expectedPods"] == 4


def test_workload_beside_many_budgets_costs_the_same_as_beside_a_few() -> None:
    def create(present: int) -> int:
        kube = Kube()
        internal = Internal(kube.api)
        DeploymentSimulation(internal).start()
        DisruptionSimulation(internal).start()
        for number in range(present):
            kube.ok("POST", DEPLOYMENTS, deployment(f"d{number}", 1))
            spec = {"selector": {"matchLabels": {"app": f"d{number}"}}}
            kube.ok("POST", BUDGETS, {"metadata": {"name": f"b{number}"}, "spec": spec})
        return calls_of(lambda: [kube.ok("POST", DEPLOYMENTS, deployment(f"e{n}", 1)) for n in range(10)])

    create(5)
    assert create(200) < 1.1 * create(25)
