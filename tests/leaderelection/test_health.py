"""Health check of a leader."""

import pytest

from clientgo.leaderelection import HealthAdaptor, LeaderElectionRecord, LeaderElector, LeaseNotRenewed
from clientgo.leaderelection.record import Observation
from clientgo.testing.clock import FakeClock
from clientgo.testing.kubernetes import FakeClientset
from tests.leaderelection.election import HOURS, lease_lock


def checked(holder: str, passed: float) -> HealthAdaptor:
    """Return an adaptor for an elector that saw `holder` lead `passed` seconds ago."""
    clock = FakeClock()
    elector = LeaderElector(
        lease_lock(FakeClientset(), "healthTest"),
        lease_duration=60,
        on_started_leading=lambda _: None,
        on_stopped_leading=lambda: None,
        name="foo",
        clock=clock,
    )
    elector._candidate.observed = Observation(LeaderElectionRecord(holder_identity=holder), clock.now())
    clock.step(passed)
    adaptor = HealthAdaptor(20)
    adaptor.set_leader_election(elector)
    return adaptor


@pytest.mark.behaviour("LE-21")
def test_health_without_an_elector_is_good() -> None:
    adaptor = HealthAdaptor(20)
    adaptor.check()
    assert adaptor.name == "leaderElection"
    assert repr(adaptor) == "<HealthAdaptor of no elector>"


@pytest.mark.feature("B-LE-10")
@pytest.mark.behaviour("LE-22")
def test_leader_without_renewal_for_an_hour_is_unhealthy() -> None:
    adaptor = checked("healthTest", 1 * HOURS)
    with pytest.raises(LeaseNotRenewed, match=r"^failed election to renew leadership on lease foo$"):
        adaptor.check()
    assert repr(adaptor) == "<HealthAdaptor of foo>"


@pytest.mark.feature("B-LE-10")
@pytest.mark.parametrize(
    ("holder", "passed"),
    [
        pytest.param("otherServer", 1 * HOURS, id="another leads", marks=pytest.mark.behaviour("LE-23")),
        pytest.param("healthTest", 0, id="just renewed", marks=pytest.mark.behaviour("LE-24")),
        pytest.param("healthTest", 61, id="expired within the tolerance", marks=pytest.mark.behaviour("LE-25")),
        pytest.param("healthTest", 80, id="at the end of the tolerance"),
    ],
)
def test_renewing_leader_is_healthy(holder: str, passed: float) -> None:
    checked(holder, passed).check()


def test_leader_is_unhealthy_after_the_tolerance() -> None:
    with pytest.raises(LeaseNotRenewed):
        checked("healthTest", 80.001).check()
