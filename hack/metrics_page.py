"""Generator of the metrics in docs/guide/serving.md, as the library's code creates them; run by `make metrics-page`."""

import argparse
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from clientgo.cache.distributor import UndecodableObjects
from clientgo.cache.metrics import InformerIdentity, InformerMetrics, ReflectorMetrics
from clientgo.cache.state import count_dropped, count_failure
from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import ConnectionFailed
from clientgo.leaderelection.candidate import ElectionMetrics
from clientgo.manager.controllers import timeouts_of
from clientgo.meta.objects import GroupVersionResource
from clientgo.metrics import Counter, Gauge, Histogram, NoMetrics, set_provider
from clientgo.reconcile.attempts import ReconcileMetrics
from clientgo.record.broadcaster import EventWatcher
from clientgo.rest.clientmetrics import ConnectionMetrics, RequestMetrics
from clientgo.serving.certificates import CertificateMetrics
from clientgo.sharding.shards import ShardingMetrics
from clientgo.stop.lifecycle import Group
from clientgo.webhook.routes import WebhookMetrics
from clientgo.workqueue.metrics import metrics_of

PAGE = Path(__file__).resolve().parent.parent / "docs" / "guide" / "serving.md"
HEAD = """\

## Metrics

<!-- Written by hack/metrics_page.py from the code: run `make metrics-page`. -->

The names are those of client-go and controller-runtime where these have the metric. A program sets the provider before
it creates clients and informers (`clientgo.metrics.set_provider`); the manager and the sample serve them at `/metrics`
on `--metrics-bind-address`, with the process's own metrics of `prometheus_client`. Histograms have seconds, bytes or
numbers of objects, as their names say.

"""
TITLES = {
    "controller": "Controllers",
    "workqueue": "Work queues",
    "reflector": "List and watch",
    "informer": "Caches",
    "rest": "Requests",
    "leader": "Leader election",
    "sharding": "Sharding",
    "event": "Events",
    "certwatcher": "Serving certificates",
}


class Metric(NamedTuple):
    """A metric, as the library describes it."""

    name: str
    type: str
    labels: tuple[str, ...]
    help_text: str


class Recorder(NoMetrics):
    """Provider that records what is created."""

    def __init__(self) -> None:
        self.metrics: dict[str, Metric] = {}

    def _record(self, name: str, kind: str, help_text: str, labels: Mapping[str, str]) -> None:
        self.metrics[name] = Metric(name, kind, tuple(labels), help_text.rstrip("."))

    def counter(self, name: str, help_text: str, labels: Mapping[str, str]) -> Counter:
        """Record a counter."""
        self._record(name, "counter", help_text, labels)
        return super().counter(name, help_text, labels)

    def gauge(self, name: str, help_text: str, labels: Mapping[str, str]) -> Gauge:
        """Record a gauge."""
        self._record(name, "gauge", help_text, labels)
        return super().gauge(name, help_text, labels)

    def histogram(self, name: str, help_text: str, labels: Mapping[str, str], *, buckets: Sequence[float]) -> Histogram:
        """Record a histogram."""
        self._record(name, "histogram", help_text, labels)
        return super().histogram(name, help_text, labels, buckets=buckets)


def all_metrics() -> list[Metric]:
    """Return every metric of the library, sorted by name: each class that has metrics is asked for them."""
    recorder = Recorder()
    set_provider(recorder)
    try:
        ReconcileMetrics("")
        timeouts_of("")
        metrics_of("queue", threading.Lock(), {}, SYSTEM_CLOCK, by_priority=True)
        ReflectorMetrics("").failed(ConnectionFailed("example"))
        InformerMetrics(InformerIdentity("", GroupVersionResource("", "", "")), lambda: 0, SYSTEM_CLOCK, recorder)
        UndecodableObjects("")
        count_failure("", "")
        count_dropped("")
        ElectionMetrics("")
        ShardingMetrics("")
        CertificateMetrics()
        WebhookMetrics("").count(200)
        EventWatcher("", Group(), lambda _: None).stop()
        requests = RequestMetrics(recorder, "")
        requests.answered("", "", 0.0, 0, 0)
        requests.throttled("", 0.0)
        requests.retried("", "")
        connections = ConnectionMetrics("", recorder)
        connections.resolved(0.0)
        connections.context(created=True)
        connections.authority("updated")
        connections.plugin("no_error", 0)
    finally:
        set_provider(NoMetrics())
    return sorted(recorder.metrics.values())


def page() -> str:
    """Return the text of the page: what is written by hand, and the metrics at its end."""
    metrics = all_metrics()
    sections = []
    for word, title in TITLES.items():
        rows = [
            f"| `{metric.name}` | {metric.type} | {', '.join(f'`{label}`' for label in metric.labels)} "
            f"| {metric.help_text} |\n"
            for metric in metrics
            if metric.name.partition("_")[0] == word
        ]
        sections.append(
            f"### {title}\n\n| Metric | Type | Labels | Meaning |\n| --- | --- | --- | --- |\n{''.join(rows)}"
        )
    by_hand = PAGE.read_text(encoding="utf-8").partition(HEAD.partition("<!--")[0])[0]
    return by_hand + HEAD + "\n".join(sections)


def main() -> int:
    """Write the page, or with --check return 1 if it is out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page is out of date")
    if parser.parse_args().check:
        return 0 if PAGE.read_text(encoding="utf-8") == page() else 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
