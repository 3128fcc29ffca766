"""Additional clusters of a manager, with their event recorders."""

import pytest

from clientgo.errors import Forbidden, LeaseNotHeld
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import (
    CacheNotSynced,
    CacheOptions,
    ClusterOptions,
    ControllerBuilder,
    KindSource,
    LeaderElectionOptions,
)
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.record.sinks import CoreEventClient
from clientgo.testing.actions import Action
from clientgo.testing.eventually import eventually
from clientgo.testing.fake import FakeRequester
from controller.api.v1alpha1 import Foo
from tests.manager.managed import fake, manager_of, new_foo, running

A = ObjectName("ns", "a")


def config(name: str = "a") -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="ns"))


def created(requester: FakeRequester) -> list[str]:
    """Return the resources of created objects, in order."""
    return [action.resource.group_resource for action in requester.actions if action.verb == "create"]


@pytest.mark.feature("B-CR-15")
def test_controller_watches_reads_and_writes_several_clusters() -> None:
    local, existing, seen = fake(new_foo()), fake(config()), list[ObjectName]()
    manager = manager_of(local)
    east = manager.add_cluster(existing, ClusterOptions(name="test-east"))
    built = ControllerBuilder(manager).named("both").for_(Foo).watches_source(KindSource(east.cache, ConfigMap))
    built.complete(seen.append)
    with running(manager):
        eventually(lambda: seen)
        assert manager.client.find(ConfigMap, A) is None
        assert east.client.get(ConfigMap, A) == east.api_reader.get(ConfigMap, A)
        east.client.create(config("b"))
        eventually(lambda: ObjectName("ns", "b") in seen)
        manager.recorder.event(new_foo(), "Normal", "Here", "here")
        east.recorder.event(config(), "Normal", "There", "there")
    assert (created(local), created(existing)) == (["events"], ["configmaps", "events"])
    assert repr(east) == "<Cluster test-east <Cache configmaps>>"


@pytest.mark.feature("B-CR-15")
def test_standby_writes_to_no_cluster() -> None:
    manager = manager_of(fake(), leader_election=LeaderElectionOptions(id="test"))
    east = manager.add_cluster(fake(), ClusterOptions(name="test-east"))
    with pytest.raises(LeaseNotHeld):
        east.client.create(config())
    manager.close()


def refuse(_: Action) -> tuple[bool, object]:
    raise Forbidden("configmaps is forbidden")


@pytest.mark.feature("B-CR-15")
def test_manager_waits_for_the_caches_of_all_clusters() -> None:
    existing, worked = fake(), list[str]()
    existing.prepend_reactor("list", "configmaps", refuse)
    manager = manager_of(fake())
    manager.add(lambda _: worked.append("too early"))
    options = ClusterOptions(name="test-east", cache=CacheOptions(sync_timeout=0.05))
    manager.add_cluster(existing, options).cache.informer(ConfigMap)
    with pytest.raises(CacheNotSynced, match=r"the cache did not sync within 0\.05 s: configmaps: "), running(manager):
        pass
    assert worked == []


@pytest.mark.feature("B-CR-15")
def test_cluster_added_to_a_running_manager_starts_and_stops_with_it() -> None:
    manager, existing = manager_of(fake()), fake(config())
    with running(manager):
        east = manager.add_cluster(existing, ClusterOptions(name="test-east"))
        assert east.ready.wait(30.0)
        assert east.client.get(ConfigMap, A).metadata.name == "a"
        assert [informer.state().name for informer in manager._diagnostics.informers] == ["configmaps"]
        east.recorder.event(config(), "Normal", "There", "there")
    assert created(existing) == ["events"]
    assert all(informer.is_stopped for informer in east.cache.informers())


@pytest.mark.feature("B-EV-01")
@pytest.mark.parametrize("early", [True, False])
def test_events_have_an_action_and_a_related_object(early: bool) -> None:
    requester = fake(new_foo())
    manager = manager_of(requester)
    recorder = manager.event_recorder() if early else None
    with running(manager):
        recorder = recorder or manager.event_recorder("foo-controller")
        recorder.eventf(new_foo(), "Normal", "Scaled", "%d replicas", 3, action="Scaling", related=config())
    (event,) = CoreEventClient(requester, "ns").list().items
    assert (event.reason, event.action, event.message) == ("Scaled", "Scaling", "3 replicas")
    assert event.reporting_component == ("test" if early else "foo-controller")
    assert event.related is not None
    assert event.related.name == "a"
    assert created(requester) == ["events"]
