"""Reflectors and named informers are measured under the names dashboards know."""

import pytest

from clientgo.cache import InformerName, SharedInformer
from clientgo.cache.reflectormetrics import version_number
from clientgo.errors import Expired
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import GroupVersionResource, ObjectMeta
from clientgo.testing.clock import FakeClock
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.source import FakeSource
from tests.cache.keptmetrics import kept_metrics
from tests.cache.scripted import Script, added, config_map, following, handling, page, run, watch

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
LABELS = ("shop", "", "v1", "configmaps")


def test_lists_and_watches_are_counted() -> None:
    clock = FakeClock(auto=True)
    with kept_metrics() as kept:
        source = Script(
            page(config_map("a", 1), config_map("b", 2)), watch(added("c", 11), error=Expired("old")),
            page(version="20"), watch(), clock=clock, step=0.25,
        )  # fmt: skip
        run(source, clock=clock, name="maps")
    assert kept["reflector_lists_total", "maps"].value == 3  # the script's two, and the one that ends it
    assert kept["reflector_items_per_list", "maps"].observed[:2] == [2, 0]
    assert kept["reflector_list_duration_seconds", "maps"].observed[:2] == [0.25, 0.25]
    assert kept["reflector_watches_total", "maps"].value == 2
    assert kept["reflector_items_per_watch", "maps"].observed[:2] == [1, 0]
    assert kept["reflector_short_watches_total", "maps"].value == 1
    assert kept["reflector_last_resource_version", "maps"].value == 10


@pytest.mark.behaviour("ST-10")
def test_a_named_informer_tells_the_global_provider_what_its_store_holds() -> None:
    name, clock = InformerName("shop"), FakeClock()
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    source = FakeSource(ConfigMap)
    with (
        kept_metrics() as kept,
        following(source, handling(handler), identity=name.with_resource(CONFIG_MAPS), clock=clock),
    ):
        source.wait_for_watch()
        for number in range(3):
            source.add(ConfigMap(metadata=ObjectMeta(name=f"m{number}")))
        handler.wait_for(3)
    name.release()
    assert kept["informer_store_resource_version", *LABELS].value == 4
    assert kept["informer_store_objects", *LABELS].value == 3
    assert kept["informer_processing_latency_seconds", *LABELS].observed == [0.0, 0.0, 0.0]
    # The three, and the mark that ends the initial list, unless the handler was quicker.
    assert 0 <= kept["informer_queued_items", *LABELS].value <= 4


def test_an_informer_without_a_name_or_with_one_that_is_taken_measures_nothing() -> None:
    name = InformerName("twice")
    reserved, taken = name.with_resource(CONFIG_MAPS), name.with_resource(CONFIG_MAPS)
    with kept_metrics() as kept:
        SharedInformer(FakeSource(ConfigMap))
        SharedInformer(FakeSource(ConfigMap), identity=taken)
        assert [key for key in kept.metrics if key[0] == "informer_store_objects"] == []
        SharedInformer(FakeSource(ConfigMap), identity=reserved)
        assert ("informer_store_objects", "twice", "", "v1", "configmaps") in kept.metrics
    name.release()


@pytest.mark.parametrize(
    ("version", "number"), [("", 0), ("42", 42), ("1234567890123456789", 567890123456789), ("not a number", 0)]
)
def test_a_version_is_shown_by_as_many_digits_as_a_float_holds(version: str, number: float) -> None:
    assert version_number(version) == number
