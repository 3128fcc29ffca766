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

from clientgo.errors import Conflict, ConnectionFailed, NotFound
from clientgo.kubernetes.clients.core_v1 import NamespaceClient, PodClient
from clientgo.kubernetes.types import policy_v1
from clientgo.kubernetes.types.apps_v1 import ControllerRevision
from clientgo.kubernetes.types.core_v1 import Pod
from clientgo.meta import GroupVersionResource, ObjectMeta, ObjectName, Scheme, api_of, api_type, replace
from clientgo.meta.codec import encode_value
from clientgo.meta.listwatch import Bookmark, ListOptions, WatchEvent
from clientgo.rest.request import Request
from clientgo.stop.lifecycle import Group
from clientgo.testing.actions import Action
from clientgo.testing.client import FakeClient
from clientgo.testing.fake import FakeRequester
from clientgo.testing.transport import FakeStream
from clientgo.testing.watchsource import FakeSource, FakeWatcher
from clientgo.typed.client import TypedClient
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
def test_stop_ends_a_stream_of_a_fake_as_it_ends_one_of_a_server(
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


@pytest.mark.behaviour("FX-02")
@pytest.mark.behaviour("FX-01")
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
def test_create_after_the_watch_was_closed_is_ignored_by_it(fake: FakeRequester) -> None:
    watch = Widgets(fake, "ns").watch()
    watch.close()
    Widgets(fake, "ns").create(widget("a"))
    assert list(watch) == []


@pytest.mark.behaviour("FX-05")
def test_patch_of_a_missing_object_is_not_found(fake: FakeRequester) -> None:
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


def names(items: Iterable[Widget]) -> list[str]:
    return [item.metadata.name for item in items]


@pytest.mark.feature("B-TST-03", "C-18")
def test_watch_from_a_list_s_version_misses_nothing_and_repeats_nothing(fake: FakeRequester) -> None:
    client = Widgets(fake, "ns")
    client.create(widget("before"))
    listed = client.list()
    client.create(widget("between"))
    watch = client.watch(resource_version=listed.metadata.resource_version)
    client.create(widget("after"))
    assert names(listed.items) == ["before"]
    assert seen(watch, 2) == [("ADDED", "between"), ("ADDED", "after")]
