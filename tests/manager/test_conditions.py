"""Status conditions and their transition times."""

from clientgo.clock import utc
from clientgo.kubernetes.types.apps_v1 import DeploymentCondition, DeploymentStatus
from clientgo.kubernetes.types.core_v1 import PodCondition, PodStatus
from clientgo.manager.conditions import (
    Condition,
    find_status_condition,
    is_status_condition_true,
    remove_status_condition,
    set_status_condition,
)
from clientgo.meta import replace
from clientgo.testing.clock import FakeClock

READY = Condition(type="Ready", status="True", reason="Up", message="all is well")


def test_condition_is_added_with_the_time() -> None:
    clock = FakeClock(time=1_700_000_000.75)
    (added,) = set_status_condition((), READY, clock=clock)
    assert added == replace(READY, last_transition_time=utc(clock).replace(microsecond=0))


def test_the_time_changes_with_the_status_alone() -> None:
    clock = FakeClock()
    before = set_status_condition((), READY, clock=clock)
    clock.step(60.0)
    reworded = set_status_condition(before, replace(READY, message="still", observed_generation=2), clock=clock)
    assert reworded[0].message == "still"
    assert reworded[0].last_transition_time == before[0].last_transition_time
    (turned,) = set_status_condition(reworded, replace(READY, status="False"), clock=clock)
    assert turned.last_transition_time == utc(clock)


def test_setting_an_equal_condition_changes_nothing() -> None:
    clock = FakeClock()
    before = set_status_condition((), READY, clock=clock)
    clock.step(60.0)
    assert set_status_condition(before, READY, clock=clock) is before


def test_given_transition_time_is_used_when_the_status_changes() -> None:
    at = utc(FakeClock())
    (turned,) = set_status_condition((), replace(READY, last_transition_time=at))
    assert turned.last_transition_time == at


def test_conditions_keep_their_order_and_are_found_by_type() -> None:
    other = Condition(type="Degraded", status="False", reason="Up")
    both = set_status_condition(set_status_condition((), READY), other)
    both = set_status_condition(both, replace(READY, status="False"))
    assert [item.type for item in both] == ["Ready", "Degraded"]
    assert find_status_condition(both, "Degraded") == both[1]
    assert find_status_condition(both, "Absent") is None
    assert [is_status_condition_true(both, kind) for kind in ("Ready", "Degraded", "Absent")] == [False] * 3
    assert is_status_condition_true((READY,), "Ready")
    assert remove_status_condition(both, "Ready") == both[1:]
    assert remove_status_condition(both, "Absent") == both


def test_conditions_of_built_in_kinds_are_read() -> None:
    available, ready = DeploymentCondition(type="Available", status="True"), PodCondition(type="Ready", status="False")
    deployment, pod = DeploymentStatus(conditions=[DeploymentCondition(), available]), PodStatus(conditions=[ready])
    condition: DeploymentCondition | None = find_status_condition(deployment.conditions, "Available")
    assert condition == available
    assert is_status_condition_true(deployment.conditions, "Available")
    assert not is_status_condition_true(pod.conditions, "Ready")
    assert remove_status_condition(pod.conditions, "Ready") == ()


def test_condition_of_an_older_generation_is_not_true() -> None:
    conditions = (replace(READY, observed_generation=1),)
    assert is_status_condition_true(conditions, "Ready")
    assert [is_status_condition_true(conditions, "Ready", generation=number) for number in (1, 2)] == [True, False]
    assert is_status_condition_true((READY,), "Ready", generation=2)  # it does not say what it describes
