"""REST mapper: mappings and caching."""

from typing import Any

import pytest

from clientgo.dynamic import DynamicClientset
from clientgo.dynamic.mapper import NoMatch, RestMapper, RestMapping
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import GroupVersionKind, GroupVersionResource, ObjectMeta
from clientgo.testing.kubernetes import FakeClientset
from clientgo.typed.discovery import Discovery
from tests.typed.documents import Documents

FOO: dict[str, Any] = {
    "name": "foos", "singularName": "foo", "shortNames": ["fo"], "kind": "Foo", "namespaced": True,
    "verbs": ["get"],
}  # fmt: skip
OTHERS = [
    {"name": "foos/scale", "kind": "Scale", "group": "autoscaling", "version": "v1", "verbs": ["get"]},
    {"name": "realms", "kind": "Realm", "verbs": ["get"]},
]
V1 = {"kind": "APIResourceList", "groupVersion": "example.com/v1", "resources": [FOO, *OTHERS]}
GROUP = {"kind": "APIGroup", "name": "example.com", "versions": [{"version": "v1beta1"}, {"version": "v1"}]}
FOO_MAPPING = RestMapping(
    GroupVersionKind("example.com", "v1", "Foo"), GroupVersionResource("example.com", "v1", "foos"), True
)


@pytest.fixture
def server() -> Documents:
    group = GROUP | {"preferredVersion": {"version": "v1"}}
    older = {"kind": "APIResourceList", "resources": [FOO, {"name": "olds", "kind": "Old", "verbs": []}]}
    return Documents({"/apis/example.com": group, "/apis/example.com/v1": V1, "/apis/example.com/v1beta1": older})


@pytest.mark.feature("A-07")
def test_mapping_is_cached(server: Documents) -> None:
    mapper = RestMapper(Discovery(server))
    for _ in range(2):
        assert mapper.mapping("Foo", "example.com", "v1") == FOO_MAPPING
        assert not mapper.mapping("Realm", "example.com", "v1").namespaced
    assert server.asked == ["/apis/example.com/v1"]


@pytest.mark.feature("A-07")
def test_default_version_is_the_preferred_one_with_the_kind(server: Documents) -> None:
    mapper = RestMapper(Discovery(server))
    assert mapper.mapping("Foo", "example.com") == FOO_MAPPING
    assert mapper.mapping("Old", "example.com").kind.version == "v1beta1"


@pytest.mark.feature("A-07")
@pytest.mark.parametrize("version", ["v1", ""])
def test_new_kind_is_found_by_refreshing_the_cache(server: Documents, version: str) -> None:
    mapper = RestMapper(Discovery(server))
    mapper.mapping("Foo", "example.com", version)
    server.documents["/apis/example.com/v1"] = V1 | {"resources": [FOO, {"name": "news", "kind": "New", "verbs": []}]}
    server.asked.clear()
    assert mapper.mapping("New", "example.com", version).resource.resource == "news"
    assert server.asked.count("/apis/example.com/v1") == 1


def test_fresh_negative_result_is_not_requested_again(server: Documents) -> None:
    mapper = RestMapper(Discovery(server))
    with pytest.raises(NoMatch, match=r'^no matches for kind "Bar" in version "example.com/v1"$'):
        mapper.mapping("Bar", "example.com", "v1")
    assert server.asked == ["/apis/example.com/v1"]
    with pytest.raises(NoMatch, match=r'^no matches for kind "Foo" in group "nowhere.example.com"$'):
        mapper.mapping("Foo", "nowhere.example.com")
    assert server.asked[1:] == ["/apis/nowhere.example.com"]


@pytest.mark.parametrize("name", ["foos", "foo", "fo"])
def test_resource_is_found_by_plural_singular_or_short_name(server: Documents, name: str) -> None:
    assert RestMapper(Discovery(server)).by_resource(GroupVersionResource("example.com", "v1", name)) == FOO_MAPPING


def test_missing_resource_raises_and_reset_clears_the_cache(server: Documents) -> None:
    mapper = RestMapper(Discovery(server))
    with pytest.raises(NoMatch, match=r"no matches for example.com/v1, Resource=bars"):
        mapper.by_resource(GroupVersionResource("example.com", "v1", "bars"))
    del server.documents["/apis/example.com/v1"]
    assert mapper.mapping("Foo", "example.com", "v1") == FOO_MAPPING
    mapper.reset()
    with pytest.raises(NoMatch):
        mapper.mapping("Foo", "example.com", "v1")


def test_dynamic_client_is_created_from_a_mapping() -> None:
    fake = FakeClientset(ConfigMap(metadata=ObjectMeta(name="a", namespace="ns")))
    dynamic = DynamicClientset(fake.requester)
    result = RestMapper(dynamic.discovery).mapping("ConfigMap")
    client = dynamic.resource(result.resource, "ns", kind=result.kind.kind, namespaced=result.namespaced)
    assert client.get("a").kind == "ConfigMap"
