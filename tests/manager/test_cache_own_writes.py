"""Own writes read through a cache that hears nothing of them."""

import dataclasses
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from clientgo.cache import drop_managed_fields
from clientgo.dynamic.unstructured import metadata_type, unstructured_type
from clientgo.errors import Conflict, InvalidResponse, NotFound
from clientgo.kubernetes.types.core_v1 import ConfigMap, Namespace, Pod
from clientgo.kubernetes.types.policy_v1 import Eviction
from clientgo.manager import ByObject, CacheOptions, Client
from clientgo.meta import ObjectMeta, ObjectName, Scheme, api_of, object_name, replace
from clientgo.meta.applyconfiguration import ObjectMetaApplyConfiguration
from clientgo.meta.codec import encode_value
from clientgo.meta.objects import ApiObject
from clientgo.rest.request import JSON, METADATA, Request
from clientgo.testing.actions import Action
from clientgo.testing.fake import FakeRequester
from clientgo.testing.watchsource import FakeWatcher
from clientgo.typed import DeleteOptions, Preconditions
from controller.api.v1alpha1 import Foo, FooStatus
from generated.applyconfigurations.samplecontroller_v1alpha1 import FooApplyConfiguration, FooStatusApplyConfiguration
from tests.manager.managed import manager_of, new_foo, running

A, B = ObjectName("ns", "a"), ObjectName("ns", "b")
KEPT = {"keep": "yes"}


def config(name: str = "a", *, namespace: str = "ns", finalizers: tuple[str, ...] = (), **labels: str) -> ConfigMap:
    meta = ObjectMeta(name=name, namespace=namespace, labels=labels or KEPT, finalizers=finalizers)
    return ConfigMap(metadata=meta, data={"n": "1"})


def labels(obj: ApiObject, **values: str | None) -> dict[str, Any]:
    return {"metadata": {"labels": values}}


def fake(*objects: object) -> FakeRequester:
    requester = FakeRequester(*objects, scheme=Scheme(Foo, ConfigMap, Pod, Namespace))
    for verb in ("list", "deletecollection"):
        requester.prepend_reactor(verb, "configmaps", without_data_selector)
    return requester


def without_data_selector(action: Action) -> tuple[bool, Action]:
    """Select ConfigMaps by their data too, which servers do not: here all have the selected value at first."""
    terms = [term for term in action.field_selector.split(",") if term and not term.startswith("data.")]
    return False, dataclasses.replace(action, options={**action.options, "fieldSelector": ",".join(terms)})


class Deaf:
    """Manager whose caches have the objects that existed at the start, and hear of no change."""

    def __init__(self, requester: FakeRequester, *kinds: type[Any], **options: Any) -> None:
        self.requester = requester
        requester.prepend_watch_reactor("*", lambda _: (True, FakeWatcher()))
        self.manager = manager_of(requester, **options)
        self.client: Client = self.manager.client
        self._kinds = kinds

    def __enter__(self) -> "Deaf":
        self._running = running(self.manager)
        self._running.__enter__()
        for kind in self._kinds:
            if kind is ConfigMap:
                self.manager.cache.add_index(kind, "n", lambda obj: [obj.data["n"]])
            self.client.list(kind)
        return self

    def __exit__(self, *error: Any) -> None:
        self._running.__exit__(*error)

    def reads(self, cls: type[Any] = ConfigMap) -> set[str]:
        """Return the names that every kind of read returns."""
        client, names = self.client, [A, B, ObjectName("ns", "c")]
        result = {name.name for name in names if client.find(cls, name) is not None}
        assert result == {obj.metadata.name for obj in client.list(cls)}
        assert result == {obj.metadata.name for obj in client.list(cls, namespace="ns")}
        if cls is ConfigMap:
            assert result == {obj.metadata.name for obj in client.list(cls, fields={"n": "1"})}
        for name in names:
            if name.name not in result:
                with pytest.raises(NotFound):
                    client.get(cls, name)
        return result


@pytest.fixture
def deaf() -> Iterator[Deaf]:
    with Deaf(fake(config("a"), config("b"), new_foo("a")), ConfigMap, Foo) as built:
        yield built


def configured(available: int) -> FooApplyConfiguration:
    status = FooStatusApplyConfiguration(available_replicas=available)
    return FooApplyConfiguration(metadata=ObjectMetaApplyConfiguration(name="a", namespace="ns"), status=status)


WRITES: dict[str, Callable[[Client, Foo], Foo]] = {
    "create": lambda client, _: client.create(new_foo("c")),
    "update": lambda client, foo: client.update(replace(foo, spec=replace(foo.spec, replicas=2))),
    "update_status": lambda client, foo: client.update_status(replace(foo, status=FooStatus(2))),
    "patch": lambda client, foo: client.patch(foo, {"spec": {"replicas": 2}}),
    "patch_status": lambda client, foo: client.patch_status(foo, {"status": {"availableReplicas": 2}}),
    "apply": lambda client, foo: client.apply(new_foo("a", replicas=2), force=True),
    "apply_configuration": lambda client, _: client.apply_configuration(configured(2), status=True, force=True),
    "subresource": lambda client, foo: client.subresource("status").update(foo, replace(foo, status=FooStatus(2))),
    "typed": lambda client, foo: client.typed(Foo, "ns").patch("a", {"spec": {"replicas": 2}}),
    "other options": lambda client, foo: client.writing(field_manager="x").patch(foo, {"spec": {"replicas": 2}}),
}


@pytest.mark.feature("C-39")
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_response_of_a_write_is_read(deaf: Deaf, write: Callable[[Client, Foo], Foo]) -> None:
    before = deaf.client.get(Foo, A)
    written = write(deaf.client, before)
    written = drop_managed_fields(written)
    assert written != before
    assert deaf.client.get(Foo, object_name(written)) == written
    assert written in deaf.client.list(Foo, namespace="ns")


def test_object_with_a_generated_name_is_read(deaf: Deaf) -> None:
    meta = ObjectMeta(generate_name="made-", namespace="ns")
    built = deaf.client.create(ConfigMap(metadata=meta, data={"n": "1"}))
    assert built.metadata.name
    assert deaf.client.get(ConfigMap, object_name(built)) == drop_managed_fields(built)


def test_dry_runs_are_not_read(deaf: Deaf) -> None:
    client, before = deaf.client, deaf.client.list(ConfigMap)
    client.patch(config("a"), {"data": {"n": "2"}}, dry_run=True)
    client.create(config("c"), dry_run=True)
    client.delete(config("a"), DeleteOptions(dry_run=("All",)))
    client.delete_all_of(ConfigMap, DeleteOptions(dry_run=("All",)), namespace="ns")
    assert client.list(ConfigMap) == before
    assert deaf.reads() == {"a", "b"}


def test_failed_writes_are_not_read(deaf: Deaf) -> None:
    stale = replace(deaf.client.get(ConfigMap, A), data={"n": "9"})
    deaf.client.patch(stale, {"data": {"m": "2"}})
    with pytest.raises(Conflict):
        deaf.client.update(stale)
    with pytest.raises(Conflict):
        deaf.client.delete(stale, DeleteOptions(preconditions=Preconditions(uid="another")))
    assert deaf.reads() == {"a", "b"}


def uid_of(client: Client, name: ObjectName) -> str:
    return client.get(ConfigMap, name).metadata.uid


DELETIONS: dict[str, Callable[[Client], object]] = {
    "delete": lambda client: client.delete(config("a")),
    "with preconditions": lambda client: client.delete(
        config("a"), DeleteOptions(preconditions=Preconditions(uid=uid_of(client, A)), propagation_policy="Background")
    ),
    "typed": lambda client: client.typed(ConfigMap, "ns").delete("a"),
    "of an unstructured object": lambda client: client.delete(
        unstructured_type(api_of(ConfigMap).gvr)(metadata=ObjectMeta(name="a", namespace="ns"))
    ),
    "delete_all_of": lambda client: client.delete_all_of(ConfigMap, namespace="ns", field_selector="metadata.name=a"),
    "typed collection": lambda client: client.typed(ConfigMap, "ns").delete_collection(
        field_selector="data.n!=0,metadata.name=a"
    ),
}  # fmt: skip


@pytest.mark.parametrize("response", ["server", "without details"])
@pytest.mark.parametrize("delete", DELETIONS.values(), ids=DELETIONS.keys())
def test_deleted_object_is_not_read(deaf: Deaf, delete: Callable[[Client], object], response: str) -> None:
    if response == "without details":
        forget_details(deaf.requester)
    delete(deaf.client)
    assert deaf.reads() == {"b"}
    assert [obj.metadata.name for obj in deaf.manager.api_reader.list(ConfigMap)] == ["b"]


def forget_details(requester: FakeRequester) -> None:
    """Let deletions be answered by a Status that does not say what was deleted."""

    def react(action: Action) -> tuple[bool, object]:
        body = encode_value(dict(action.delete_options))
        location: dict[str, Any] = {"resource": action.resource, "namespace": action.namespace, "name": action.name}
        _, action = without_data_selector(action)
        requester.tracker.do(Request(verb=action.verb, query=action.options, body=body, **location))
        return True, None

    for verb in ("delete", "deletecollection"):
        requester.prepend_reactor(verb, "configmaps", react)


def test_object_that_is_already_deleted_is_not_read_after_its_deletion(deaf: Deaf) -> None:
    deaf.requester.tracker.delete(api_of(ConfigMap).gvr, "ns", "a")
    assert deaf.reads() == {"a", "b"}
    deaf.client.delete(config("a"), missing_ok=True)
    assert deaf.reads() == {"b"}
    with pytest.raises(NotFound):
        deaf.client.delete(config("a"))


def test_recreated_object_is_read_and_deleted_again(deaf: Deaf) -> None:
    client = deaf.client
    for _ in range(3):
        client.delete(config("a"))
        assert deaf.reads() == {"b"}
        built = client.create(config("a"))
        assert client.get(ConfigMap, A) == drop_managed_fields(built)
        assert deaf.reads() == {"a", "b"}
    client.delete(built)
    assert deaf.reads() == {"b"}


def test_object_recreated_by_another_client_is_read_as_soon_as_the_store_has_it(deaf: Deaf) -> None:
    deaf.client.delete(config("a"))
    tracker, gvr = deaf.requester.tracker, api_of(ConfigMap).gvr
    tracker.add(config("a"))
    theirs = deaf.manager.api_reader.get(ConfigMap, A)
    deaf.manager.cache.informer(ConfigMap).indexer.put(theirs)
    assert deaf.client.get(ConfigMap, A) == theirs
    tracker.delete(gvr, "ns", "a")


def test_object_with_finalizers_is_read_with_its_deletion_until_the_last_is_removed() -> None:
    with Deaf(fake(config("a", finalizers=("x/a", "x/b"))), ConfigMap) as deaf:
        client = deaf.client
        client.delete(config("a"))
        assert client.get(ConfigMap, A).metadata.deletion_timestamp is not None
        updated = client.patch(config("a"), {"metadata": {"finalizers": ["x/b"]}})
        assert client.get(ConfigMap, A) == updated
        client.update(replace(updated, metadata=replace(updated.metadata, finalizers=())))
        assert deaf.reads() == set()


def test_object_that_a_server_returns_as_deleted_is_not_read(deaf: Deaf) -> None:
    last = deaf.manager.api_reader.get(ConfigMap, A)
    deaf.requester.prepend_reactor("delete", "configmaps", lambda _: (True, last))
    deaf.client.delete(last)
    assert deaf.reads() == {"b"}


def test_terminating_namespace_is_read() -> None:
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}, "spec": {"finalizers": ["kubernetes"]}}
    with Deaf(fake(home), Namespace) as deaf:
        stored = deaf.client.get(Namespace, ObjectName("", "a"))
        stamp = "2026-01-01T00:00:00Z"
        meta = {"name": "a", "uid": stored.metadata.uid, "resourceVersion": "90", "deletionTimestamp": stamp}
        deaf.requester.prepend_reactor("delete", "namespaces", lambda _: (True, {**home, "metadata": meta}))
        deaf.client.delete(stored)
        assert deaf.client.get(Namespace, ObjectName("", "a")).metadata.deletion_timestamp is not None


@pytest.mark.parametrize("dry_run", [False, True])
def test_evicted_pod_is_not_read_until_it_is_seen_terminating(dry_run: bool) -> None:
    pod = Pod(metadata=ObjectMeta(name="a", namespace="ns"))
    with Deaf(fake(pod), Pod) as deaf:
        success = {"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201}
        deaf.requester.prepend_reactor("create", "pods/eviction", lambda _: (True, success))
        seen = deaf.client.get(Pod, A)
        deaf.client.subresource("eviction").create(seen, Eviction(metadata=pod.metadata), dry_run=dry_run)
        assert deaf.reads(Pod) == ({"a"} if dry_run else set())
        at = datetime(2026, 1, 1, tzinfo=UTC)
        leaving = replace(seen, metadata=replace(seen.metadata, deletion_timestamp=at, resource_version="90"))
        deaf.manager.cache.informer(Pod).indexer.put(leaving)
        assert deaf.client.get(Pod, A) == leaving


SELECTIONS = {
    "labels": (ByObject(label_selector="keep=yes"), labels(config(), keep="no"), labels(config(), keep="yes")),
    "fields": (ByObject(field_selector="data.n=1"), {"data": {"n": "2"}}, {"data": {"n": "1"}}),
}


@pytest.mark.parametrize(("by_object", "out", "back"), SELECTIONS.values(), ids=SELECTIONS.keys())
def test_writes_outside_the_selection_are_not_read(
    by_object: ByObject, out: dict[str, Any], back: dict[str, Any]
) -> None:
    requester = fake(config("a"), config("b"))
    with Deaf(requester, ConfigMap, cache=CacheOptions(by_object={ConfigMap: by_object})) as deaf:
        client = deaf.client
        client.patch(client.get(ConfigMap, A), out)
        assert deaf.reads() == {"b"}
        client.patch(config("a"), back)
        assert deaf.reads() == {"a", "b"}
        client.create(config("c", keep="no") if by_object.label_selector else replace(config("c"), data={"n": "2"}))
        assert deaf.reads() == {"a", "b"}


def test_writes_to_namespaces_that_are_not_cached_are_not_read() -> None:
    with Deaf(fake(config("a"), config("b")), ConfigMap, cache=CacheOptions(namespaces=("ns",))) as deaf:
        deaf.client.create(config("c", namespace="other"))
        assert deaf.reads() == {"a", "b"}
        assert len(deaf.manager.cache.kind_cache(ConfigMap).overlay) == 0
        with pytest.raises(LookupError, match="configmaps in namespace other are not cached"):
            deaf.client.get(ConfigMap, ObjectName("other", "c"))


PARTIAL, UNSTRUCTURED = (make(api_of(ConfigMap).gvr, kind="ConfigMap") for make in (metadata_type, unstructured_type))


def test_every_representation_of_a_kind_reads_the_writes_of_the_others() -> None:
    kinds: tuple[type[Any], ...] = (ConfigMap, PARTIAL, UNSTRUCTURED)
    with Deaf(fake(config("a"), config("b")), *kinds, cache_unstructured=True) as deaf:
        client = deaf.client
        writers: tuple[ApiObject, ...] = tuple(client.get(cls, A) for cls in kinds)
        for number, obj in enumerate(writers):
            client.patch(obj, labels(obj, number=str(number)))
            assert {client.get(cls, A).metadata.labels["number"] for cls in kinds} == {str(number)}
            assert client.get(ConfigMap, A).data == {"n": "1"}
        client.delete(writers[1])
        assert [deaf.reads(cls) for cls in kinds] == [{"b"}] * 3


class Accepting(FakeRequester):
    """Requester that records the media types that patches accept."""

    def __init__(self, *objects: object) -> None:
        super().__init__(*objects, scheme=Scheme(ConfigMap))
        self.prepend_reactor("list", "configmaps", without_data_selector)
        self.accepted: list[str] = []

    def do(self, request: Request) -> bytes:
        if request.verb == "patch":
            self.accepted.append(request.accept)
        return super().do(request)


@pytest.mark.parametrize(
    ("kinds", "by_object", "accepted"),
    [
        pytest.param([PARTIAL], ByObject(), METADATA, id="metadata alone"),
        pytest.param([PARTIAL, ConfigMap], ByObject(), JSON, id="also whole objects"),
        pytest.param([PARTIAL], ByObject(field_selector="data.n=1"), JSON, id="selected by another field"),
    ],
)
def test_responses_contain_what_the_caches_need(kinds: list[type[Any]], by_object: ByObject, accepted: str) -> None:
    requester = Accepting(config("a"))
    with Deaf(requester, *kinds, cache=CacheOptions(by_object={ConfigMap: by_object})) as deaf:
        deaf.client.patch(deaf.client.get(PARTIAL, A), labels(config(), x="y"))
        assert deaf.client.get(PARTIAL, A).metadata.labels["x"] == "y"
        deaf.client.patch(deaf.client.get(PARTIAL, A), {"data": {"n": "2"}})
        assert (deaf.client.find(PARTIAL, A) is None) is bool(by_object.field_selector)
    assert requester.accepted == [accepted] * 2


def test_first_list_of_a_kind_that_was_written_is_the_newest() -> None:
    with Deaf(fake(config("a")), Foo) as deaf:
        deaf.client.patch(config("a"), labels(config(), x="y"))
        deaf.requester.clear_actions()
        assert deaf.client.get(ConfigMap, A).metadata.labels["x"] == "y"
        lists = [action for action in deaf.requester.actions if action.verb == "list"]
        assert [action.options.get("resourceVersion", "") for action in lists] == [""]


def test_response_of_an_unknown_shape_is_passed_on(deaf: Deaf) -> None:
    deaf.requester.prepend_reactor("patch", "configmaps", lambda _: (True, b"<html>"))
    with pytest.raises(InvalidResponse):
        deaf.client.patch(config("a"), {})
    deaf.requester.prepend_reactor("patch", "configmaps", lambda _: (True, config("another")))
    with pytest.raises(InvalidResponse):
        deaf.client.patch(config("a"), {})
    assert deaf.reads() == {"a", "b"}
