"""Metrics of reflectors and of named informers."""

import threading

import pytest

from clientgo.cache import InformerName, SharedInformer
from clientgo.cache.metrics import version_number
from clientgo.errors import ConnectionFailed, Expired, Forbidden, TooManyRequests
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import GroupVersionResource, ObjectMeta
from clientgo.meta.listwatch import Bookmark
from clientgo.testing.clock import FakeClock
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.metrics import recorded_metrics
from clientgo.testing.watchsource import FakeSource
from tests.cache.scripted import Script, added, config_map, following, handling, list_end, page, run, watch

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
LABELS = ("shop", "", "v1", "configmaps")


@pytest.mark.feature("B-REF-22")
def test_lists_and_watches_are_counted() -> None:
    clock = FakeClock(auto=True)
    with recorded_metrics() as metrics:
        source = Script(
            page(config_map("a", 1), config_map("b", 2)), watch(added("c", 11), error=Expired("old")),
            page(version="20"), watch(), clock=clock, step=0.25,
        )  # fmt: skip
        run(source, clock=clock, name="maps")
    assert metrics["reflector_lists_total", "maps"].value == 3  # two of the script, and the one that ends it
    assert metrics["reflector_items_per_list", "maps"].observed[:2] == [2, 0]
    assert metrics["reflector_list_duration_seconds", "maps"].observed[:2] == [0.25, 0.25]
    assert metrics["reflector_watches_total", "maps"].value == 2
    assert metrics["reflector_items_per_watch", "maps"].observed[:2] == [1, 0]
    assert metrics["reflector_short_watches_total", "maps"].value == 1
    assert metrics["reflector_last_resource_version", "maps"].value == 10


@pytest.mark.behaviour("ST-10")
def test_named_informer_reports_version_and_size_of_its_store() -> None:
    name, clock = InformerName("shop"), FakeClock()
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    source = FakeSource(ConfigMap)
    with (
        recorded_metrics() as metrics,
        following(source, handling(handler), identity=name.with_resource(CONFIG_MAPS), clock=clock),
    ):
        source.wait_for_watch()
        for number in range(3):
            source.add(ConfigMap(metadata=ObjectMeta(name=f"m{number}")))
        handler.wait_for(3)
    name.release()
    assert metrics["informer_store_resource_version", *LABELS].value == 4
    assert metrics["informer_store_objects", *LABELS].value == 3
    assert metrics["informer_processing_latency_seconds", *LABELS].observed == [0.0, 0.0, 0.0]
    # All notifications are handled once the threads have ended.
    assert metrics["informer_queued_items", *LABELS].value == 0


@pytest.mark.feature("B-INF-20", "C-10")
def test_informer_without_a_reserved_name_has_no_metrics() -> None:
    name = InformerName("twice")
    reserved, used = name.with_resource(CONFIG_MAPS), name.with_resource(CONFIG_MAPS)
    with recorded_metrics() as metrics:
        SharedInformer(FakeSource(ConfigMap))
        SharedInformer(FakeSource(ConfigMap), identity=used)
        assert [key for key in metrics.metrics if key[0] == "informer_store_objects"] == []
        SharedInformer(FakeSource(ConfigMap), identity=reserved)
        assert ("informer_store_objects", "twice", "", "v1", "configmaps") in metrics.metrics
    name.release()


@pytest.mark.parametrize(
    ("version", "number"), [("", 0), ("42", 42), ("1234567890123456789", 567890123456789), ("not a number", 0)]
)
def test_version_metric_has_the_last_15_digits(version: str, number: float) -> None:
    assert version_number(version) == number


@pytest.mark.feature("B-STO-14", "C-10")
def test_list_and_bookmark_update_metrics_without_events() -> None:
    name, clock = InformerName("listed"), FakeClock(auto=True)
    source = Script(page(config_map("a", 1), config_map("b", 2), version="10"), watch(Bookmark("15")), clock=clock)
    with recorded_metrics() as metrics:
        informer = SharedInformer(source, identity=name.with_resource(CONFIG_MAPS), clock=clock)
        informer.run(source.stop)
    name.release()
    labels = ("listed", *LABELS[1:])
    assert metrics["informer_store_objects", *labels].value == 2
    assert metrics["informer_store_resource_version", *labels].value == 15


@pytest.mark.feature("B-FIFO-13", "C-10", "C-57")
def test_backlog_of_a_slow_handler_is_reported_until_it_catches_up() -> None:
    name, clock = InformerName("slow"), FakeClock()
    free, seen = threading.Event(), threading.Semaphore(0)
    source = FakeSource(ConfigMap)

    def handle(_: object) -> None:
        seen.release()
        free.wait(10)

    for number in range(3):
        source.add(ConfigMap(metadata=ObjectMeta(name=f"m{number}")))
    identity = name.with_resource(CONFIG_MAPS)
    with (
        recorded_metrics() as metrics,
        following(source, lambda i: i.add_event_handler(on_add=handle), identity=identity, clock=clock) as informer,
    ):
        seen.acquire(timeout=10)
        source.wait_for_watch()
        source.add(ConfigMap(metadata=ObjectMeta(name="one more")))
        metrics["informer_store_objects", "slow", *LABELS[1:]].wait_until(4)
        # Two of the list, its end, and the event.
        waiting = metrics["informer_queued_items", "slow", *LABELS[1:]]
        waiting.wait_until(4)
        assert informer.state().waiting == 4
        free.set()
        waiting.wait_until(0)
    name.release()


def test_failures_are_counted_by_the_class_of_the_error() -> None:
    clock = FakeClock(auto=True)
    refused = ConnectionFailed("refused", refused=True)
    with recorded_metrics() as metrics:
        source = Script(
            Forbidden("no"), page(), refused, TooManyRequests("slow down"), watch(added("a", 11), error=Expired("old")),
            page(), watch(added("b", 21), error=ConnectionFailed("reset")), watch(), clock=clock,
        )  # fmt: skip
        run(source, clock=clock, name="failing")
    counted = {key[2]: item.value for key, item in metrics.metrics.items() if key[0] == "reflector_failures_total"}
    assert counted == {
        "Forbidden": 1, "ConnectionFailed": 2, "TooManyRequests": 1, "Expired": 1, "VeryShortWatch": 1,
    }  # fmt: skip
    assert metrics["reflector_watches_total", "failing"].value == 5


def test_streamed_list_counts_as_list_and_watch_and_bookmarks_update_the_version() -> None:
    clock = FakeClock(auto=True)
    stream = watch(added("a", 8), added("b", 9), list_end(10), Bookmark("12"))
    with recorded_metrics() as metrics:
        run(Script(stream, clock=clock, step=0.5), clock=clock, name="streamed", watch_list=True)
    # That of the script, and the watch that ends it.
    assert metrics["reflector_lists_total", "streamed"].value == 1
    assert metrics["reflector_watches_total", "streamed"].value == 2
    assert metrics["reflector_items_per_list", "streamed"].observed == [2]
    assert metrics["reflector_list_duration_seconds", "streamed"].observed == [0.5]
    assert metrics["reflector_last_resource_version", "streamed"].value == 12


PODS = GroupVersionResource("", "v1", "pods")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")


@pytest.mark.behaviour("ID-01")
def test_name_is_unique_until_it_is_released() -> None:
    name = InformerName("one")
    with pytest.raises(ValueError, match="the informer name 'one' is already in use"):
        InformerName("one")
    with pytest.raises(ValueError, match="must not be empty"):
        InformerName("")
    name.release()
    InformerName("one").release()


@pytest.mark.behaviour("ID-02")
def test_resource_is_reserved_once_per_name() -> None:
    name = InformerName("two")
    assert name.with_resource(PODS).reserved
    assert not name.with_resource(PODS).reserved
    assert name.with_resource(DEPLOYMENTS).reserved
    name.release()
    assert not name.with_resource(GroupVersionResource("", "v1", "secrets")).reserved


@pytest.mark.behaviour("ID-03")
def test_release_ends_reservations_and_frees_the_name_once() -> None:
    name = InformerName("three")
    identity = name.with_resource(PODS)
    assert identity.labels == {"name": "three", "group": "", "version": "v1", "resource": "pods"}
    name.release()
    assert not identity.reserved
    successor = InformerName("three")
    name.release()  # again, but the name belongs to another set
    with pytest.raises(ValueError, match="already in use"):
        InformerName("three")
    assert successor.with_resource(PODS).reserved
    successor.release()
