"""Caches of the namespaces with certain labels, which come and go."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from clientgo.errors import Forbidden, NotFound
from clientgo.kubernetes.types.core_v1 import ConfigMap, Namespace, Node
from clientgo.manager import ByObject, CacheOptions, ControllerBuilder, Manager, Options
from clientgo.manager.client import DirectClient
from clientgo.meta import ObjectMeta, ObjectName, Scheme
from clientgo.testing.actions import Action
from clientgo.testing.eventually import eventually
from clientgo.testing.fake import FakeRequester
from controller.api.v1alpha1 import Foo
from tests.manager.managed import new_foo, running

TEAM_A = CacheOptions(namespace_selector="team=a")


def namespace(name: str, team: str = "") -> Namespace:
    return Namespace(metadata=ObjectMeta(name=name, labels={"team": team} if team else {}))


def config_map(name: str, namespace: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace))


def cluster(*objects: object) -> FakeRequester:
    return FakeRequester(*objects, scheme=Scheme(Foo, ConfigMap, Namespace, Node))


def managed(requester: FakeRequester, cache: CacheOptions = TEAM_A) -> Manager:
    return Manager(requester, options=Options(name="test", cache=cache))


@contextmanager
def caching(
    *objects: object, cache: CacheOptions = TEAM_A, requester: FakeRequester | None = None
) -> Iterator[tuple[Manager, DirectClient]]:
    """Run a manager over these objects, beside a client of another program."""
    requester = requester or cluster(*objects)
    manager = managed(requester, cache)
    with running(manager):
        yield manager, DirectClient(requester)


def names(manager: Manager, cls: type[Foo | ConfigMap] = Foo) -> set[str]:
    return {str(ObjectName(obj.metadata.namespace, obj.metadata.name)) for obj in manager.client.list(cls)}


def label(other: DirectClient, name: str, team: str | None) -> None:
    other.patch(namespace(name), {"metadata": {"labels": {"team": team}}})


START = (
    *(namespace(name, name[0]) for name in ("a1", "a2", "b1")),
    *(new_foo("x", name) for name in ("a1", "a2", "b1")),
)


def test_only_namespaces_with_the_labels_are_cached() -> None:
    with caching(*START) as (manager, _):
        assert names(manager) == {"a1/x", "a2/x"}
        assert manager.client.get(Foo, ObjectName("a1", "x")).metadata.name == "x"
        with pytest.raises(LookupError, match="foos in namespace b1 are not cached; namespace_selector: team=a"):
            manager.client.find(Foo, ObjectName("b1", "x"))


def test_new_namespace_is_cached_and_a_deleted_one_is_not() -> None:
    with caching(*START) as (manager, other):
        assert names(manager) == {"a1/x", "a2/x"}
        other.create(namespace("a3", "a"))
        other.create(new_foo("x", "a3"))
        eventually(lambda: "a3/x" in names(manager))
        other.delete(new_foo("x", "a1"))
        other.delete(namespace("a1"))
        eventually(lambda: names(manager) == {"a2/x", "a3/x"})
        eventually(lambda: manager.cache.informer(Foo).state().watches, lambda watches: watches >= 2)
        assert manager.client.list(Foo, namespace="a1") == []


def test_controller_learns_of_objects_that_come_and_go_with_their_namespace() -> None:
    requester = cluster(*START)
    manager, seen = managed(requester), list[tuple[str, bool]]()
    builder = ControllerBuilder(manager).for_(Foo)
    builder.complete(lambda request: seen.append((str(request), manager.client.find(Foo, request) is not None)))
    other = DirectClient(requester)
    with running(manager):
        eventually(lambda: {("a1/x", True), ("a2/x", True)} <= set(seen))
        label(other, "b1", "a")
        eventually(lambda: ("b1/x", True) in seen)
        label(other, "a1", "b")
        eventually(lambda: ("a1/x", False) in seen)
    assert ("b1/x", False) not in seen


def test_own_writes_in_a_namespace_count_from_its_coming_to_its_leaving() -> None:
    with caching(*START) as (manager, other):
        assert names(manager) == {"a1/x", "a2/x"}
        manager.client.create(new_foo("own", "a1"))
        assert manager.client.find(Foo, ObjectName("a1", "own")) is not None
        manager.client.create(new_foo("early", "b1"))
        label(other, "b1", "a")
        eventually(lambda: manager.cache.informer(Foo).distributor.selects("b1"))
        assert manager.client.find(Foo, ObjectName("b1", "early")) is not None
        manager.client.create(new_foo("late", "b1"))
        label(other, "b1", None)
        eventually(lambda: names(manager) == {"a1/own", "a1/x", "a2/x"})


def test_cache_equals_the_server_after_any_number_of_changes_of_labels() -> None:
    with caching(*START) as (manager, other):
        assert names(manager) == {"a1/x", "a2/x"}
        for number in range(50):
            label(other, "b1", "a" if number % 2 else None)
            label(other, "a1", None if number % 3 else "a")
            other.create(new_foo(f"y{number}", "b1"))
        label(other, "a1", None)
        eventually(lambda: names(manager) == {"a2/x", "b1/x", *(f"b1/y{number}" for number in range(50))})


def test_cache_syncs_without_any_namespace() -> None:
    with caching(namespace("b1", "b"), new_foo("x", "b1")) as (manager, other):
        assert names(manager) == set()
        other.create(namespace("a1", "a"))
        other.create(new_foo("x", "a1"))
        eventually(lambda: names(manager) == {"a1/x"})


def test_objects_of_cluster_scoped_kinds_are_all_cached() -> None:
    with caching(*START, Node(metadata=ObjectMeta(name="n"))) as (manager, _):
        assert len(manager.client.list(Node)) == 1
        assert {each.metadata.name for each in manager.client.list(Namespace)} == {"a1", "a2", "b1"}


def test_reads_of_a_namespace_wait_until_it_is_listed() -> None:
    requester, refused = cluster(*START, namespace("c1")), list[str]()

    def refuse(action: Action) -> tuple[bool, object]:
        if action.namespace != "c1" or len(refused) > 1:
            return False, None
        refused.append(action.namespace)
        raise Forbidden("not yet")

    requester.prepend_reactor("list", "foos", refuse)
    with caching(requester=requester) as (manager, other):
        assert names(manager) == {"a1/x", "a2/x"}
        label(other, "c1", "a")
        eventually(lambda: manager.cache.informer(Foo).distributor.selects("c1"))
        with pytest.raises(NotFound):
            manager.client.get(Foo, ObjectName("c1", "x"))
        assert refused


def test_kind_has_a_selector_or_namespaces_of_its_own() -> None:
    by_object = {ConfigMap: ByObject(namespace_selector="team=b"), Foo: ByObject(namespaces=("b1",))}
    maps = [config_map("m", name) for name in ("a1", "b1")]
    with caching(*START, *maps, cache=CacheOptions(namespace_selector="team=a", by_object=by_object)) as (manager, _):
        assert names(manager, ConfigMap) == {"b1/m"}
        assert names(manager) == {"b1/x"}


def test_informers_end_with_the_manager_and_with_their_removal() -> None:
    with caching(*START) as (manager, other):
        informer = manager.cache.informer(Foo)
        assert names(manager) == {"a1/x", "a2/x"}
        (namespaces,) = (each for each in manager.cache.informers() if each.name == "namespaces")
        assert manager.cache.remove(Foo)
        assert informer.is_stopped
        assert namespaces.distributor.listeners == []
        label(other, "b1", "a")
        assert eventually(lambda: names(manager) == {"a1/x", "a2/x", "b1/x"})


@pytest.mark.parametrize("options", [CacheOptions, ByObject])
def test_namespaces_and_their_selector_exclude_each_other(options: type[CacheOptions | ByObject]) -> None:
    with pytest.raises(ValueError, match="exclude each other: pass one"):
        options(namespaces=("a",), namespace_selector="team=a")
    with pytest.raises(ValueError, match="unable to parse label selector 'a in'"):
        options(namespace_selector="a in")
