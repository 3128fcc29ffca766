"""The example operators of one file."""

import pytest

from clientgo.kubernetes.types.core_v1 import ConfigMap, Namespace
from clientgo.meta import ObjectMeta, ObjectName, change
from clientgo.testing.client import FakeClient
from examples.configmap_syncer import SOURCE, TO, ConfigMapSyncer

NAME = ObjectName("home", "settings")


def namespace(name: str, **labels: str) -> Namespace:
    return Namespace(metadata=ObjectMeta(name=name, labels=labels))


def settings(**annotations: str) -> ConfigMap:
    metadata = ObjectMeta(name="settings", namespace="home", annotations=annotations)
    return ConfigMap(metadata=metadata, data={"mode": "fast"})


@pytest.fixture
def client() -> FakeClient:
    """Two namespaces of which the ConfigMap selects one, besides its own."""
    return FakeClient(
        namespace("home", team="a"), namespace("a", team="a"), namespace("b", team="b"), settings(**{TO: "team=a"})
    )


def copies(client: FakeClient) -> dict[str, dict[str, str]]:
    ConfigMapSyncer(client).reconcile_request(NAME)
    found = client.list(ConfigMap)
    return {one.metadata.namespace: dict(one.data) for one in found if SOURCE in one.metadata.annotations}


def test_selected_namespaces_get_a_copy_which_is_written_once(client: FakeClient) -> None:
    assert copies(client) == {"a": {"mode": "fast"}}
    client.clear_actions()
    assert copies(client) == {"a": {"mode": "fast"}}
    assert client.writes == []


def test_changed_selector_moves_the_copies(client: FakeClient) -> None:
    assert copies(client).keys() == {"a"}
    source = client.get(ConfigMap, NAME)
    client.update(change(source, lambda d: d.metadata.annotations).to({TO: "team=b"}))
    assert copies(client).keys() == {"b"}
    client.update(change(client.get(ConfigMap, NAME), lambda d: d.metadata.annotations).to({}))
    assert copies(client) == {}


def test_changed_copy_is_reverted_and_a_changed_source_is_copied(client: FakeClient) -> None:
    assert copies(client) == {"a": {"mode": "fast"}}
    client.patch(client.get(ConfigMap, ObjectName("a", "settings")), {"data": {"mode": "other"}})
    assert copies(client) == {"a": {"mode": "fast"}}
    client.patch(client.get(ConfigMap, NAME), {"data": {"mode": "slow"}})
    assert copies(client) == {"a": {"mode": "slow"}}


def test_copies_of_a_deleted_source_are_deleted(client: FakeClient) -> None:
    assert copies(client).keys() == {"a"}
    client.delete(client.get(ConfigMap, NAME))
    assert copies(client) == {}
