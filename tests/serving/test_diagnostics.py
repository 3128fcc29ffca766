"""Health checks, metrics and debug pages, over real sockets."""

import threading

import pytest
from prometheus_client import REGISTRY, Gauge
from prometheus_client.parser import text_string_to_metric_families

from clientgo.cache.state import InformerState
from clientgo.errors import ConfigError
from clientgo.program.commandline import ServingFlags
from clientgo.program.flags import Address
from clientgo.serving import Diagnostics, Unhealthy
from clientgo.stop import Group
from clientgo.testing.clock import FakeClock
from clientgo.workqueue import WorkQueue
from tests.serving.diagnosed import LOOPBACK, METRICS, get, serving

pytestmark = pytest.mark.integration

EVERY_INTERFACE = Address("0.0.0.0", 0)
PROBES = ServingFlags(health_probe_bind_address=LOOPBACK)


class Informer:
    """Informer in a given state."""

    def __init__(self, last_active: float | None = None) -> None:
        self.synced, self.last_active = False, last_active

    def state(self) -> InformerState:
        return InformerState("foos", "Foo", self.synced, 0, "", 0, 0, 0, None, None, "", last_active=self.last_active)


def test_nothing_listens_by_default() -> None:
    with serving(ServingFlags()) as diagnostics:
        assert diagnostics.urls == {}


@pytest.mark.feature("A-25")
def test_program_is_ready_once_its_informers_are_synced() -> None:
    informer = Informer()
    with serving(PROBES) as diagnostics:
        probes = diagnostics.urls["probes"]
        assert get(probes, "/healthz") == (200, "ok")
        assert get(probes, "/readyz/informers") == (500, "internal server error: not started yet\n")
        diagnostics.add_informers(lambda: [informer])
        assert get(probes, "/readyz/informers") == (500, "internal server error: informers not synced: foos\n")
        informer.synced = True
        assert get(probes, "/readyz") == (200, "ok")


@pytest.mark.feature("A-25")
def test_readiness_fails_as_soon_as_the_program_stops_and_liveness_does_not() -> None:
    stop = threading.Event()
    with serving(PROBES, stop) as diagnostics:
        stop.set()
        assert get(diagnostics.urls["probes"], "/readyz/shutdown") == (500, "internal server error: shutting down\n")
        assert get(diagnostics.urls["probes"], "/healthz") == (200, "ok")


def test_check_that_blocks_does_not_hold_up_the_end(caplog: pytest.LogCaptureFixture) -> None:
    began, returned = threading.Event(), threading.Event()

    def blocked() -> None:
        began.set()
        returned.wait()

    with Group() as clients:
        with serving(PROBES) as diagnostics:
            diagnostics.alive["blocked"] = blocked
            clients.start(get, diagnostics.urls["probes"], "/healthz", name="client")
            assert began.wait(20)
        assert clients.alive()  # the check goes on, and its client waits
        returned.set()
    assert "a check or page has not returned; not waiting for it" in caplog.text


@pytest.mark.feature("A-23")
def test_metrics_count_what_is_created_after_the_diagnostics() -> None:
    with serving(METRICS) as diagnostics:
        WorkQueue[str](name="Foos").add("a")
        status, text = get(diagnostics.urls["metrics"], "/metrics")
    samples = {s.name: s.value for f in text_string_to_metric_families(text) for s in f.samples if s.labels.get("name")}
    assert (status, samples["workqueue_adds_total"], samples["workqueue_depth"]) == (200, 1, 1)


def test_metrics_in_the_default_registry_of_prometheus_client_are_served() -> None:
    gauge = Gauge("of_the_program", "Registered as prometheus-client's documentation says")
    try:
        gauge.set(3)
        with serving(METRICS) as diagnostics:
            _, text = get(diagnostics.urls["metrics"], "/metrics")
    finally:
        REGISTRY.unregister(gauge)
    assert "\nof_the_program 3.0\n" in text


def test_debug_pages_show_flags_queues_caches_facts_and_stacks() -> None:
    with serving(METRICS) as diagnostics:
        url, queue = diagnostics.urls["metrics"], WorkQueue[str](name="Foos")
        queue.add("ns/a")
        diagnostics.queues.append(queue)
        diagnostics.add_informers(lambda: [Informer()])
        diagnostics.facts["Coordination"] = lambda: "this replica leads"
        assert "workers=3\n" in get(url, "/flagz")[1]
        assert '"ns/a"' in get(url, "/debug/queue")[1]
        assert '"foos"' in get(url, "/debug/caches")[1]
        assert "Coordination: this replica leads" in get(url, "/statusz")[1]
        assert '"MainThread"' in get(url, "/debug/stacks")[1]


@pytest.mark.feature("A-24")
def test_beyond_loopback_metrics_are_served_over_https_and_need_a_token() -> None:
    with serving(ServingFlags(metrics_bind_address=EVERY_INTERFACE)) as diagnostics:
        assert diagnostics.urls["metrics"].startswith("https://")
        assert get(diagnostics.urls["metrics"], "/metrics")[0] == 401


def test_metrics_are_unprotected_only_on_request() -> None:
    with serving(ServingFlags(metrics_bind_address=EVERY_INTERFACE, metrics_secure=False)) as diagnostics:
        assert get(diagnostics.urls["metrics"], "/metrics")[0] == 200


def test_protected_metrics_need_a_cluster() -> None:
    with pytest.raises(ConfigError, match="metrics over HTTPS need a Config"):
        Diagnostics(ServingFlags(metrics_bind_address=EVERY_INTERFACE), component="foos")


def test_liveness_includes_informers_that_are_created_later() -> None:
    clock, informers = FakeClock(), list[Informer]()
    diagnostics = Diagnostics(ServingFlags(), component="foos", clock=clock)
    diagnostics.add_informers(lambda: informers)
    check = diagnostics.alive["informers"]
    check()
    informers.append(Informer())  # not started: it waits for its stage, or for the lease
    clock.step(1000.0)
    check()
    informers.append(Informer(clock.now()))
    clock.step(900.0)
    check()
    clock.step(1.0)
    with pytest.raises(Unhealthy, match=r"^informers neither list nor watch: foos for 901 s$"):
        check()
