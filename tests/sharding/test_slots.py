"""Slots stored as Leases: format, and changes by others."""

from collections.abc import Mapping

import pytest

from clientgo.errors import AlreadyExists, Conflict, InvalidResponse
from clientgo.kubernetes.types.coordination_v1 import Lease, LeaseSpec
from clientgo.leaderelection import LeaderElectionRecord
from clientgo.leaderelection.record import released
from clientgo.meta import ObjectMeta, replace
from clientgo.meta.codec import Undecodable
from clientgo.meta.objects import MicroTime
from clientgo.rest import Config, RESTClient
from clientgo.sharding.slots import LeaseSlots, Slot
from clientgo.testing.kubernetes import FakeClientset
from clientgo.testing.transport import FakeTransport, reply

AT = MicroTime.of(MicroTime.fromisoformat("2026-11-21T10:34:22.000000+00:00"))
RECORD = LeaderElectionRecord(holder_identity="a", lease_duration_seconds=15, acquire_time=AT, renew_time=AT)


@pytest.fixture
def clientset() -> FakeClientset:
    return FakeClientset()


@pytest.fixture
def slots(clientset: FakeClientset) -> LeaseSlots:
    return LeaseSlots(clientset, "ns", "foo")


def lease(name: str, *, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Lease:
    meta = ObjectMeta(name=name, namespace="ns", labels=labels, annotations=annotations)
    return Lease(metadata=meta, spec=LeaseSpec(holder_identity="a", lease_duration_seconds=15))


def test_slot_is_a_lease_as_an_elector_writes_it_with_its_holder_s_view(
    clientset: FakeClientset, slots: LeaseSlots
) -> None:
    slots.write(2, RECORD, frozenset({2, 10, 0}), None)
    stored = clientset.coordination_v1.leases("ns").get("foo-2")
    assert stored.spec == RECORD.to_spec()
    assert stored.metadata.labels == {"sharding.clientgo/prefix": "foo"}
    assert stored.metadata.annotations == {"sharding.clientgo/view": "v1/0,2,10"}
    assert slots.read() == {2: Slot(RECORD, frozenset({0, 2, 10}))}
    assert repr(slots) == "<LeaseSlots ns/foo-*>"


def test_foreign_metadata_of_a_lease_is_kept_and_a_released_one_has_no_view(
    clientset: FakeClientset, slots: LeaseSlots
) -> None:
    leases = clientset.coordination_v1.leases("ns")
    slots.write(0, RECORD, frozenset({0}), None)
    leases.patch("foo-0", {"metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}}})
    slots.write(0, released(RECORD, AT), frozenset(), slots.read()[0])
    stored = leases.get("foo-0")
    assert stored.metadata.labels == {"sharding.clientgo/prefix": "foo", "team": "a"}
    assert stored.metadata.annotations == {"note": "b"}
    assert stored.spec.holder_identity == ""


def test_the_first_of_two_who_write_at_once_wins(slots: LeaseSlots) -> None:
    first = slots.write(0, RECORD, frozenset({0}), None)
    slots.write(0, RECORD, frozenset({0, 1}), first)
    with pytest.raises(Conflict):
        slots.write(0, RECORD, frozenset({0}), first)
    with pytest.raises(AlreadyExists):
        slots.write(0, RECORD, frozenset({0}), None)


def test_unlabelled_lease_is_found_after_the_first_attempt(clientset: FakeClientset, slots: LeaseSlots) -> None:
    clientset.coordination_v1.leases("ns").create(lease("foo-0", labels={"team": "a"}, annotations={}))
    assert slots.read() == {}
    with pytest.raises(AlreadyExists):
        slots.write(0, RECORD, frozenset({0}), None)
    assert slots.read()[0].record.holder_identity == "a"
    assert clientset.coordination_v1.leases("ns").get("foo-0").metadata.labels["team"] == "a"


@pytest.mark.parametrize("name", ["foo", "foo-", "foo-x", "foo-01", "foo--1", "foo-1024", "foo-99999999999", "bar-1"])
def test_other_leases_are_ignored(clientset: FakeClientset, slots: LeaseSlots, name: str) -> None:
    labels = {"sharding.clientgo/prefix": "foo"}
    clientset.tracker.add(lease(name, labels=labels, annotations={}))
    assert slots.read() == {}


@pytest.mark.parametrize("view", ["", "0", "v2/1,2", "v1/", "v1/0,2", "v1/1,x", "v1/1,9999", "v1/1,", None])
def test_invalid_view_counts_as_owning_everything(
    clientset: FakeClientset, slots: LeaseSlots, view: str | None
) -> None:
    annotations = {} if view is None else {"sharding.clientgo/view": view}
    built = lease("foo-1", labels={"sharding.clientgo/prefix": "foo"}, annotations=annotations)
    clientset.coordination_v1.leases("ns").create(built)
    assert slots.read()[1].view == frozenset({1})
    annotations = {"sharding.clientgo/view": "v1/0,1"}
    clientset.coordination_v1.leases("ns").patch("foo-1", {"metadata": {"annotations": annotations}})
    assert slots.read()[1].view == frozenset({0, 1})


def test_undecodable_slot_is_an_error() -> None:
    bad = {"metadata": {"name": "foo-1", "namespace": "ns"}, "spec": {"leaseDurationSeconds": "long"}}
    response = reply({"kind": "LeaseList", "metadata": {"resourceVersion": "1"}, "items": [bad]})
    slots = LeaseSlots(RESTClient(Config("http://fake"), transport=FakeTransport(response)), "ns", "foo")
    with pytest.raises(Undecodable, match="foo-1"):
        slots.read()


@pytest.mark.parametrize("prefix", ["", "-a", "a-", "A", "a.b", "a" * 59, "a/b"])
def test_invalid_prefix_is_rejected(clientset: FakeClientset, prefix: str) -> None:
    with pytest.raises(ValueError, match="invalid lease prefix"):
        LeaseSlots(clientset, "ns", prefix)


@pytest.mark.parametrize("view", ["", "v1/0"], ids=["older record", "older view"])
def test_response_without_what_was_written_is_no_write(clientset: FakeClientset, slots: LeaseSlots, view: str) -> None:
    first = slots.write(0, RECORD, frozenset({0}), None)
    later = replace(RECORD, renew_time=MicroTime.of(AT.replace(second=23)))
    stale = replace(first.lease, spec=later.to_spec()) if view else first.lease
    clientset.prepend_reactor("update", "leases", lambda _: (True, stale))
    with pytest.raises(InvalidResponse, match="invalid response to the write of lease"):
        slots.write(0, later, frozenset({0, 1}), first)
