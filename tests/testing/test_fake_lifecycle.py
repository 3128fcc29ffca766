"""The fake with `lifecycle`: the status subresource and finalizers."""

from datetime import UTC, datetime

import pytest

from clientgo.errors import Conflict, Invalid, NotFound
from clientgo.meta import ObjectMeta, Scheme, change, replace
from clientgo.testing.clock import FakeClock
from clientgo.testing.fake import FakeRequester
from clientgo.typed import StatusClient
from tests.testing.widgets import Widget, Widgets, WidgetSpec, WidgetStatus, widget


@pytest.fixture
def widgets() -> Widgets:
    clock = FakeClock(time=datetime(2026, 1, 2, tzinfo=UTC).timestamp())
    return Widgets(FakeRequester(scheme=Scheme(Widget), clock=clock, versioned=True, lifecycle=True), "ns")


def held(obj: Widget, *finalizers: str) -> Widget:
    return replace(obj, metadata=replace(obj.metadata, finalizers=finalizers))


@pytest.mark.feature("B-CR-14")
def test_status_is_written_by_its_own_door_and_nothing_else_is(widgets: Widgets) -> None:
    built = widgets.create(Widget(ObjectMeta(name="a", namespace="ns"), WidgetSpec(1), WidgetStatus(9)))
    assert built.status.ready == 0
    both = replace(built, spec=WidgetSpec(2), status=WidgetStatus(3))
    by_status = widgets.update_status(both)
    assert (by_status.spec.replicas, by_status.status.ready) == (1, 3)
    by_main = widgets.update(replace(by_status, spec=WidgetSpec(5), status=WidgetStatus(8)))
    assert (by_main.spec.replicas, by_main.status.ready) == (5, 3)
    patched = widgets.patch("a", {"spec": {"replicas": 6}, "status": {"ready": 7}})
    assert (patched.spec.replicas, patched.status.ready) == (6, 3)
    assert widgets.patch_status("a", {"spec": {"replicas": 1}, "status": {"ready": 4}}).spec.replicas == 6
    applied = widgets.apply(replace(widget("b"), status=WidgetStatus(5)), field_manager="me")
    assert applied.status.ready == 0


@pytest.mark.feature("B-CR-14")
def test_a_stale_version_is_refused_at_either_door(widgets: Widgets) -> None:
    stale = widgets.create(widget("a"))
    widgets.patch("a", {"spec": {"replicas": 2}})
    for write in (widgets.update, widgets.update_status):
        with pytest.raises(Conflict):
            write(replace(stale, spec=WidgetSpec(3), status=WidgetStatus(3)))


@pytest.mark.feature("B-CR-14")
def test_a_finalizer_holds_what_is_deleted_until_it_is_taken_off(widgets: Widgets) -> None:
    widgets.create(held(widget("a"), "example.com/one", "example.com/two"))
    watch = widgets.watch(resource_version=widgets.list().metadata.resource_version)
    widgets.delete("a")
    widgets.delete("a")
    going = widgets.get("a")
    assert going.metadata.deletion_timestamp == datetime(2026, 1, 2, tzinfo=UTC)
    updated = widgets.update(held(going, "example.com/two"))
    assert updated.metadata.deletion_timestamp is not None
    widgets.patch("a", {"metadata": {"finalizers": None}})
    with pytest.raises(NotFound):
        widgets.get("a")
    events = iter(watch)
    assert [next(events).type for _ in range(3)] == ["MODIFIED", "MODIFIED", "DELETED"]


@pytest.mark.feature("B-CR-14")
def test_what_is_being_deleted_takes_no_new_finalizer_and_stays_so(widgets: Widgets) -> None:
    widgets.create(held(widget("a"), "example.com/one"))
    widgets.delete("a")
    with pytest.raises(Invalid, match="no new finalizers can be added if the object is being deleted"):
        widgets.update(held(widgets.get("a"), "example.com/one", "example.com/late"))
    unmarked = replace(widgets.get("a"), spec=WidgetSpec(4))
    unmarked = replace(unmarked, metadata=replace(unmarked.metadata, deletion_timestamp=None))
    assert widgets.update(unmarked).metadata.deletion_timestamp is not None


@pytest.mark.feature("B-CR-14")
def test_no_write_begins_a_deletion_and_without_finalizers_there_is_no_wait(widgets: Widgets) -> None:
    marked = replace(widget("a"), metadata=ObjectMeta(name="a", deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC)))
    built = widgets.create(marked)
    assert built.metadata.deletion_timestamp is None
    with pytest.raises(Invalid, match=r"metadata\.deletionTimestamp: field is immutable"):
        widgets.update(change(built, lambda w: w.metadata.deletion_timestamp).to(datetime(2026, 1, 1, tzinfo=UTC)))
    widgets.delete("a")
    assert widgets.list().items == []


@pytest.mark.feature("B-CR-14")
def test_what_a_test_puts_in_is_kept_as_it_is(widgets: Widgets) -> None:
    fake = FakeRequester(Widget(ObjectMeta(name="a", namespace="ns"), status=WidgetStatus(3)), lifecycle=True)
    clients: StatusClient[Widget] = Widgets(fake, "ns")
    assert clients.get("a").status.ready == 3
