"""Listers read the store and nothing else."""

import pytest

from clientgo.cache import NAMESPACE_INDEX, Indexer, Lister, by_namespace
from clientgo.errors import NotFound
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta, nothing, parse_selector


class ConfigMapLister(Lister[ConfigMap]):
    kind = ConfigMap


def filled(**indexers: object) -> ConfigMapLister:
    indexer: Indexer[ConfigMap] = Indexer({NAMESPACE_INDEX: by_namespace} if indexers.get("indexed", True) else {})
    for namespace, name, color in (("a", "one", "red"), ("a", "two", "blue"), ("b", "one", "red")):
        indexer.add(ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, labels={"color": color})))
    return ConfigMapLister(indexer)


def keys(objects: list[ConfigMap]) -> list[str]:
    return sorted(f"{obj.metadata.namespace}/{obj.metadata.name}" for obj in objects)


@pytest.mark.behaviour("LI-01")
def test_a_selector_chooses_by_labels() -> None:
    assert keys(filled().list(parse_selector("color=red"))) == ["a/one", "b/one"]
    assert keys(filled().list()) == ["a/one", "a/two", "b/one"]
    assert keys(filled().list(nothing())) == []


@pytest.mark.parametrize("indexed", [pytest.param(True, id="by index"), pytest.param(False, id="by scan")])
def test_a_namespace_has_its_own_objects(indexed: bool) -> None:
    lister = filled(indexed=indexed)
    assert keys(lister.in_namespace("a").list()) == ["a/one", "a/two"]
    assert keys(lister.in_namespace("a").list(parse_selector("color=blue"))) == ["a/two"]
    assert keys(lister.in_namespace("").list()) == ["a/one", "a/two", "b/one"]


def test_get_gives_the_cached_object_itself() -> None:
    lister = filled().in_namespace("b")
    assert lister.get("one") is lister.list()[0]


def test_get_of_an_absent_object_says_so_as_the_server_would() -> None:
    with pytest.raises(NotFound, match='configmaps "nope" not found') as caught:
        filled().in_namespace("a").get("nope")
    assert caught.value.details.name == "nope"
    assert caught.value.reason == "NotFound"
