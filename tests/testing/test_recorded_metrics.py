"""Recorded metrics: lookup by name and label values, and invalid metrics."""

import pytest

from clientgo import metrics
from clientgo.stop.lifecycle import Group
from clientgo.testing.metrics import RecordedMetrics, recorded_metrics


def test_what_is_made_in_the_block_counts_there_and_what_was_before_is_back_after_it() -> None:
    before = metrics.provider()
    with recorded_metrics() as stored:
        adds = metrics.provider().counter("adds_total", "Keys added", {"name": "foos"})
    assert metrics.provider() is before
    adds.inc()
    adds.inc(2.0)
    assert stored["adds_total", "foos"].value == 3.0
    assert stored["adds_total", "foos"].history == [1.0, 3.0]
    assert stored.times("adds_total") == {("foos",): 2}
    assert ("adds_total", "bars") not in stored


def test_metric_without_labels_is_found_by_its_name() -> None:
    stored = RecordedMetrics()
    stored.histogram("took_seconds", "How long it took", {}, buckets=[0.1, 1.0]).observe(0.5)
    assert stored["took_seconds"].observed == [0.5]
    assert stored.buckets == {"took_seconds": (0.1, 1.0)}


def test_one_metric_asked_for_twice_is_the_same() -> None:
    stored = RecordedMetrics()
    stored.gauge("depth", "Keys waiting", {"name": "foos"}).set(2.0)
    stored.gauge("depth", "Keys waiting", {"name": "foos"}).dec()
    stored.gauge("depth", "Keys waiting", {"name": "bars"}).set(7.0)
    assert {labels: metric.value for labels, metric in stored.series("depth").items()} == {
        ("foos",): 1.0,
        ("bars",): 7.0,
    }


@pytest.mark.parametrize(
    ("help_text", "label", "buckets", "sentence"),
    [
        ("", "name", [1.0], "the metric depth needs a help text"),
        ("Keys", "queue", [1.0], r"the metric depth has the labels \('name',\), got \('queue',\)"),
        ("Keys", "name", [1.0, 1.0], r"the buckets of the metric depth must be sorted and distinct: \[1.0, 1.0\]"),
    ],
)
def test_invalid_metric_is_rejected(help_text: str, label: str, buckets: list[float], sentence: str) -> None:
    stored = RecordedMetrics()
    stored.histogram("depth", "Keys", {"name": "foos"}, buckets=[1.0])
    with pytest.raises(ValueError, match=sentence):
        stored.histogram("depth", help_text, {label: "foos"}, buckets=buckets)


def test_wait_until_sees_changes_of_other_threads() -> None:
    stored = RecordedMetrics()
    depth = stored.gauge("depth", "Keys waiting", {})
    with Group() as group:
        group.start(depth.set, 4.0, name="setter")
        depth.wait_until(4.0)
    with pytest.raises(TimeoutError, match="the metric is 4, expected 5"):
        depth.wait_until(5.0, timeout=0.0)
