"""Contents of a lease, and rules for acquiring it."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.kubernetes.types.coordination_v1 import LeaseSpec
from clientgo.leaderelection.record import LeaderElectionRecord, Observation, claim, released
from clientgo.meta.codec import encode_value
from clientgo.meta.objects import MicroTime

NOW = MicroTime(2026, 1, 2, 3, 4, 5, 6, UTC)
LATER = MicroTime(2026, 1, 2, 3, 4, 7, 0, UTC)

micro_times = st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)).map(
    lambda at: MicroTime.of(at.replace(tzinfo=UTC))
)
records = st.builds(
    LeaderElectionRecord,
    holder_identity=st.text(),
    lease_duration_seconds=st.integers(0, 2**31 - 1),
    acquire_time=st.none() | micro_times,
    renew_time=st.none() | micro_times,
    leader_transitions=st.integers(0, 2**31 - 1),
    strategy=st.text(),
    preferred_holder=st.text(),
)


@pytest.mark.behaviour("LE-11")
def test_spec_and_record_say_the_same() -> None:
    spec = LeaseSpec(
        holder_identity="foo", lease_duration_seconds=10, acquire_time=NOW, renew_time=NOW, lease_transitions=1
    )
    record = LeaderElectionRecord.from_spec(spec)
    assert record.to_spec() == spec
    assert LeaderElectionRecord.from_spec(record.to_spec()) == record


@pytest.mark.behaviour("LE-35")
@given(records)
def test_record_survives_the_spec_with_all_seven_fields(record: LeaderElectionRecord) -> None:
    assert LeaderElectionRecord.from_spec(record.to_spec()) == record


def test_empty_spec_is_a_free_lease() -> None:
    assert LeaderElectionRecord.from_spec(LeaseSpec()) == LeaderElectionRecord()


@pytest.mark.feature("B-LE-11")
def test_spec_is_written_with_six_digits_an_empty_holder_and_no_empty_strategy() -> None:
    record = LeaderElectionRecord(acquire_time=NOW, renew_time=LATER, lease_duration_seconds=1)
    assert encode_value(record.to_spec()) == (
        b'{"acquireTime":"2026-01-02T03:04:05.000006Z","holderIdentity":"","leaseDurationSeconds":1,'
        b'"leaseTransitions":0,"renewTime":"2026-01-02T03:04:07.000000Z"}'
    )


HELD = LeaderElectionRecord(holder_identity="bing", lease_duration_seconds=10)


@pytest.mark.feature("B-LE-05")
@pytest.mark.parametrize(
    ("record", "identity", "passed", "may"),
    [
        pytest.param(LeaderElectionRecord(), "baz", 0.0, True, id="free"),
        pytest.param(LeaderElectionRecord(lease_duration_seconds=10), "baz", 0.0, True, id="released"),
        pytest.param(HELD, "bing", 0.0, True, id="one's own"),
        pytest.param(HELD, "baz", 0.0, False, id="another's"),
        pytest.param(HELD, "baz", 9.999, False, id="another's, about to expire"),
        pytest.param(HELD, "baz", 10.0, True, id="another's, expired"),
    ],
)
def test_lease_may_be_taken(record: LeaderElectionRecord, identity: str, passed: float, may: bool) -> None:
    assert Observation(record, 100.0).may_be_taken_by(identity, 100.0 + passed) is may


def test_only_a_changed_record_updates_the_observation() -> None:
    seen = Observation(HELD, 1.0)
    assert seen.observe(HELD, 5.0) is seen
    renewed = LeaderElectionRecord(holder_identity="bing", lease_duration_seconds=10, renew_time=NOW)
    assert seen.observe(renewed, 5.0) == Observation(renewed, 5.0)


def test_before_anything_was_seen_nothing_is_held() -> None:
    assert not Observation().is_valid(-1e9)
    assert Observation().holder == ""


@pytest.mark.feature("B-LE-05")
def test_the_first_holder_is_no_transition() -> None:
    assert claim(None, "baz", 15, NOW) == LeaderElectionRecord(
        holder_identity="baz", lease_duration_seconds=15, acquire_time=NOW, renew_time=NOW, leader_transitions=0
    )


@pytest.mark.feature("B-LE-05")
def test_holder_that_renews_keeps_the_time_of_acquisition() -> None:
    old = LeaderElectionRecord(
        holder_identity="baz", lease_duration_seconds=9, acquire_time=NOW, renew_time=NOW, leader_transitions=4
    )
    assert claim(old, "baz", 15, LATER) == LeaderElectionRecord(
        holder_identity="baz", lease_duration_seconds=15, acquire_time=NOW, renew_time=LATER, leader_transitions=4
    )


@pytest.mark.feature("B-LE-05")
@pytest.mark.parametrize("before", ["bing", ""])
def test_new_holder_is_one_more_transition_and_takes_the_lease_out_of_coordination(before: str) -> None:
    old = LeaderElectionRecord(
        holder_identity=before, acquire_time=NOW, leader_transitions=4, strategy="s", preferred_holder="p"
    )
    assert claim(old, "baz", 15, LATER) == LeaderElectionRecord(
        holder_identity="baz", lease_duration_seconds=15, acquire_time=LATER, renew_time=LATER, leader_transitions=5
    )


@pytest.mark.parametrize(("seconds", "written"), [(0.1, 1), (1.0, 1), (1.5, 2), (15.0, 15)])
def test_lease_duration_is_rounded_up(seconds: float, written: int) -> None:
    assert claim(None, "baz", seconds, NOW).lease_duration_seconds == written


@pytest.mark.feature("B-LE-07")
def test_released_lease_is_free_for_a_second_and_keeps_its_transitions() -> None:
    old = LeaderElectionRecord(
        holder_identity="baz", lease_duration_seconds=15, acquire_time=NOW, renew_time=NOW, leader_transitions=4
    )
    assert released(old, LATER) == LeaderElectionRecord(
        lease_duration_seconds=1, acquire_time=LATER, renew_time=LATER, leader_transitions=4
    )
