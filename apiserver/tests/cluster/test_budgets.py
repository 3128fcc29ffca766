from apiserver.tests.cluster.podcluster import DEPLOYMENTS, PodCluster, pod_template
from apiserver.tests.costs import calls_of
from clientgo_apiserver.storage.keys import BUDGETS, JOBS


def add_budget(cluster: PodCluster, name: str, **selector: object) -> None:
    meta = {"name": name}
    cluster.create(BUDGETS, {"metadata": meta, "spec": {"minAvailable": 1, "selector": selector}})


def test_budget_follows_its_selector_and_the_labels_of_pods(cluster: PodCluster) -> None:
    add_budget(cluster, "b", matchExpressions=[{"key": "app", "operator": "In", "values": ["a", "b"]}])
    for name, replicas in (("a", 1), ("b", 2), ("c", 4)):
        cluster.deployment(name, replicas=replicas)
    assert cluster.status(BUDGETS, "b")["expectedPods"] == 3
    cluster.change(BUDGETS, "b", selector={"matchExpressions": None, "matchLabels": {"app": "c"}})
    assert cluster.status(BUDGETS, "b")["expectedPods"] == 4
    cluster.patch(("", "pods"), cluster.names()[-1], {"metadata": {"labels": {"app": "d"}}})
    cluster.delete(DEPLOYMENTS, "c")
    cluster.step(times=3)
    assert cluster.status(BUDGETS, "b")["expectedPods"] == 0


def test_budget_without_pods_says_so(cluster: PodCluster) -> None:
    add_budget(cluster, "b", matchLabels={"app": "none"})
    cluster.step()
    (event,) = cluster.store.list(("", "events"))
    assert (event["reason"], event["source"]["component"]) == ("NoPods", "controllermanager")


def test_share_of_pods_whose_controller_has_no_scale_is_refused_with_the_reason(cluster: PodCluster) -> None:
    budget = {"metadata": {"name": "b"}, "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "j"}}}}
    cluster.create(BUDGETS, budget)
    template = pod_template("j", "i")
    template["spec"]["restartPolicy"] = "Never"
    cluster.create(JOBS, {"metadata": {"name": "j"}, "spec": {"template": template}})
    cluster.step(times=2)
    [condition] = cluster.status(BUDGETS, "b")["conditions"]
    assert condition["message"] == "jobs.batch does not implement the scale subresource"


def test_workload_beside_many_budgets_costs_the_same_as_beside_a_few() -> None:
    def create(present: int) -> int:
        cluster = PodCluster()
        for number in range(present):
            cluster.deployment(f"d{number}")
            add_budget(cluster, f"b{number}", matchLabels={"app": f"d{number}"})
        cluster.step(times=3)

        def run() -> None:
            for number in range(10):
                cluster.deployment(f"e{number}")

        return calls_of(run)

    create(5)
    assert create(200) < 1.1 * create(25)
