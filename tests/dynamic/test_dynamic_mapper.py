"""From a kind to its resource and back, asking the server no more than it takes."""

from typing import Any

import pytest

from clientgo.dynamic import DynamicClientset
from clientgo.dynamic.mapper import NoMatch, RestMapper, RestMapping
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import GroupVersionKind, GroupVersionResource, ObjectMeta
from clientgo.testing.kubernetes import FakeClientset
from clientgo.typed.discovery import Discovery
from tests.typed.test_typed_discovery import Documents

FOO: dict[str, Any] = {
    "name": "foos", "singularName": "foo", "shortNames": ["fo"], "kind": "Foo", "namespaced": True,
    "verbs": ["get"],
}  # fmt: skip
OTHERS = [
    {"name": "foos/scale", "kind": "Scale", "group": "autoscaling", "version": "v1", "verbs": ["get"]},
    {"name": "realms", "kind": "Realm", "verbs": ["get"]},
]
V1 = {"groupVersion": "example.com/v1", "resources": [FOO, *OTHERS]}
GROUP = {"name": "example.com", "versions": [{"version": "v1beta1"}, {"version": "v1"}]}
FOO_MAPPING = RestMapping(
    GroupVersionKind("example.com", "v1", "Foo"), GroupVersionResource("example.com", "v1", "foos"), True
)


@pytest.fixture
def server() -> Documents:
    group = GROUP | {"preferredVersion": {"version": "v1"}}
    older = {"resources": [FOO, {"name": "olds", "kind": "Old", "verbs": []}]}
    return Documents({"/apis/example.com": group, "/apis/example.com/v1": V1, "/apis/example.com/v1beta1": older})


@pytest.mark.feature("A-07")
def test_a_kind_is_found_with_resource_and_scope_and_asked_for_once(server: Documents) -> None:
    mapper = RestMapper(Discovery(server))
    for _ in range(2):
        assert mapper.mapping("Foo", "example.com", "v1") == FOO_MAPPING
        assert not mapper.mapping("Realm", "example.com", "v1").namespaced
    assert server.asked == ["/apis/example.com/v1"]


@pytest.mark.feature("A-07")
def test_without_a_version_the_preferred_one_that_has_the_kind_counts(server: Documents) -> None:
    mapper = RestMapper(Discovery(server))
    assert mapper.mapping("Foo", "example.com") == FOO_MAPPING
    assert mapper.mapping("Old", "example.com").kind.version == "v1beta1"


@pytest.mark.feature("A-07")
@pytest.mark.parametrize("version", ["v1", ""])
def test_a_kind_that_comes_while_the_program_runs_is_found_by_one_more_look(server: Documents, version: str) -> None:
    mapper = RestMapper(Discovery(server))
    mapper.mapping("Foo", "example.com", version)
    server.documents["/apis/example.com/v1"] = {"resources": [FOO, {"name": "news", "kind": "New", "verbs": []}]}
    server.asked.clear()
    assert mapper.mapping("New", "example.com", version).resource.resource == "news"
    assert server.asked.count("/apis/example.com/v1") == 1


def test_what_the_server_has_just_denied_is_not_asked_again(server: Documents) -> None:
    mapper = RestMapper(Discovery(server))
    with pytest.raises(NoMatch, match=r'^no matches for kind "Bar" in version "example.com/v1"$'):
        mapper.mapping("Bar", "example.com", "v1")
    assert server.asked == ["/apis/example.com/v1"]
    with pytest.raises(NoMatch, match=r'^no matches for kind "Foo" in group "nowhere.example.com"$'):
        mapper.mapping("Foo", "nowhere.example.com")
    assert server.asked[1:] == ["/apis/nowhere.example.com"]


@pytest.mark.parametrize("name", ["foos", "foo", "fo"])
def test_a_resource_is_found_by_any_of_its_names(server: Documents, name: str) -> None:
    assert RestMapper(Discovery(server)).by_resource(GroupVersionResource("example.com", "v1", name)) == FOO_MAPPING


def test_a_resource_that_is_not_there_is_told_and_a_reset_forgets(server: Documents) -> None:
    mapper = RestMapper(Discovery(server))
    with pytest.raises(NoMatch, match=r"no matches for example.com/v1, Resource=bars"):
        mapper.by_resource(GroupVersionResource("example.com", "v1", "bars"))
    del server.documents["/apis/example.com/v1"]
    assert mapper.mapping("Foo", "example.com", "v1") == FOO_MAPPING
    mapper.reset()
    with pytest.raises(NoMatch):
        mapper.mapping("Foo", "example.com", "v1")


def test_a_dynamic_client_is_made_from_a_mapping() -> None:
    fake = FakeClientset(ConfigMap(metadata=ObjectMeta(name="a", namespace="ns")))
    dynamic = DynamicClientset(fake.requester)
    found = RestMapper(dynamic.discovery).mapping("ConfigMap")
    client = dynamic.resource(found.resource, "ns", kind=found.kind.kind, namespaced=found.namespaced)
    assert client.get("a").kind == "ConfigMap"
