"""A factory makes each informer once, starts what was asked for, and ends them all."""

import threading
from typing import ClassVar

import pytest
from msgspec.structs import replace

from clientgo.cache import InformerFactory, KindInformer
from clientgo.kubernetes.types.core_v1 import ConfigMap, Secret
from clientgo.meta import GroupVersionResource, ObjectMeta
from clientgo.rest.request import Requester
from clientgo.testing.source import FakeSource


class Sources:
    """Stands in for a clientset: hands out one fake source a namespace."""

    def __init__(self) -> None:
        self.made: dict[str, FakeSource[ConfigMap]] = {}
        self.requester: Requester = self  # type: ignore[assignment]  # only ever handed on

    def config_maps(self, requester: Requester, namespace: str = "") -> FakeSource[ConfigMap]:
        assert requester == self.requester
        return self.made.setdefault(namespace, FakeSource(ConfigMap))


def of(sources: Sources) -> type[KindInformer[ConfigMap]]:
    class ConfigMapInformer(KindInformer[ConfigMap]):
        kind = ConfigMap
        client: ClassVar = staticmethod(sources.config_maps)

    return ConfigMapInformer


def test_the_same_kind_asked_for_twice_is_one_informer() -> None:
    sources = Sources()
    factory = InformerFactory(sources)
    assert of(sources)(factory).informer is of(sources)(factory).informer
    assert factory.for_resource(GroupVersionResource("", "v1", "configmaps")) is of(sources)(factory).informer


def test_a_resource_nobody_asked_for_has_no_informer() -> None:
    with pytest.raises(LookupError, match="no informer found for v1, Resource=secrets"):
        InformerFactory(Sources()).for_resource(GroupVersionResource("", "v1", Secret.__name__.lower() + "s"))


def test_only_what_was_asked_for_is_started_and_what_is_asked_later_by_a_second_start() -> None:
    sources, stop = Sources(), threading.Event()
    factory = InformerFactory(sources)
    factory.start(stop)
    assert sources.made == {}
    informer = of(sources)(factory).informer
    factory.start(stop)
    factory.start(stop)
    assert factory.wait_for_cache_sync(stop, timeout=10)
    assert informer.has_synced
    assert len(sources.made[""].lists) == 1
    factory.shutdown(timeout=10)
    assert informer.is_stopped


def test_several_namespaces_have_a_source_each() -> None:
    sources, stop = Sources(), threading.Event()
    factory = InformerFactory(sources, namespace=("a", "b"))
    informer = of(sources)(factory).informer
    sources.made["a"].add(ConfigMap(metadata=ObjectMeta(name="x", namespace="a")))
    factory.start(stop)
    assert factory.wait_for_cache_sync(stop, timeout=10)
    assert sorted(sources.made) == ["a", "b"]
    assert len(informer.indexer) == 1
    factory.shutdown(timeout=10)


def test_after_shutdown_nothing_starts_and_no_thread_is_left() -> None:
    sources, stop = Sources(), threading.Event()
    factory = InformerFactory(sources)
    factory.shutdown()
    informer = of(sources)(factory).informer
    factory.start(stop)
    assert not informer.has_synced
    assert [t.name for t in threading.enumerate() if "configmaps" in t.name] == []


def test_options_of_lists_and_watches_can_be_tweaked() -> None:
    sources, stop = Sources(), threading.Event()
    factory = InformerFactory(sources, tweak_list_options=lambda options: replace(options, label_selector="a=b"))
    assert not of(sources)(factory).informer.has_synced
    factory.start(stop)
    sources.made[""].wait_for_watch()
    assert {options.label_selector for options in (*sources.made[""].lists, *sources.made[""].watches)} == {"a=b"}
    factory.shutdown(timeout=10)
