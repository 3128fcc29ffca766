"""Rolling updates of StatefulSets that replace several pods at once, as since Kubernetes 1.37."""

from typing import Any

import pytest

from apiserver.tests.cluster.podcluster import PodCluster
from clientgo_apiserver.storage.keys import STATEFUL_SETS

Object = dict[str, Any]


def template(image: str) -> Object:
    return {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": image}]}}


def updated(version: str, rolling: Object, **spec: Any) -> list[str]:
    """Return the names of the pods that a change of the image of five pods deletes first."""
    cluster = PodCluster(version)
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    built = {
        "replicas": 5,
        "serviceName": "s",
        "selector": {"matchLabels": {"a": "b"}},
        "updateStrategy": strategy,
        **spec,
    }
    cluster.create(STATEFUL_SETS, {"metadata": {"name": "w"}, "spec": {**built, "template": template("i")}})
    cluster.step(times=30)
    cluster.change(STATEFUL_SETS, template=template("j"))
    return sorted(pod["metadata"]["name"] for pod in cluster.pods() if "deletionTimestamp" in pod["metadata"])


@pytest.mark.parametrize(
    ("version", "rolling", "pods"),
    [
        ("1.36", {"maxUnavailable": 2}, ["w-4"]),
        ("1.37", {}, ["w-4"]),
        ("1.37", {"maxUnavailable": 2}, ["w-3", "w-4"]),
        ("1.37", {"maxUnavailable": "10%"}, ["w-4"]),
        ("1.37", {"maxUnavailable": "50%"}, ["w-3", "w-4"]),
        ("1.37", {"maxUnavailable": 3, "partition": 3}, ["w-3", "w-4"]),
    ],
)
@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_as_many_pods_are_replaced_as_may_be_unavailable(
    version: str, rolling: Object, pods: list[str], policy: str
) -> None:
    assert updated(version, rolling, podManagementPolicy=policy) == pods


def test_partition_counts_from_the_start_ordinal() -> None:
    ordinals = {"start": 5}
    assert updated("1.37", {"partition": 6}, replicas=3, ordinals=ordinals) == []
    assert updated("1.37", {"partition": 1, "maxUnavailable": 3}, replicas=3, ordinals=ordinals) == ["w-6", "w-7"]
