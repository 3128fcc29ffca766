"""Shared informers that start when they are needed."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.dynamic.unstructured import metadata_type, unstructured_type
from clientgo.errors import Forbidden
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import ByObject, CacheNotSynced, CacheOptions, ControllerBuilder, KindSource
from clientgo.manager.cache import Cache
from clientgo.manager.kinds import Kinds
from clientgo.manager.options import RESYNC_SECONDS
from clientgo.manager.requesters import limited
from clientgo.meta import ObjectMeta, ObjectName, api_of, api_type, object_name, replace
from clientgo.meta.listwatch import ListOptions
from clientgo.meta.objects import ManagedFieldsEntry
from clientgo.testing.actions import Action
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import eventually
from controller.api.v1alpha1 import Foo, FooSpec
from tests.manager.managed import fake, manager_of, new_foo, running

A = ObjectName("ns", "a")

pytestmark = pytest.mark.feature("B-CR-03")


def test_cache_that_is_not_running_cannot_be_read() -> None:
    manager = manager_of(fake())
    with pytest.raises(CacheNotSynced, match="cannot read foos from the cache before the manager runs"):
        manager.client.find(Foo, A)
    with running(manager):
        assert manager.client.find(Foo, A) is None
    with pytest.raises(CacheNotSynced, match="cannot read configmaps from the cache: it was stopped"):
        manager.client.find(ConfigMap, A)


def refuse(_: Action) -> tuple[bool, object]:
    raise Forbidden("foos is forbidden")


def test_sync_timeout_reports_the_reason() -> None:
    requester = fake()
    requester.prepend_reactor("list", "foos", refuse)
    clock = FakeClock()
    cache = Cache(requester, Kinds(), CacheOptions(sync_timeout=5.0), clock=clock)
    stop = threading.Event()
    cache.start(stop)
    informer = cache.informer(Foo)
    eventually(lambda: informer.state().last_error)
    ticking = FakeClock(auto=True)
    cache._clock = ticking
    with pytest.raises(CacheNotSynced, match=r"the cache did not sync within 5 s: foos: .*foos is forbidden"):
        cache.synced(Foo)
    with limited(2.0, clock=ticking), pytest.raises(CacheNotSynced, match="did not sync within 2 s"):
        cache.synced(Foo)
    stop.set()
    cache.shutdown(10.0)


def test_fail_on_missing_informer_prevents_reads_from_starting_informers() -> None:
    manager = manager_of(fake(), cache=CacheOptions(fail_on_missing_informer=True))
    manager.cache.informer(ConfigMap)
    with running(manager):
        assert manager.client.list(ConfigMap) == []
        with pytest.raises(LookupError, match=r"no informer for foos\.samplecontroller\.k8s\.io"):
            manager.client.list(Foo)


def test_managed_fields_are_dropped_and_resync_is_ten_hours() -> None:
    foo = new_foo()
    foo = replace(foo, metadata=replace(foo.metadata, managed_fields=(ManagedFieldsEntry(manager="kubectl"),)))
    manager = manager_of(fake(foo))
    with running(manager):
        assert manager.client.get(Foo, A).metadata.managed_fields == ()
        assert manager.cache.informer(Foo).resync == RESYNC_SECONDS == 36_000.0


def test_kinds_can_have_their_own_cache_options() -> None:
    def shortened(obj: ConfigMap) -> ConfigMap:
        return replace(obj, data={})

    configs = [
        ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, labels={"keep": keep}), data={"long": "text"})
        for name, namespace, keep in (("a", "one", "yes"), ("b", "two", "yes"), ("c", "one", "no"))
    ]
    by_object = ByObject(namespaces=("one",), label_selector="keep=yes", transform=shortened, resync=5.0)
    options = CacheOptions(namespaces=("ns",), by_object={ConfigMap: by_object})
    manager = manager_of(fake(*configs, new_foo(), new_foo("b", namespace="other")), cache=options)
    with running(manager):
        (stored,) = manager.client.list(ConfigMap)
        assert (stored.metadata.name, dict(stored.data)) == ("a", {})
        assert manager.cache.informer(ConfigMap).resync == 5.0
        assert [foo.metadata.name for foo in manager.client.list(Foo)] == ["a"]
        with pytest.raises(LookupError, match="foos in namespace other are not cached; cached namespaces: ns"):
            manager.client.find(Foo, ObjectName("other", "b"))
        with pytest.raises(LookupError, match="configmaps in namespace ns are not cached; cached namespaces: one"):
            manager.client.list(ConfigMap, namespace="ns")


PARTIAL, UNSTRUCTURED = (make(api_of(ConfigMap).gvr, kind="ConfigMap") for make in (metadata_type, unstructured_type))


@pytest.mark.parametrize("cls", [ConfigMap, PARTIAL, UNSTRUCTURED], ids=["class", "metadata", "unstructured"])
@pytest.mark.parametrize("arguments", [ConfigMap, PARTIAL, UNSTRUCTURED], ids=["class", "metadata", "unstructured"])
def test_options_of_a_kind_apply_to_every_representation(arguments: type[Any], cls: type[Any]) -> None:
    def transform(obj: Any) -> Any:
        assert isinstance(obj, arguments)
        return replace(obj, metadata=replace(obj.metadata, annotations={"transformed": "yes"}))

    by_object = ByObject(namespaces=("one",), label_selector="keep=yes", resync=5.0, transform=transform)
    configs = [
        ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, labels={"keep": "yes"}))
        for name, namespace in (("a", "one"), ("b", "two"))
    ]
    requester = fake(*configs)
    manager = manager_of(requester, cache=CacheOptions(by_object={arguments: by_object}), cache_unstructured=True)
    with running(manager):
        (stored,) = manager.client.list(cls)
        with pytest.raises(LookupError, match="configmaps in namespace two are not cached; cached namespaces: one"):
            manager.client.get(cls, ObjectName("two", "b"))
        assert manager.cache.informer(cls).resync == 5.0
    assert dict(stored.metadata.annotations) == ({"transformed": "yes"} if cls is arguments else {})
    requests = [action for action in requester.actions if action.resource.resource == "configmaps"]
    assert {(action.verb, action.namespace, action.label_selector) for action in requests} == {
        ("list", "one", "keep=yes"), ("watch", "one", "keep=yes"),
    }  # fmt: skip


def test_metadata_watch_obeys_the_options_of_its_kind() -> None:
    requester = fake()
    by_object = ByObject(namespaces=("one",), field_selector="metadata.name=a")
    manager = manager_of(requester, cache=CacheOptions(by_object={ConfigMap: by_object}))
    builder = ControllerBuilder(manager).for_(Foo).watches_metadata(ConfigMap, lambda obj: [object_name(obj)])
    builder.complete(lambda _: None)
    with running(manager):
        requests = [action for action in requester.actions if action.resource.resource == "configmaps"]
    assert {(action.namespace, action.field_selector) for action in requests} == {("one", "metadata.name=a")}


def test_options_of_a_class_precede_those_of_another_class_of_its_kind() -> None:
    options = CacheOptions(by_object={ConfigMap: ByObject(resync=1.0), PARTIAL: ByObject(resync=2.0)})
    cache = Cache(fake(), Kinds(), options)
    assert [cache.informer(cls).resync for cls in (ConfigMap, PARTIAL, UNSTRUCTURED)] == [1.0, 2.0, 1.0]


@pytest.mark.parametrize("options", [CacheOptions, ByObject])
def test_invalid_selectors_are_rejected_at_once(options: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match="unable to parse label selector 'a in'"):
        options(label_selector="a in")
    with pytest.raises(ValueError, match="invalid selector: 'a'; can't understand 'a'"):
        options(field_selector="a")


def test_general_cache_options_apply_unless_overridden() -> None:
    configs = [
        ConfigMap(metadata=ObjectMeta(name=name, namespace="ns", labels={"team": name})) for name in ("a", "b", "c")
    ]
    foo = new_foo()
    foo = replace(foo, metadata=replace(foo.metadata, labels={"team": "b"}))
    options = CacheOptions(
        label_selector="team in (a, b)",
        field_selector="metadata.name!=b",
        by_object={Foo: ByObject(label_selector="team=b")},
    )
    manager = manager_of(fake(*configs, foo, new_foo("c")), cache=options)
    with running(manager):
        assert [config.metadata.name for config in manager.client.list(ConfigMap)] == ["a"]
        assert [result.metadata.name for result in manager.client.list(Foo)] == ["a"]


@pytest.mark.parametrize("expected", [True, False])
def test_bookmarks_are_optional_except_for_streaming_lists(expected: bool) -> None:
    tweak = CacheOptions().tweak(ByObject(label_selector="a=b", bookmarks=expected))
    assert tweak is not None
    watch = ListOptions(watch=True, allow_watch_bookmarks=True)
    assert tweak(watch).allow_watch_bookmarks is expected
    assert tweak(replace(watch, send_initial_events=True)).allow_watch_bookmarks
    assert not tweak(ListOptions()).allow_watch_bookmarks


def test_resyncs_of_handlers_are_jittered() -> None:
    cache = Cache(fake(), Kinds(), CacheOptions(resync=100.0), rand=lambda: 0.5)
    KindSource(cache, Foo).start(lambda *_: None, (), threading.Event())
    (listener,) = cache.informer(Foo).distributor.listeners
    assert listener.resync == cache.kind_cache(Foo).resync == pytest.approx(105.0)
    assert Cache(fake(), Kinds(), CacheOptions(resync=0.0)).kind_cache(Foo).resync == 0.0


@api_type(group="samplecontroller.k8s.io", version="v1alpha1", kind="Foo")
class OtherFoo:
    """Another class of the same kind."""

    metadata: ObjectMeta
    spec: FooSpec


def test_kind_has_one_class() -> None:
    manager = manager_of(fake())
    manager.cache.informer(Foo)
    with pytest.raises(ValueError, match=r"cannot register .*OtherFoo"):
        manager.cache.informer(OtherFoo)
    assert [str(kind) for kind in manager.scheme.kinds()] == ["samplecontroller.k8s.io/v1alpha1, Kind=Foo"]
    manager.close()


def test_duplicate_index_is_rejected() -> None:
    manager = manager_of(fake())
    manager.cache.add_index(Foo, "spec.replicas", lambda foo: [str(foo.spec.replicas)])
    with pytest.raises(ValueError, match="indexer conflict"):
        manager.cache.add_index(Foo, "spec.replicas", lambda foo: [str(foo.spec.replicas)])
    manager.close()


@pytest.mark.parametrize("watched", [False, True])
def test_deleted_write_is_not_read(watched: bool) -> None:
    manager, result = manager_of(fake(new_foo())), list[Foo | None]()
    if watched:
        ControllerBuilder(manager).for_(Foo).complete(lambda request: result.append(manager.client.find(Foo, request)))
    with running(manager):
        client, indexer = manager.client, manager.cache.informer(Foo).indexer
        eventually(lambda: A in indexer)
        created = client.create(new_foo("b"))
        client.delete(client.patch(created, {"spec": {"replicas": 2}}))
        client.delete(new_foo())
        # Not asked for in between: what was written is forgotten because it is gone, and not because it was seen.
        eventually(lambda: len(indexer) == 0)
        eventually(lambda: len(manager.cache.kind_cache(Foo).overlay) == 0)
        assert client.find(Foo, ObjectName("ns", "b")) is None
        # Not before the controller has had its turn: under load that may be after all of the above.
        eventually(lambda: not watched or (result and result[-1] is None))


@pytest.mark.parametrize("watched", [False, True])
def test_writes_are_dropped_once_the_cache_has_caught_up_even_without_reads(watched: bool) -> None:
    manager = manager_of(fake(new_foo()))
    if watched:
        ControllerBuilder(manager).for_(Foo).complete(lambda _: None)
    with running(manager):
        indexer = manager.cache.informer(Foo).indexer
        eventually(lambda: A in indexer)
        for number in range(5):
            created = manager.client.create(new_foo(f"b-{number}"))
            manager.client.patch(created, {"spec": {"replicas": 2}})
        eventually(lambda: len(manager.cache.kind_cache(Foo).overlay) == 0)
        assert len(manager.cache.informer(Foo).distributor.listeners) == int(watched)


def test_arguments_of_options_may_be_changed_later() -> None:
    namespaces, by_object = ["ns"], {ConfigMap: ByObject()}
    options = CacheOptions(namespaces=namespaces, by_object=by_object)  # type: ignore[arg-type]
    namespaces.append("other")
    by_object.clear()
    assert options == CacheOptions(namespaces=("ns",), by_object={ConfigMap: ByObject()})
