"""Lease lock."""

import socket
from datetime import UTC

import msgspec
import pytest

from clientgo.errors import AlreadyExists, Conflict, InvalidResponse, NotFound
from clientgo.kubernetes.types.coordination_v1 import Lease, LeaseSpec
from clientgo.leaderelection import LeaderElectionRecord, LeaseLock, LeaseNotRead, Lock, config_for_lock, new_identity
from clientgo.meta import ObjectMeta, replace
from clientgo.meta.codec import encode_value
from clientgo.meta.objects import MicroTime
from clientgo.record.fake import FakeRecorder
from clientgo.rest import Config
from clientgo.rest.headers import default_user_agent
from clientgo.testing.kubernetes import FakeClientset

NOW = MicroTime(2026, 1, 2, 3, 4, 5, 6, UTC)
RECORD = LeaderElectionRecord(
    holder_identity="test-identity", lease_duration_seconds=15, acquire_time=NOW, renew_time=NOW, leader_transitions=1
)
EARLIER = MicroTime(2026, 1, 2, 3, 4, 5, 5, UTC)
LABELS = {"custom-key": "custom-val"}


def lock(
    clientset: FakeClientset, *, labels: dict[str, str] | None = None, recorder: FakeRecorder | None = None
) -> Lock:
    return LeaseLock(
        clientset, "test-namespace", "test-name", "test-identity", labels=labels or {}, recorder=recorder
    )  # fmt: skip


def labels_in(clientset: FakeClientset) -> dict[str, str]:
    return dict(clientset.coordination_v1.leases("test-namespace").get("test-name").metadata.labels)


@pytest.mark.behaviour("LE-28")
def test_lease_that_is_missing_is_not_found() -> None:
    with pytest.raises(NotFound):
        lock(FakeClientset()).get()


@pytest.mark.behaviour("LE-29")
def test_created_record_is_read_back() -> None:
    item = lock(FakeClientset())
    item.create(RECORD)
    assert item.get() == RECORD
    # A server with coordinated election stores these too.
    coordinated = replace(RECORD, strategy="strategy", preferred_holder="preferred-holder")
    assert LeaderElectionRecord.from_spec(coordinated.to_spec()) == coordinated
    assert msgspec.json.decode(encode_value(coordinated)) == {
        "holderIdentity": "test-identity",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-02T03:04:05.000006Z",
        "renewTime": "2026-01-02T03:04:05.000006Z",
        "leaderTransitions": 1,
        "strategy": "strategy",
        "preferredHolder": "preferred-holder",
    }


@pytest.mark.feature("B-LE-13")
@pytest.mark.behaviour("LE-30")
def test_event_names_the_candidate_and_points_at_the_lease() -> None:
    recorder = FakeRecorder(2, include_object=True)
    item = lock(FakeClientset(), recorder=recorder)
    item.create(RECORD)
    item.record_event("test event")
    assert recorder.drain() == [
        "Normal LeaderElection test-identity test event involvedObject{kind=Lease,apiVersion=coordination.k8s.io/v1}"
    ]


def test_event_is_about_the_lease_as_it_was_last_read() -> None:
    about: list[object] = []

    class Recorder:
        def event(self, obj: object, event_type: str, reason: str, message: str) -> None:
            about.append(obj)

    lease = Lease(metadata=ObjectMeta(name="test-name", namespace="test-namespace", uid="u"), spec=LeaseSpec())
    clientset = FakeClientset(lease)
    lease_lock = LeaseLock(clientset, "test-namespace", "test-name", "test-identity", recorder=Recorder())
    lease_lock.record_event("has read nothing")
    lease_lock.get()
    lease_lock.record_event("has read it")
    stored = clientset.coordination_v1.leases("test-namespace").get("test-name")
    assert about == [Lease(metadata=ObjectMeta(name="test-name", namespace="test-namespace")), stored]


def test_event_needs_neither_a_lease_nor_a_recorder() -> None:
    recorder = FakeRecorder(1)
    lock(FakeClientset(), recorder=recorder).record_event("stopped leading")
    assert recorder.drain() == ["Normal LeaderElection test-identity stopped leading"]
    lock(FakeClientset()).record_event("without a recorder")


def test_event_about_a_percentage_is_not_formatted() -> None:
    recorder = FakeRecorder(1)
    lock(FakeClientset(), recorder=recorder).record_event("is 100% sure")
    assert recorder.drain() == ["Normal LeaderElection test-identity is 100% sure"]


@pytest.mark.behaviour("LE-32")
def test_lease_is_created_once() -> None:
    item = lock(FakeClientset())
    item.create(RECORD)
    with pytest.raises(AlreadyExists):
        item.create(RECORD)


@pytest.mark.behaviour("LE-33")
def test_lease_that_was_never_read_is_not_updated() -> None:
    clientset = FakeClientset()
    with pytest.raises(LeaseNotRead, match=r"^cannot update lease test-namespace/test-name: get or create it first$"):
        lock(clientset).update(RECORD)
    assert clientset.actions == []


@pytest.mark.behaviour("LE-34")
def test_lock_is_called_by_namespace_and_name() -> None:
    item = lock(FakeClientset())
    assert item.describe() == "test-namespace/test-name"
    assert repr(item) == "<LeaseLock test-namespace/test-name for test-identity>"


@pytest.mark.feature("C-38")
@pytest.mark.behaviour("LE-36")
def test_labels_are_set_on_a_lease_that_has_none() -> None:
    clientset = FakeClientset()
    lock(clientset).create(RECORD)
    item = lock(clientset, labels=LABELS)
    item.get()
    item.update(RECORD)
    assert labels_in(clientset) == LABELS


@pytest.mark.behaviour("LE-37")
def test_lock_without_labels_leaves_the_leases_alone() -> None:
    clientset = FakeClientset()
    lock(clientset, labels=LABELS).create(RECORD)
    item = lock(clientset)
    item.get()
    item.update(RECORD)
    assert labels_in(clientset) == LABELS


@pytest.mark.behaviour("LE-38")
def test_the_locks_own_labels_win_and_others_stay() -> None:
    clientset = FakeClientset()
    item = lock(clientset, labels=LABELS)
    item.create(RECORD)
    leases = clientset.coordination_v1.leases("test-namespace")
    leases.patch(
        "test-name", {"metadata": {"labels": {"custom-key": "new-custom-val", "custom-key-2": "custom-val-2"}}}
    )
    item.get()
    item.update(RECORD)
    assert labels_in(clientset) == {"custom-key": "custom-val", "custom-key-2": "custom-val-2"}


def test_concurrent_updates_of_one_version_conflict() -> None:
    clientset = FakeClientset()
    first, second = lock(clientset), lock(clientset)
    first.create(RECORD)
    second.get()
    first.update(replace(RECORD, leader_transitions=2))
    first.update(replace(RECORD, leader_transitions=3))
    with pytest.raises(Conflict):
        second.update(RECORD)
    assert second.get().leader_transitions == 3


def test_foreign_metadata_of_the_lease_is_kept() -> None:
    meta = ObjectMeta(name="test-name", namespace="test-namespace", annotations={"a": "b"}, finalizers=("x/f",))
    clientset = FakeClientset(Lease(metadata=meta, spec=LeaseSpec(holder_identity="go")))
    item = lock(clientset)
    item.get()
    item.update(RECORD)
    stored = clientset.coordination_v1.leases("test-namespace").get("test-name")
    assert (stored.metadata.annotations, stored.metadata.finalizers) == ({"a": "b"}, ("x/f",))
    assert LeaderElectionRecord.from_spec(stored.spec) == RECORD


def test_lock_may_be_given_a_requester() -> None:
    clientset = FakeClientset()
    LeaseLock(clientset.requester, "test-namespace", "test-name", "test-identity").create(RECORD)
    assert lock(clientset).get() == RECORD


def test_identities_name_the_host_and_never_repeat() -> None:
    identities = {new_identity() for _ in range(100)}
    assert len(identities) == 100
    assert all(identity.startswith(f"{socket.gethostname()}_") for identity in identities)


@pytest.mark.feature("B-LE-16")
@pytest.mark.parametrize(("renew_deadline", "timeout"), [(10.0, 5.0), (2.0, 1.0), (0.5, 1.0)])
def test_locks_own_connections_leave_time_for_a_second_try(renew_deadline: float, timeout: float) -> None:
    config = config_for_lock(Config("http://server", user_agent="mine"), renew_deadline=renew_deadline)
    assert (config.host, config.timeout, config.user_agent) == ("http://server", timeout, "mine/leader-election")
    unnamed = config_for_lock(Config("http://server"), renew_deadline=renew_deadline)
    assert unnamed.user_agent == f"{default_user_agent()}/leader-election"


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(LeaseSpec(holder_identity="other", renew_time=NOW), id="another holder"),
        pytest.param(LeaseSpec(holder_identity="test-identity", renew_time=EARLIER), id="an older state"),
        pytest.param(LeaseSpec(), id="nothing"),
    ],
)
@pytest.mark.parametrize("verb", ["create", "update"])
def test_response_without_what_was_written_is_no_write(spec: LeaseSpec, verb: str) -> None:
    clientset = FakeClientset()
    item = lock(clientset)
    if verb == "update":
        item.create(replace(RECORD, renew_time=EARLIER))
    stale = Lease(metadata=ObjectMeta(name="test-name", namespace="test-namespace", resource_version="1"), spec=spec)
    clientset.prepend_reactor(verb, "leases", lambda _: (True, stale))
    with pytest.raises(InvalidResponse, match="the write of lease test-namespace/test-name: expected holder"):
        getattr(item, verb)(RECORD)
