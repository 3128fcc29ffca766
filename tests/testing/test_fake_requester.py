"""The fake requester through the real clients: storage, watches and rejections."""

import json
import math
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import pytest

from clientgo.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    ConnectionFailed,
    Invalid,
    NotFound,
    UnsupportedMediaType,
)
from clientgo.kubernetes.clients.core_v1 import NamespaceClient, PodClient
from clientgo.kubernetes.types import policy_v1
from clientgo.kubernetes.types.apps_v1 import ControllerRevision
from clientgo.kubernetes.types.core_v1 import Pod
from clientgo.meta import GroupVersionResource, ObjectMeta, ObjectName, Scheme, api_of, api_type, replace
from clientgo.meta.codec import encode_value
from clientgo.meta.listwatch import Bookmark, ListOptions, WatchEvent
from clientgo.rest.request import STRATEGIC_PATCH, Request
from clientgo.stop.lifecycle import Group
from clientgo.testing.actions import Action
from clientgo.testing.client import FakeClient
from clientgo.testing.clock import FakeClock
from clientgo.testing.fake import FakeRequester
from clientgo.testing.source import FakeSource, FakeWatcher
from clientgo.testing.transport import FakeStream
from clientgo.typed.client import TypedClient
from clientgo.typed.options import DeleteOptions, Preconditions
from clientgo.typed.watch import ObjectWatch
from tests.testing.widgets import Widget, Widgets, WidgetSpec, WidgetStatus, widget


@api_type(group="", version="v1", scope="Cluster", status=False)
@dataclass(frozen=True, slots=True)
class Node:
    metadata: ObjectMeta


class Nodes(TypedClient[Node]):
    kind = Node


@pytest.fixture
def fake() -> FakeRequester:
    return FakeRequester(scheme=Scheme(Widget, Node))


def seen(watch: ObjectWatch[Widget], count: int) -> list[tuple[str, str]]:
    return [(event.type, event.object.metadata.name) for event in islice(watch, count)]


def names(items: Iterable[Widget]) -> list[str]:
    return [item.metadata.name for item in items]


@pytest.mark.behaviour("FX-01")
def test_a_watch_in_a_namespace_gets_the_object_created_there(fake: FakeRequester) -> None:
    watch = Widgets(fake, "ns").watch()
    created = Widgets(fake, "ns").create(widget("a"))
    assert next(iter(watch)).object == created


def follow_logs(fake: FakeRequester) -> None:
    fake.prepend_reactor("get", "pods/log", lambda _: (True, FakeStream(b"line\n")))
    list(PodClient(fake, "ns").logs("a", follow=True))


def read_manual_watch(fake: FakeRequester) -> None:
    fake.prepend_watch_reactor("widgets", lambda _: (True, FakeWatcher()))
    list(Widgets(fake, "ns").watch())


STREAMS: dict[str, Callable[[FakeRequester], object]] = {
    "watch": lambda fake: list(Widgets(fake, "ns").watch()),
    "watch of a reactor": read_manual_watch,
    "logs": follow_logs,
    "source": lambda fake: list(FakeSource(Widget).watch_from(ListOptions())),
}


@pytest.mark.parametrize("read", STREAMS.values(), ids=STREAMS)
def test_a_stop_ends_a_stream_of_a_fake_as_it_ends_one_of_a_server(
    fake: FakeRequester, read: Callable[[FakeRequester], object]
) -> None:
    began, ended = threading.Event(), list[ConnectionFailed]()

    def reader() -> None:
        began.set()
        try:
            read(fake)
        except ConnectionFailed as error:
            ended.append(error)

    with Group().ending_within(10) as group:
        group.start(reader, name="reader")
        began.wait(10)
    assert [error.stopping for error in ended] == [True]


@pytest.mark.feature("B-TST-03")
@pytest.mark.behaviour("FX-02")
def test_watches_of_a_namespace_and_of_all_get_every_change_with_the_object(fake: FakeRequester) -> None:
    watches = [Widgets(fake, "ns").watch(), Widgets(fake).watch()]
    client = Widgets(fake, "ns")
    created = client.create(widget("a", replicas=1))
    client.update(replace(created, spec=WidgetSpec(2)))
    client.delete("a")
    for watch in watches:
        events = list(islice(watch, 3))
        assert [event.type for event in events] == ["ADDED", "MODIFIED", "DELETED"]
        assert [event.object.spec.replicas for event in events] == [1, 2, 2]


@pytest.mark.behaviour("FX-03")
def test_several_watches_get_what_matches_them_in_order(fake: FakeRequester) -> None:
    watches = {ns: Widgets(fake, ns).watch() for ns in ("", "ns")}
    again = {ns: Widgets(fake, ns).watch() for ns in ("", "ns")}
    clients = {ns: Widgets(fake.tracker, ns) for ns in ("ns", "other")}
    for name, namespace in (("foo", "ns"), ("bar", "ns"), ("baz", "other")):
        clients[namespace].create(widget(name, namespace))
    clients["ns"].patch("bar", {"spec": {"replicas": 1}})
    clients["other"].patch("baz", {"spec": {"replicas": 1}})
    for name, namespace in (("foo", "ns"), ("bar", "ns"), ("baz", "other")):
        clients[namespace].delete(name)
    everything = [("ADDED", "foo"), ("ADDED", "bar"), ("ADDED", "baz"), ("MODIFIED", "bar"), ("MODIFIED", "baz"),
                  ("DELETED", "foo"), ("DELETED", "bar"), ("DELETED", "baz")]  # fmt: skip
    for group in (watches, again):
        assert seen(group[""], 8) == everything
        assert seen(group["ns"], 5) == [event for event in everything if event[1] != "baz"]


@pytest.mark.behaviour("FX-04")
def test_a_create_after_the_watch_was_closed_is_ignored_by_it(fake: FakeRequester) -> None:
    watch = Widgets(fake, "ns").watch()
    watch.close()
    Widgets(fake, "ns").create(widget("a"))
    assert list(watch) == []


@pytest.mark.behaviour("FX-05")
def test_a_patch_of_a_missing_object_is_not_found(fake: FakeRequester) -> None:
    with pytest.raises(NotFound, match=r'^nodes "node-1" not found$') as caught:
        Nodes(fake).patch("node-1", {"metadata": {"labels": {"a": "b"}}})
    assert (caught.value.details.name, caught.value.details.kind) == ("node-1", "nodes")


@pytest.mark.behaviour("FX-09")
def test_objects_are_found_in_exactly_their_namespace() -> None:
    fake = FakeRequester(Node(ObjectMeta(name="n")), widget("a"))
    assert Nodes(fake).get("n").metadata.name == "n"
    # The clients reject requests of the other scope; a raw request finds nothing.
    for cls, namespace, name in ((Node, "ns", "n"), (Widget, "", "a")):
        with pytest.raises(NotFound):
            fake.do(Request(verb="get", resource=api_of(cls).gvr, namespace=namespace, name=name))


@pytest.mark.behaviour("FX-12")
def test_kind_without_a_class_accepts_everything(fake: FakeRequester) -> None:
    meta, gvr = {"name": "g", "namespace": "ns"}, GroupVersionResource("shop.example.com", "v1", "gadgets")
    gadget = {"apiVersion": "shop.example.com/v1", "kind": "Gadget", "metadata": meta, "x": {"y": [1]}}
    fake.tracker.add({"apiVersion": "v1", "kind": "GadgetList", "items": [gadget]})
    stored = fake.tracker.get(gvr, "ns", "g")
    assert stored["x"] == {"y": [1]}
    changed = {**stored, "x": "text", "status": {"phase": "Ready"}}
    location: dict[str, Any] = {"resource": gvr, "namespace": "ns", "name": "g", "body": encode_value(changed)}
    fake.do(Request(verb="update", **location))
    fake.do(Request(verb="update", subresource="status", **{**location, "body": encode_value(
        {**changed, "metadata": fake.tracker.get(gvr, "ns", "g")["metadata"]})}))  # fmt: skip
    assert (fake.actions[0].object["x"], fake.tracker.get(gvr, "ns", "g")["x"]) == ("text", "text")
    assert fake.tracker.get(gvr, "ns", "g")["status"] == {"phase": "Ready"}


def test_kind_is_cluster_scoped_if_its_first_object_is() -> None:
    fake, gvr = FakeRequester(), GroupVersionResource("shop.example.com", "v1", "regions")
    assert json.loads(fake.do(Request(verb="list", resource=gvr)))["items"] == []
    body = b'{"apiVersion": "shop.example.com/v1", "kind": "Region", "metadata": {"name": "r"}}'
    fake.do(Request(verb="create", resource=gvr, body=body))
    assert fake.tracker.get(gvr, "", "r")["kind"] == "Region"


def test_namespace_is_created_with_its_first_object(fake: FakeRequester) -> None:
    Widgets(fake, "ns").create(widget("a"), dry_run=True)
    assert NamespaceClient(fake).list().items == []
    Widgets(fake, "ns").create(widget("a"))
    assert [namespace.metadata.name for namespace in NamespaceClient(fake).list().items] == ["ns"]


@pytest.mark.feature("D-09")
@pytest.mark.behaviour("FX-13")
def test_streamed_lists_are_declared_unsupported_so_that_informers_list(fake: FakeRequester) -> None:
    assert not fake.supports_watch_list
    Widgets(fake, "ns").create(widget("a"))
    options = ListOptions(watch=True, send_initial_events=True, allow_watch_bookmarks=True,
                          resource_version_match="NotOlderThan")  # fmt: skip
    added, bookmark = islice(Widgets(fake).watch_from(options), 2)
    assert isinstance(added, WatchEvent)
    assert isinstance(bookmark, Bookmark)
    assert bookmark.initial_events_end


@pytest.mark.feature("B-TST-03")
def test_creating_an_existing_name_is_rejected(fake: FakeRequester) -> None:
    Widgets(fake, "ns").create(widget("a"))
    with pytest.raises(AlreadyExists, match=r'^widgets.shop.example.com "a" already exists$'):
        Widgets(fake, "ns").create(widget("a"))


def test_updating_or_deleting_a_missing_object_is_rejected(fake: FakeRequester) -> None:
    with pytest.raises(NotFound):
        Widgets(fake, "ns").update(widget("a"))
    with pytest.raises(NotFound):
        Widgets(fake, "ns").delete("a")


@pytest.mark.feature("B-TST-03")
def test_an_object_of_another_namespace_is_a_bad_request(fake: FakeRequester) -> None:
    words = "the namespace of the provided object does not match the namespace sent on the request"
    with pytest.raises(BadRequest, match=words):
        Widgets(fake, "other").create(widget("a"))


def test_an_object_without_namespace_takes_the_request_s(fake: FakeRequester) -> None:
    assert Widgets(fake, "ns").create(widget("a", "")).metadata.namespace == "ns"


def test_status_is_written_only_through_its_subresource(fake: FakeRequester) -> None:
    fake.tracker.add(Widget(ObjectMeta(name="a", namespace="ns"), WidgetSpec(1), WidgetStatus(9)))
    client = Widgets(fake, "ns")
    changed = replace(client.get("a"), spec=WidgetSpec(2), status=WidgetStatus(3))
    by_status = client.update_status(changed)
    assert (by_status.spec.replicas, by_status.status.ready) == (1, 3)
    by_update = client.update(replace(by_status, spec=WidgetSpec(5), status=WidgetStatus(8)))
    assert (by_update.spec.replicas, by_update.status.ready) == (5, 3)


@pytest.mark.feature("B-TST-03", "B-CR-14")
def test_added_object_keeps_what_it_was_given_except_its_version(fake: FakeRequester) -> None:
    meta = ObjectMeta(
        name="a", namespace="ns", uid="u", resource_version="777", generation=7, finalizers=("example.com/a",),
        deletion_timestamp=datetime(2026, 1, 2, tzinfo=UTC),
    )  # fmt: skip
    fake.tracker.add(Widget(meta, WidgetSpec(1), WidgetStatus(9)))
    stored = Widgets(fake, "ns").get("a")
    expected = replace(meta, resource_version=stored.metadata.resource_version)
    expected = replace(expected, creation_timestamp=stored.metadata.creation_timestamp)
    assert stored == Widget(expected, WidgetSpec(1), WidgetStatus(9))
    assert fake.actions[1:] == []


@pytest.mark.parametrize("wrong", [widget("a", ""), Node(ObjectMeta(name="n", namespace="ns")), {"kind": "Widget"}])
def test_object_that_no_server_has_cannot_be_added(fake: FakeRequester, wrong: object) -> None:
    with pytest.raises(ValueError, match=r"(must|cannot) have"):
        fake.tracker.add(wrong)


@pytest.mark.feature("B-TST-03", "C-18")
def test_lists_report_a_version_that_rises_with_every_write(fake: FakeRequester) -> None:
    client = Widgets(fake, "ns")
    versions = [client.list().metadata.resource_version]
    client.create(widget("a"))
    versions.append(client.list().metadata.resource_version)
    client.patch("a", {"spec": {"replicas": 1}})
    versions.append(client.list().metadata.resource_version)
    client.delete("a")
    versions.append(client.list().metadata.resource_version)
    assert sorted(set(map(int, versions))) == list(map(int, versions))


@pytest.mark.feature("B-TST-03", "C-18")
def test_a_watch_from_a_list_s_version_misses_nothing_and_repeats_nothing(fake: FakeRequester) -> None:
    client = Widgets(fake, "ns")
    client.create(widget("before"))
    listed = client.list()
    client.create(widget("between"))
    watch = client.watch(resource_version=listed.metadata.resource_version)
    client.create(widget("after"))
    assert names(listed.items) == ["before"]
    assert seen(watch, 2) == [("ADDED", "between"), ("ADDED", "after")]


def test_a_watch_from_no_version_begins_with_what_exists(fake: FakeRequester) -> None:
    fake.tracker.add(widget("old"))
    watch = Widgets(fake, "ns").watch()
    fake.tracker.add(widget("new"))
    assert seen(watch, 2) == [("ADDED", "old"), ("ADDED", "new")]


def test_unread_watch_loses_nothing(fake: FakeRequester) -> None:
    watch = Widgets(fake, "ns").watch()
    for number in range(1000):
        fake.tracker.add(widget(f"w-{number}"))
    assert [name for _, name in seen(watch, 1000)] == [f"w-{number}" for number in range(1000)]


def test_an_object_that_stops_matching_is_deleted_for_the_watch(fake: FakeRequester) -> None:
    client = Widgets(fake, "ns")
    watch = client.watch(label_selector="tier=web")
    client.create(widget("a", tier="db"))
    for tier in ("web", "db", "web"):
        client.patch("a", {"metadata": {"labels": {"tier": tier}}})
    client.delete("a")
    assert [kind for kind, _ in seen(watch, 4)] == ["ADDED", "DELETED", "ADDED", "DELETED"]


@pytest.mark.feature("B-CR-14")
def test_lists_are_sorted_and_select_by_labels_and_the_fields_of_the_kind(fake: FakeRequester) -> None:
    for obj in (widget("b", replicas=2, tier="web"), widget("a", tier="web"), widget("c"), widget("a", "other")):
        fake.tracker.add(obj)
    assert names(Widgets(fake).list().items) == ["a", "b", "c", "a"]
    assert names(Widgets(fake, "ns").list(label_selector="tier=web").items) == ["a", "b"]
    assert names(Widgets(fake).list(field_selector="metadata.name=a,metadata.namespace!=ns").items) == ["a"]
    with pytest.raises(BadRequest, match=r"field label not supported: spec\.replicas"):
        Widgets(fake).list(field_selector="spec.replicas=2")


@pytest.mark.feature("B-TST-03")
def test_patches_of_each_kind_change_what_they_name(fake: FakeRequester) -> None:
    client = Widgets(fake, "ns")
    client.create(widget("a", replicas=1))
    assert client.patch("a", {"spec": {"replicas": 2}}).spec.replicas == 2
    assert client.patch("a", [{"op": "replace", "path": "/spec/replicas", "value": 3}]).spec.replicas == 3
    with pytest.raises(UnsupportedMediaType):
        client.patch("a", b'{"spec":{"replicas":4}}', content_type=STRATEGIC_PATCH)
    with pytest.raises(Invalid):
        client.patch("a", [{"op": "remove", "path": "/spec/size"}])
    with pytest.raises(BadRequest):
        client.patch("a", b"{")
    assert client.get("a").spec.replicas == 3


def test_apply_creates_what_is_missing_and_merges_into_what_is_there(fake: FakeRequester) -> None:
    client = Widgets(fake, "ns")
    client.apply({"metadata": {"name": "a", "labels": {"x": "1"}}}, field_manager="one")
    applied = client.apply({"metadata": {"name": "a"}, "spec": {"replicas": 2}}, field_manager="two")
    assert (applied.metadata.namespace, dict(applied.metadata.labels), applied.spec.replicas) == ("ns", {"x": "1"}, 2)


def test_the_scale_of_an_object_is_read_and_changed_alone(fake: FakeRequester) -> None:
    fake.tracker.add(widget("a", replicas=2, tier="web"))
    client = Widgets(fake, "ns")
    scale = client.get_scale("a")
    assert scale.spec.replicas == 2
    client.update_scale("a", replace(scale, spec=replace(scale.spec, replicas=5)))
    assert client.get("a").spec == WidgetSpec(5)
    assert fake.actions[1].object.spec.replicas == 5


def test_evicted_pod_is_deleted() -> None:
    pod = Pod(metadata=ObjectMeta(name="p", namespace="ns", uid="u"))
    client = FakeClient(pod)
    stale = policy_v1.DeleteOptions(preconditions=policy_v1.Preconditions(uid="v"))
    with pytest.raises(Conflict):
        client.subresource("eviction").create(pod, policy_v1.Eviction(metadata=pod.metadata, delete_options=stale))
    client.subresource("eviction").create(pod, policy_v1.Eviction(metadata=pod.metadata))
    assert client.find(Pod, ObjectName("ns", "p")) is None
    with pytest.raises(NotFound):
        client.subresource("eviction").create(pod, policy_v1.Eviction(metadata=pod.metadata))


def test_copy_of_recorded_calls_cannot_be_cleared(fake: FakeRequester) -> None:
    for copy in (fake.actions, fake.writes):
        with pytest.raises(TypeError, match=r"a copy of the recorded calls: write clear_actions\(\)"):
            copy.clear()


def test_a_collection_is_deleted_as_selected(fake: FakeRequester) -> None:
    for obj in (widget("a", tier="web"), widget("b"), widget("a", "other", tier="web")):
        fake.tracker.add(obj)
    Widgets(fake, "ns").delete_collection(label_selector="tier=web")
    assert [(w.metadata.namespace, w.metadata.name) for w in Widgets(fake).list().items] == [
        ("ns", "b"),
        ("other", "a"),
    ]


def test_dry_run_changes_nothing_and_checks_everything(fake: FakeRequester) -> None:
    client = Widgets(fake, "ns")
    assert client.create(widget("a"), dry_run=True).metadata.uid
    assert client.list().items == []
    client.create(widget("a"))
    assert client.patch("a", {"spec": {"replicas": 9}}, dry_run=True).spec.replicas == 9
    client.delete("a", DeleteOptions(dry_run=("All",)))
    assert client.get("a").spec.replicas == 0
    with pytest.raises(AlreadyExists):
        client.create(widget("a"), dry_run=True)


def test_a_generated_name_is_new_each_time(fake: FakeRequester) -> None:
    unnamed = Widget(ObjectMeta(generate_name="w-", namespace="ns"))
    built = {Widgets(fake, "ns").create(unnamed).metadata.name for _ in range(3)}
    assert len({name for name in built if name.startswith("w-")}) == 3


def test_deletion_preconditions_are_checked(fake: FakeRequester) -> None:
    fake.tracker.add(Widget(ObjectMeta(name="a", namespace="ns", uid="u1")))
    client = Widgets(fake, "ns")
    with pytest.raises(Conflict, match=r"the UID in the precondition \(u2\) does not match the UID in record \(u1\)"):
        client.delete("a", DeleteOptions(preconditions=Preconditions(uid="u2")))
    client.delete("a", DeleteOptions(preconditions=Preconditions(uid="u1")))
    assert client.list().items == []


@pytest.mark.feature("B-CR-14")
def test_stale_update_is_rejected(fake: FakeRequester) -> None:
    client = Widgets(fake, "ns")
    first = client.create(widget("a"))
    client.update(replace(first, spec=WidgetSpec(1)))
    words = (
        'Operation cannot be fulfilled on widgets.shop.example.com "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    with pytest.raises(Conflict) as caught:
        client.update(replace(first, spec=WidgetSpec(2)))
    assert str(caught.value) == words


def test_a_watch_ends_when_its_time_is_up_with_a_bookmark_if_wanted() -> None:
    fake = FakeRequester(scheme=Scheme(Widget), clock=FakeClock(auto=True))
    version = Widgets(fake, "ns").create(widget("a")).metadata.resource_version
    options = ListOptions(watch=True, resource_version=version, timeout_seconds=30, allow_watch_bookmarks=True)
    assert list(Widgets(fake, "ns").watch_from(options)) == [Bookmark(version)]
    unmarked = ListOptions(watch=True, resource_version=version, timeout_seconds=30)
    assert list(Widgets(fake, "ns").watch_from(unmarked)) == []


def test_objects_of_the_tracker_are_read_only_and_share_nothing_with_what_was_given() -> None:
    meta = {"name": "a", "namespace": "ns", "labels": {"a": "b"}}
    arguments = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    fake = FakeRequester(arguments)
    stored = fake.tracker.get(GroupVersionResource("", "v1", "configmaps"), "ns", "a")
    arguments["metadata"]["labels"]["a"] = "c"  # type: ignore[index]
    assert stored["metadata"]["labels"] == {"a": "b"}
    with pytest.raises(TypeError, match="read-only"):
        stored["metadata"]["labels"]["a"] = "c"


def test_object_without_a_json_form_is_rejected_when_it_is_added() -> None:
    fake = FakeRequester()
    with pytest.raises(ValueError, match=r"cannot encode data\.a as JSON: nan is not a JSON number"):
        fake.tracker.add({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": math.nan}})


def test_actions_are_compared_as_json() -> None:
    first, other = (Action.of("create", ControllerRevision(data={"on": on})) for on in (True, 1))
    assert first == Action.of("create", ControllerRevision(data={"on": True}))
    assert first != other
