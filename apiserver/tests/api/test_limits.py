"""Time that a client waits: nothing is stored after it, and webhooks are not awaited longer."""

import pytest

from apiserver.tests.inprocess import CONFIG_MAPS, Kube
from clientgo.testing.clock import FakeClock
from clientgo_apiserver.api.limits import Budget, Meter, OutOfBudget, cost_limit
from clientgo_apiserver.http.messages import Query
from clientgo_apiserver.http.options import read_timeout


@pytest.mark.parametrize(("text", "seconds"), [("", 60.0), ("0s", 60.0), ("5s", 5.0), ("1h", 60.0), ("-1s", 60.0)])
def test_client_waits_as_long_as_it_says_and_a_minute_at_most(text: str, seconds: float) -> None:
    assert read_timeout(Query({"timeout": text})) == seconds


class LateClock(FakeClock):
    """A clock that is two seconds later each time it is read."""

    def now(self) -> float:
        self.step(2)
        return super().now()


def test_write_of_a_client_that_waits_no_longer_is_not_stored(kube: Kube) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    kube.api.state.clock = LateClock()
    failure = kube.refused(504, "POST", f"{CONFIG_MAPS}?timeout=1s", {"metadata": {"name": "late"}})
    assert failure["reason"] == "Timeout"
    assert failure["message"].endswith("context deadline exceeded")
    kube.refused(404, "GET", f"{CONFIG_MAPS}/late")
    patch = {"data": {"a": "b"}}
    kube.refused(504, "PATCH", f"{CONFIG_MAPS}/a?timeout=1s", patch, "application/merge-patch+json")
    assert "data" not in kube.ok("GET", f"{CONFIG_MAPS}/a")


def test_evaluations_of_a_block_share_its_cost() -> None:
    def evaluate(cost: int) -> None:
        meter = Meter()
        meter.spend(cost)
        meter.settle()

    evaluate(1_000)  # outside of a block, only an evaluation by itself is limited
    with cost_limit(100):
        evaluate(60)
        with pytest.raises(OutOfBudget):
            evaluate(60)
    assert Budget().loop_cost > 0
