"""Checks on received objects: type, name, and the history of the server."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from clientgo.cache import Reflector
from clientgo.cache.validation import describe, replaced_server, type_check_for
from clientgo.cache.watcher import ResourceVersionRegressed
from clientgo.dynamic.unstructured import Unstructured, unstructured_type
from clientgo.errors import ApiError, ConnectionFailed, Forbidden
from clientgo.kubernetes.types.core_v1 import ConfigMap, Secret
from clientgo.meta import GroupVersionResource, ObjectList, ObjectMeta, ObjectName, Undecodable, replace
from clientgo.meta.codec import UnexpectedObject
from clientgo.meta.listitems import is_table
from clientgo.meta.listwatch import BadEvent, ListOptions, WatchEvent
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import eventually
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.watchsource import FakeWatch
from tests.cache.scripted import (
    Script,
    Sink,
    added,
    config_map,
    following,
    handling,
    list_end,
    modified,
    page,
    run,
    watch,
)


@pytest.mark.feature("B-REF-19")
@pytest.mark.behaviour("RL-28")
def test_reflector_is_named_by_its_type_or_expected_kind() -> None:
    deployments = GroupVersionResource("apps", "v1", "deployments")
    assert describe(ConfigMap) == "ConfigMap"
    assert describe(unstructured_type(deployments, kind="Deployment")) == "apps/v1, Kind=Deployment"
    assert describe(unstructured_type(deployments)) == "<unspecified>"
    assert Reflector(Script(), Sink()).name == "ConfigMap"


@pytest.mark.feature("B-REF-14", "C-13")
@pytest.mark.behaviour("RL-34")
def test_table_is_rejected() -> None:
    unfit = type_check_for(unstructured_type(GroupVersionResource("", "v1", "pods")))
    meta = ObjectMeta(name="x")
    assert "meta.k8s.io/v1, Kind=Table" in unfit(
        Unstructured(api_version="meta.k8s.io/v1", kind="Table", metadata=meta)
    )
    assert unfit(Unstructured(api_version="meta.k8s.io/v1beta1", kind="Table", metadata=meta)) != ""
    assert unfit(Unstructured(api_version="furniture.example.com/v1", kind="Table", metadata=meta)) == ""
    assert unfit(Unstructured(api_version="v1", kind="Pod", metadata=meta)) == ""
    assert not is_table("v1", "Pod")


@pytest.mark.feature("B-REF-13")
def test_object_of_another_kind_is_skipped_and_logged() -> None:
    pods = unstructured_type(GroupVersionResource("", "v1", "pods"), kind="Pod")
    other = Unstructured(api_version="v1", kind="Secret", metadata=ObjectMeta(name="x"))
    assert type_check_for(pods)(other) == "expected v1, Kind=Pod, got v1, Kind=Secret"
    assert "expected an object of any kind" in type_check_for(pods)(config_map("a", 1))


STRANGER: Any = Secret(metadata=ObjectMeta(name="a", namespace="ns", resource_version="11"))
NAMELESS = replace(config_map("", 12), metadata=ObjectMeta(namespace="ns", uid="77"))
FORMLESS: Any = replace(config_map("x", 12), metadata=None)


@pytest.mark.feature("B-REF-13", "B-REF-15")
@pytest.mark.parametrize("location", ["list", "streamed list", "watch"])
def test_unexpected_objects_are_skipped_and_reported(location: str, caplog: pytest.LogCaptureFixture) -> None:
    unexpected = [STRANGER, NAMELESS, FORMLESS]
    events: list[Any] = [WatchEvent("ADDED", obj) for obj in unexpected]
    script: dict[str, Any] = {
        "list": (page(config_map("a", 5), *unexpected), FakeWatch([added("b", 14)])),
        "streamed list": (FakeWatch([added("a", 5), *events, list_end(10), added("b", 14)]),),
        "watch": (page(config_map("a", 5)), FakeWatch([*events, added("b", 14)])),
    }
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    with following(Script(*script[location]), handling(handler), watch_list=location == "streamed list") as informer:
        assert handler.wait_for(2) == [("add", "ns/a"), ("add", "ns/b")]
        assert informer.undecodable.total == 3
    reasons = [vars(record)["err"] for record in caplog.records if "skipped" in record.msg]
    assert reasons == ["expected a ConfigMap, got a Secret", "it has no name (uid 77)", "it has no metadata"]


@pytest.mark.parametrize(
    "event",
    [WatchEvent("DELETED", STRANGER), BadEvent("DELETED", UnexpectedObject("ConfigMap", STRANGER.metadata, "no"))],
)
def test_unexpected_deletion_deletes_nothing_and_is_no_progress(event: Any) -> None:
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    source = Script(page(config_map("a", 5)), FakeWatch([event]), watch())
    with following(source, handling(handler)) as informer:
        handler.wait_for(1)
        eventually(lambda: informer.state().failing == 1)
        assert informer.state().failures[0].name == ObjectName("ns", "a")
        assert len(informer.indexer) == 1
        assert informer.last_sync_resource_version == informer.indexer.resource_version == "10"


LOST = ConnectionFailed("reset by peer")


def made(uid: str, version: int | str, name: str = "a") -> ConfigMap:
    obj = config_map(name, version)
    return replace(obj, metadata=replace(obj.metadata, uid=uid))


@pytest.mark.parametrize(
    ("local", "existing", "words"),
    [
        (made("1", 8), made("1", 8), ""),
        (made("1", 8), made("1", 12), ""),
        (None, made("1", 12), ""),
        (None, None, ""),
        (made("1", 8), None, ""),
        (made("", 8), made("1", 12), ""),
        (made("1", ""), made("1", 8), ""),
        (None, made("1", "opaque"), ""),
        (made("1", 8), made("2", 12), "ns/a with uid 2, and sent uid 1 before"),
        (made("1", 8), made("2", 8), "ns/a with uid 2, and sent uid 1 before"),
        (made("1", 8), made("1", 7), "ns/a at resourceVersion 7, which it never sent"),
        (made("1", 8), made("1", 10), "ns/a at resourceVersion 10, which it never sent"),
        (None, made("1", 10), "ns/a at resourceVersion 10, which it never sent"),
    ],
    ids=[
        "the same", "changed since", "came since", "none anywhere", "went since", "uid dropped", "version dropped",
        "version no number", "other uid", "other uid, same version", "undone", "changed unheard", "came unheard",
    ],
)  # fmt: skip
def test_replaced_server_is_detected_by_one_object(
    local: ConfigMap | None, existing: ConfigMap | None, words: str
) -> None:
    response: ObjectList[ConfigMap] = page(existing) if existing is not None else page()
    registered = {ObjectName("ns", "a"): local.metadata} if local is not None else {}
    result = replaced_server(response, "10", registered.get)
    assert words in result
    assert bool(words) is bool(result)


class Confirming(Script):
    """Source that responds to verifications with this object."""

    found: ConfigMap

    def list_page(self, options: ListOptions) -> ObjectList[ConfigMap]:
        items = super().list_page(options)
        return page(self.found) if options.limit == 1 else items


def test_other_server_that_accepts_the_version_is_listed_again() -> None:
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    source = Confirming(
        page(made("1", 9), made("2", 10, "b")),
        watch(modified("b", 11), error=LOST),
        page(made("3", 20), version="30"),
        FakeWatch[ConfigMap](),
    )
    source.found = made("3", 20)
    with following(source, handling(handler)) as informer:
        handler.wait_for(5)
        source.wait_for_requests(4)
    assert source.calls() == ["list 0", "watch 10", "list newest", "watch 30"]
    assert [(obj.metadata.name, obj.metadata.uid) for obj in informer.indexer.list()] == [("a", "3")]


def test_same_server_is_watched_without_a_list() -> None:
    source = Confirming(page(made("1", 9)), watch(added("b", 11), error=LOST), watch(added("c", 12)))
    source.found = made("1", 9)
    errors = run(source, last_metadata={ObjectName("ns", "a"): made("1", 9).metadata}.get)
    assert source.calls() == ["list 0", "watch 10", "watch 11"]
    assert not [error for error in errors if isinstance(error, ResourceVersionRegressed)]


@pytest.mark.parametrize("lasted", [300.0, 60.0, 1.5])
def test_watch_ended_by_the_server_needs_no_verification(lasted: float) -> None:
    clock = FakeClock(auto=True)
    source = Script(page(), watch(added("a", 11)), watch(added("b", 12)), clock=clock, step=lasted)
    run(source, clock=clock)
    assert source.calls() == ["list 0", "watch 10", "watch 11"]
    assert source.confirmed == []


class Recording(Script):
    """Source that records the options of verifications, and rejects those that `forbids` matches."""

    def __init__(self, *answers: Any, forbids: Callable[[ListOptions], bool] = lambda _: False) -> None:
        super().__init__(*answers)
        self.questions: list[tuple[str, str]] = []
        self._forbids = forbids

    def list_page(self, options: ListOptions) -> ObjectList[ConfigMap]:
        if options.limit == 1:
            self.questions.append((options.label_selector, options.field_selector))
            if self._forbids(options):
                raise Forbidden("not without a name")
        return super().list_page(options)


def selecting(options: ListOptions) -> ListOptions:
    return structs.replace(options, label_selector="app=web", field_selector="metadata.name=a")


def test_verification_requests_any_object_without_selectors() -> None:
    source = Recording(page(), watch(added("a", 11), error=LOST), watch(added("a", 12)))
    run(source, tweak=selecting)
    assert source.questions == [("", "")]
    assert all(options.label_selector == "app=web" for options in source.options("watch"))


def test_verification_uses_selectors_if_nothing_else_is_permitted() -> None:
    source = Recording(
        page(), watch(added("a", 11), error=LOST), watch(added("a", 12)), forbids=lambda o: not o.field_selector
    )
    assert run(source, tweak=selecting) == []
    assert source.questions == [("", ""), ("app=web", "metadata.name=a")]
    assert source.calls() == ["list 0", "watch 10", "watch 11"]


def test_object_that_the_informer_does_not_select_is_no_evidence_of_another_server() -> None:
    source = Confirming(page(), watch(added("a", 11), error=LOST), watch(added("a", 12)))
    source.found = made("7", 5, "unselected")
    assert run(source, tweak=selecting, last_metadata=lambda _: None) == []
    assert source.calls() == ["list 0", "watch 10", "watch 11"]


@pytest.mark.parametrize("fails_first", [9, 11], ids=["in the list", "in a watch"])
def test_object_whose_transform_raises_is_no_evidence_of_another_server(fails_first: int) -> None:
    def transform(obj: ConfigMap) -> ConfigMap:
        if obj.metadata.name == "a" and int(obj.metadata.resource_version) >= fails_first:
            raise ValueError("odd")
        return obj

    source = Confirming(
        page(made("1", 9)),
        watch(WatchEvent("MODIFIED", made("1", 11)), error=LOST),
        watch(added("b", 12), error=LOST),
        FakeWatch[ConfigMap](),
    )
    source.found = made("1", 11)
    with following(source, lambda _: None, transform=transform):
        source.wait_for_requests(4)
    assert source.calls() == ["list 0", "watch 10", "watch 11", "watch 12"]


@pytest.mark.parametrize("watches", [2, 5])
def test_each_lost_watch_costs_one_verification(watches: int) -> None:
    clock = FakeClock(auto=True)
    lost = [watch(added("a", version), error=LOST) for version in range(11, 11 + watches)]
    source = Script(page(), *lost, clock=clock, step=60.0)
    run(source, clock=clock)
    assert len(source.confirmed) == len(source.options("watch")) == watches


def test_no_request_waits_for_a_lagging_server() -> None:
    requested: list[bool] = []

    class Source(Script):
        def list_page(self, options: ListOptions) -> ObjectList[ConfigMap]:
            requested.append(options.retry_lagging)
            return super().list_page(options)

    source = Source(page(), watch(added("a", 11), error=LOST), watch(modified("a", 12)))
    # Also if the tweak creates new options.
    run(source, tweak=lambda options: ListOptions(limit=options.limit, resource_version=options.resource_version))
    assert requested
    assert not any(requested)
    assert not any(options.retry_lagging for options in source.options("watch"))


@pytest.mark.behaviour("RL-32")
def test_object_that_storage_cannot_read_causes_a_list_without_it() -> None:
    unreadable = ApiError("corrupt", code=500, reason="StorageReadError")
    stored = [config_map(f"foo-{n}", n) for n in (1, 2, 3)]
    source = Script(page(*stored, version="3"), watch(added("foo", 4), error=unreadable), page(*stored, version="5"))
    sink = Sink()
    errors = run(source, sink)
    assert source.calls() == ["list 0", "watch 3", "list 4"]
    assert sorted(sink.stored) == ["foo-1", "foo-2", "foo-3"]
    assert sink.versions[-1] == "5"
    assert errors[0] is unreadable


def test_undecodable_list_is_reported_and_retried() -> None:
    class Odd(Script):
        def list_page(self, options: ListOptions) -> ObjectList[ConfigMap]:
            if not self.asked:
                self.asked.append(("list", options))
                raise Undecodable("ConfigMapList", ObjectMeta(), "it is a table")
            return super().list_page(options)

    errors = run(Odd(page(), watch(added("a", 11))))
    assert str(errors[0]).endswith("it is a table")


@pytest.mark.feature("B-REF-16")
def test_unexpected_errors_are_raised_to_the_caller() -> None:
    class Broken(Script):
        def list_page(self, options: ListOptions) -> ObjectList[ConfigMap]:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(Broken())
