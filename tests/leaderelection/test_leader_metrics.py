"""What an election counts."""

from collections.abc import Iterator, Mapping, Sequence

import pytest

from clientgo import metrics
from clientgo.errors import Conflict
from clientgo.metrics import Histogram, NoMetrics
from tests.leaderelection.election import SECONDS, Bench, Updates


class Number:
    """A counter or gauge that remembers."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def set(self, value: float) -> None:
        self.values.append(value)

    def inc(self, amount: float = 1.0) -> None:
        self.values.append((self.values or [0.0])[-1] + amount)

    def dec(self, amount: float = 1.0) -> None:
        self.inc(-amount)


class Recording:
    """Keeps counters and gauges by name and labels."""

    def __init__(self) -> None:
        self.made: dict[str, Number] = {}

    def counter(self, name: str, help_text: str, labels: Mapping[str, str]) -> Number:
        return self.made.setdefault(f"{name}{dict(labels)}", Number())

    gauge = counter

    def histogram(self, name: str, help_text: str, labels: Mapping[str, str], *, buckets: Sequence[float]) -> Histogram:
        return NoMetrics().histogram(name, help_text, labels, buckets=buckets)


@pytest.fixture
def recording() -> Iterator[Recording]:
    before, recording = metrics.provider(), Recording()
    metrics.set_provider(recording)
    yield recording
    metrics.set_provider(before)


@pytest.mark.feature("B-LE-15")
def test_leading_and_slow_renewals_are_counted_by_name(recording: Recording) -> None:
    bench = Bench(name="mine")

    def update(number: int) -> None:
        if number == 2:
            raise Conflict("changed")

    Updates(bench.clientset, "update", update)
    status, slow = (
        recording.made["leader_election_master_status{'name': 'mine'}"],
        recording.made["leader_election_slowpath_total{'name': 'mine'}"],
    )
    assert status.values == [0.0]
    with bench.running():
        assert bench.led.wait(SECONDS)
        bench.clock.wait_for_sleeps(1)
        assert status.values == [0.0, 1.0]
        assert slow.values == []
        bench.clock.step(1.0)
        bench.clock.wait_for_sleeps(2)
        assert slow.values == [1.0]
    assert status.values == [0.0, 1.0, 0.0]
    assert len(recording.made) == 2
