"""Informer factory: one informer per kind, started and stopped together."""

import threading
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from clientgo.cache import InformerFactory, InformerName, KindInformer
from clientgo.dynamic import DynamicInformerFactory
from clientgo.dynamic.unstructured import unstructured_type
from clientgo.errors import Forbidden
from clientgo.kubernetes.informers.core_v1 import ConfigMapInformer, SecretInformer
from clientgo.kubernetes.types.core_v1 import ConfigMap, Secret
from clientgo.meta import GroupVersionResource, ObjectMeta
from clientgo.rest.request import Requester
from clientgo.testing.eventually import eventually
from clientgo.testing.kubernetes import FakeClientset
from clientgo.testing.metrics import recorded_metrics
from clientgo.testing.watchsource import FakeSource


class Sources:
    """Clientset with one fake source per namespace."""

    def __init__(self) -> None:
        self.made: dict[str, FakeSource[ConfigMap]] = {}
        self.requester: Requester = self  # type: ignore[assignment]  # only passed on

    def config_maps(self, requester: Requester, namespace: str = "") -> FakeSource[ConfigMap]:
        assert requester == self.requester
        return self.made.setdefault(namespace, FakeSource(ConfigMap))


def of(sources: Sources) -> type[KindInformer[ConfigMap, Any]]:
    class ConfigMapInformer(KindInformer[ConfigMap, Any]):
        kind = ConfigMap
        client: ClassVar = staticmethod(sources.config_maps)

    return ConfigMapInformer


@pytest.mark.feature("B-FAC-02", "A-29")
def test_second_request_for_a_kind_returns_the_same_informer() -> None:
    sources = Sources()
    factory = InformerFactory(sources)
    assert of(sources)(factory).informer is of(sources)(factory).informer
    assert factory.for_resource(GroupVersionResource("", "v1", "configmaps")) is of(sources)(factory).informer


@pytest.mark.feature("B-FAC-03", "A-29", "C-19")
def test_second_start_starts_informers_requested_after_the_first() -> None:
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


@pytest.mark.feature("B-FAC-01")
def test_each_namespace_has_its_own_source() -> None:
    sources, stop = Sources(), threading.Event()
    factory = InformerFactory(sources, namespace=("a", "b"))
    informer = of(sources)(factory).informer
    sources.made["a"].add(ConfigMap(metadata=ObjectMeta(name="x", namespace="a")))
    factory.start(stop)
    assert factory.wait_for_cache_sync(stop, timeout=10)
    assert sorted(sources.made) == ["a", "b"]
    assert len(informer.indexer) == 1
    factory.shutdown(timeout=10)


@pytest.mark.feature("B-FAC-03", "B-FAC-05")
def test_nothing_starts_after_shutdown_and_no_thread_remains() -> None:
    sources, stop = Sources(), threading.Event()
    factory = InformerFactory(sources)
    factory.shutdown()
    informer = of(sources)(factory).informer
    factory.start(stop)
    assert not informer.has_synced
    assert [t.name for t in threading.enumerate() if "configmaps" in t.name] == []


def test_removed_informer_stops_alone_and_the_next_request_creates_another() -> None:
    sources, stop = Sources(), threading.Event()
    factory = InformerFactory(sources)
    first, resource = of(sources)(factory).informer, GroupVersionResource("", "v1", "configmaps")
    handler = first.add_event_handler()
    factory.start(stop)
    assert factory.wait_for_cache_sync(stop, timeout=10)
    assert factory.remove(resource)
    assert not factory.remove(resource)
    eventually(lambda: [t.name for t in threading.enumerate() if "configmaps" in t.name] == [])
    assert first.is_stopped
    assert handler.remove()
    with pytest.raises(RuntimeError, match="has stopped already"):
        first.add_event_handler()
    second = of(sources)(factory).informer
    factory.start(stop)
    assert factory.wait_for_cache_sync(stop, timeout=10)
    assert second is not first
    assert not stop.is_set()
    factory.shutdown(timeout=10)


@pytest.mark.feature("B-FAC-01", "B-WAT-03", "D-14")
def test_options_of_lists_and_watches_can_be_tweaked() -> None:
    sources, stop = Sources(), threading.Event()
    factory = InformerFactory(sources, tweak_list_options=lambda options: replace(options, label_selector="a=b"))
    assert not of(sources)(factory).informer.has_synced
    factory.start(stop)
    sources.made[""].wait_for_watch()
    assert {options.label_selector for options in (*sources.made[""].lists, *sources.made[""].watches)} == {"a=b"}
    factory.shutdown(timeout=10)


@pytest.mark.feature("B-FAC-06", "D-15")
def test_known_resource_has_an_informer_without_a_previous_request() -> None:
    class Known(InformerFactory):
        resources: ClassVar = {
            GroupVersionResource("", "v1", "configmaps"): "clientgo.kubernetes.informers.core_v1:ConfigMapInformer"
        }

    factory = Known(FakeClientset(ConfigMap(metadata=ObjectMeta(name="x", namespace="ns"))))
    informer = factory.for_resource(GroupVersionResource("", "v1", "configmaps"))
    assert factory.for_resource(GroupVersionResource("", "v1", "configmaps")) is informer
    stop = threading.Event()
    factory.start(stop)
    assert factory.wait_for_cache_sync(stop, timeout=10)
    assert informer.size == 1
    factory.shutdown(timeout=10)
    with pytest.raises(LookupError, match="no informer found for v1, Resource=secrets"):
        factory.for_resource(GroupVersionResource("", "v1", "secrets"))


@pytest.mark.feature("B-FAC-01")
def test_kind_can_have_its_own_resync_period() -> None:
    factory = InformerFactory(FakeClientset(), resync=30.0, custom_resync={Secret: 5.0})
    assert SecretInformer(factory).informer.resync == 5.0
    assert ConfigMapInformer(factory).informer.resync == 30.0


def test_resync_period_of_a_kind_applies_to_its_other_representations() -> None:
    secrets = GroupVersionResource("", "v1", "secrets")
    factory = DynamicInformerFactory(FakeClientset(), resync=30.0, custom_resync={Secret: 5.0})
    assert factory.for_resource(secrets).resync == 5.0
    factory = DynamicInformerFactory(FakeClientset(), custom_resync={unstructured_type(secrets): 5.0})
    assert factory.for_resource(secrets, kind="Secret").resync == 5.0


@pytest.mark.feature("B-FAC-04", "C-19")
def test_resources_that_have_not_synced_are_named() -> None:
    sources, stop = Sources(), threading.Event()
    factory = InformerFactory(sources)
    assert not of(sources)(factory).informer.has_synced
    sources.made[""].fail_next_lists(*[Forbidden("no")] * 3)
    factory.start(stop)
    result = factory.wait_for_sync_result(stop, timeout=0.05)
    assert (result.missing, bool(result)) == (("configmaps",), False)
    factory.shutdown(timeout=10)
    assert factory.wait_for_sync_result(stop, timeout=0.0).cause != ""


@pytest.mark.feature("B-WAT-03")
@pytest.mark.parametrize(
    ("declared", "expected", "streams"),
    [(False, True, False), (None, True, True), (None, None, None), (True, None, True), (True, False, False)],
)
@pytest.mark.behaviour("LW-01")
def test_support_of_streamed_lists_declared_by_the_requester_holds_for_all_informers(
    declared: bool | None, expected: bool | None, streams: bool | None
) -> None:
    sources = Sources()
    if declared is not None:
        sources.supports_watch_list = declared  # type: ignore[attr-defined]  # as requesters may have
    assert InformerFactory(sources, watch_list=expected)._watch_list is streams


@pytest.mark.feature("B-FAC-01")
def test_informers_of_a_named_factory_have_metrics_by_resource() -> None:
    name = InformerName("shop")
    with recorded_metrics() as metrics:
        factory = InformerFactory(FakeClientset(), name=name)
        assert ConfigMapInformer(factory).informer.size == 0
    name.release()
    assert ("informer_store_objects", "shop", "", "v1", "configmaps") in metrics.metrics
