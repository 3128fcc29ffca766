"""Details of pods of workloads, and of Jobs that need none."""

from apiserver.tests.cluster.podcluster import PODS, Object, PodCluster

JOBS = ("batch", "jobs")
STATEFUL_SETS = ("apps", "statefulsets")
CONTAINERS = [{"name": "c", "image": "i"}]


def test_pods_of_a_stateful_set_have_the_prefix_of_their_name(cluster: PodCluster) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": CONTAINERS}}
    spec: Object = {"selector": {"matchLabels": {"a": "b"}}, "serviceName": "s", "template": template}
    cluster.create(
        STATEFUL_SETS, {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"}, "spec": spec}
    )
    cluster.step()
    assert cluster.get(PODS, "s-0")["metadata"]["generateName"] == "s-"


def test_job_without_completions_has_started(cluster: PodCluster) -> None:
    template = {"spec": {"containers": CONTAINERS, "restartPolicy": "Never"}}
    spec: Object = {"completions": 0, "template": template}
    cluster.create(JOBS, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec})
    cluster.step()
    status = cluster.status(JOBS, "j")
    assert status["startTime"] <= status["completionTime"]
    assert cluster.pods() == []
