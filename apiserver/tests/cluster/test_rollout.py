from typing import Any

import pytest

from clientgo_apiserver.cluster.rollout import max_unavailable, size_annotations, template_hash


def deployment(replicas: int | None = 4, *, image: str = "i", **spec: Any) -> Any:
    template = {"spec": {"containers": [{"name": "c", "image": image}]}}
    return {"metadata": {"name": "d", "generation": 3}, "spec": {"replicas": replicas, "template": template, **spec}}


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


@pytest.mark.parametrize(("replicas", "expected"), [(0, "2"), (4, "6")])
def test_surge_is_annotated_also_without_replicas(replicas: int, expected: str) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}}
    annotations = size_annotations(deployment(replicas, strategy=strategy))
    assert annotations["deployment.kubernetes.io/max-replicas"] == expected


def test_template_hash_depends_only_on_the_template() -> None:
    assert template_hash(deployment(1)) == template_hash(deployment(9))
    assert template_hash(deployment(image="i")) != template_hash(deployment(image="j"))
