import pytest
from clientgo.manager import Manager
from clientgo.meta import ApiObject, ObjectMeta

from api.v1.webapp_types import WebApp, WebAppSpec


@pytest.mark.parametrize(
    ("spec", "replicas"),
    [
        (WebAppSpec("shop:1"), 1),
        (WebAppSpec("shop:1", host="shop.example.com"), 2),
        (WebAppSpec("shop:1", replicas=0, host="shop.example.com"), 0),
    ],
)
def test_replicas_default_to_two_for_apps_with_a_host(
    manager: Manager, created: list[ApiObject], spec: WebAppSpec, replicas: int
) -> None:
    stored = manager.client.create(WebApp(ObjectMeta(name="defaulted", namespace="default"), spec))
    created.append(stored)

    assert stored.spec.replicas == replicas
