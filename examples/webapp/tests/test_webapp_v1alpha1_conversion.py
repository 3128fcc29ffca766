import pytest
from clientgo.manager import Condition, Manager
from clientgo.meta import ApiObject, ObjectMeta, ObjectName

from api.v1 import webapp_types as v1
from api.v1alpha1 import webapp_types as v1alpha1
from tests.samples import sample
from webhooks.v1alpha1.webapp_conversion import from_hub, to_hub

NAME = ObjectName("default", "v1alpha1-webapp")
SAMPLE = "web_v1alpha1_webapp.yaml"
META = ObjectMeta(name="a", namespace="default", labels={"team": "web"})
CONDITIONS = (Condition(type="Available", status="True", reason="PodsAvailable"),)


def test_sample_survives_a_round_trip() -> None:
    original = sample(v1alpha1.WebApp, SAMPLE, **NAME._asdict())

    assert from_hub(to_hub(original)) == original


def test_object_can_be_read_in_both_versions(manager: Manager, created: list[ApiObject]) -> None:
    stored = manager.client.create(sample(v1alpha1.WebApp, SAMPLE, **NAME._asdict()))
    created.append(stored)

    read = manager.api_reader.get(v1.WebApp, NAME)
    assert (read.spec.replicas, read.spec.host, read.spec.path) == (3, "shop.example.com", "/cart")
    assert from_hub(read).spec == manager.api_reader.get(v1alpha1.WebApp, NAME).spec == stored.spec


@pytest.mark.parametrize("host", ["", "shop.example.com"])
@pytest.mark.parametrize("path", ["", "/", "/cart", "//cart/"])
def test_hub_to_spoke_to_hub_loses_nothing(host: str, path: str) -> None:
    spec = v1.WebAppSpec("shop:1", 4, 80, host, path)
    hub = v1.WebApp(META, spec, v1.WebAppStatus(3, "app=a", CONDITIONS))

    assert to_hub(from_hub(hub)) == hub


@pytest.mark.parametrize("route", ["", "/", "shop.example.com", "shop.example.com/", "shop.example.com/cart/"])
def test_spoke_to_hub_to_spoke_loses_nothing(route: str) -> None:
    spec = v1alpha1.WebAppSpec("shop:1", None, 80, route)
    spoke = v1alpha1.WebApp(META, spec, v1alpha1.WebAppStatus(3, "app=a", CONDITIONS))

    assert from_hub(to_hub(spoke)) == spoke
