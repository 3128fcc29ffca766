"""Listers."""

from collections.abc import Mapping
from typing import ClassVar

import pytest

from clientgo.cache import NAMESPACE_INDEX, Indexer, Lister, by_namespace
from clientgo.errors import NotFound
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta, Selector, everything, nothing, parse_selector


class ConfigMapLister(Lister[ConfigMap]):
    kind = ConfigMap


def filled(**indexers: object) -> ConfigMapLister:
    indexer: Indexer[ConfigMap] = Indexer({NAMESPACE_INDEX: by_namespace} if indexers.get("indexed", True) else {})
    for namespace, name, color in (("a", "one", "red"), ("a", "two", "blue"), ("b", "one", "red")):
        indexer.add(ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, labels={"color": color})))
    return ConfigMapLister(indexer)


def keys(objects: list[ConfigMap]) -> list[str]:
    return sorted(f"{obj.metadata.namespace}/{obj.metadata.name}" for obj in objects)


class Counting(Selector, frozen=True):
    """Selector that counts the labels it is called with."""

    reads: ClassVar[int] = 0

    def matches(self, labels: Mapping[str, str]) -> bool:
        Counting.reads += 1
        return super().matches(labels)


class Repeating(Indexer[ConfigMap]):
    """Indexer that lists two objects many times, to measure the iteration only."""

    def __init__(self, matching: int, other_items: int) -> None:
        super().__init__()
        yes, no = (ConfigMap(metadata=ObjectMeta(labels={"match": value})) for value in ("true", "false"))
        self._all = [yes] * matching + [no] * other_items

    def list(self) -> list[ConfigMap]:
        return list(self._all)


def reads(lister: ConfigMapLister, selector: Selector) -> tuple[int, int]:
    """Return the number of listed objects, and of labels read."""
    Counting.reads = 0
    return len(lister.list(Counting(selector.requirements))), Counting.reads


@pytest.mark.behaviour("LI-01")
def test_selector_finds_all_matching_objects_among_many() -> None:
    lister = ConfigMapLister(Repeating(10_000, 90_000))
    assert reads(lister, parse_selector("match=true")) == (10_000, 100_000)


@pytest.mark.feature("B-LIS-01")
@pytest.mark.behaviour("LI-02")
@pytest.mark.behaviour("LI-03")
@pytest.mark.behaviour("LI-04")
def test_listing_a_million_objects_without_a_selector_reads_no_labels() -> None:
    lister = ConfigMapLister(Repeating(0, 1_000_000))
    assert reads(lister, everything()) == (1_000_000, 0)
    assert reads(lister, parse_selector("match=true")) == (0, 1_000_000)
    assert reads(lister, nothing()) == (0, 0)


def test_selector_matches_labels() -> None:
    assert keys(filled().list(parse_selector("color=red"))) == ["a/one", "b/one"]
    assert keys(filled().list()) == ["a/one", "a/two", "b/one"]
    assert keys(filled().list(nothing())) == []


@pytest.mark.feature("B-LIS-02", "A-43", "D-12")
@pytest.mark.parametrize("indexed", [pytest.param(True, id="by index"), pytest.param(False, id="by scan")])
def test_namespace_lister_returns_only_its_objects(indexed: bool) -> None:
    lister = filled(indexed=indexed)
    assert keys(lister.in_namespace("a").list()) == ["a/one", "a/two"]
    assert keys(lister.in_namespace("a").list(parse_selector("color=blue"))) == ["a/two"]
    assert keys(lister.in_namespace("").list()) == ["a/one", "a/two", "b/one"]


@pytest.mark.feature("B-LIS-04")
def test_get_returns_the_cached_object_itself() -> None:
    lister = filled().in_namespace("b")
    assert lister.get("one") is lister.list()[0]


@pytest.mark.feature("B-LIS-03", "A-43", "D-12")
def test_get_of_an_absent_object_raises_the_servers_error() -> None:
    with pytest.raises(NotFound, match='configmaps "nope" not found') as caught:
        filled().in_namespace("a").get("nope")
    assert caught.value.details.name == "nope"
    assert caught.value.reason == "NotFound"
