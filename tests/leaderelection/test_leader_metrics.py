"""What an election counts."""

import pytest

from clientgo.errors import Conflict
from clientgo.testing.metrics import recorded_metrics
from tests.leaderelection.election import SECONDS, Bench, Updates


@pytest.mark.feature("B-LE-15")
def test_leading_and_slow_renewals_are_counted_by_name() -> None:
    with recorded_metrics() as kept:
        bench = Bench(name="mine")

    def update(number: int) -> None:
        if number == 2:
            raise Conflict("changed")

    Updates(bench.clientset, "update", update)
    status, slow = kept["leader_election_master_status", "mine"], kept["leader_election_slowpath_total", "mine"]
    assert status.history == [0.0]
    with bench.running():
        assert bench.led.wait(SECONDS)
        bench.clock.wait_for_sleeps(1)
        assert status.history == [0.0, 1.0]
        assert slow.history == []
        bench.clock.step(1.0)
        bench.clock.wait_for_sleeps(2)
        assert slow.history == [1.0]
    assert status.history == [0.0, 1.0, 0.0]
    assert len(kept.metrics) == 2
    assert set(kept.labels.values()) == {("name",)}
