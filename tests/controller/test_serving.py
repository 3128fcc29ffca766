"""What the controller serves, to whom, and when: over real sockets."""

import http.client
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from clientgo.cache.state import InformerState
from clientgo.metrics import provider, set_provider
from clientgo.rest import Config
from clientgo.serving import Server
from clientgo.workqueue import WorkQueue
from controller.exhibits import Exhibits
from controller.options import parse
from controller.serving import showing
from controller.turns import Alone

NOWHERE = Config(host="http://127.0.0.1:9")
METRICS, PROBES = "--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0"


class Informer:
    """Says that it is, or is not, synced."""

    def __init__(self) -> None:
        self.stands = InformerState("foos", "Foo", False, 0, "", 0, 0, 0, None, None, "")

    def state(self) -> InformerState:
        return self.stands


@contextmanager
def shown(*flags: str, stop: threading.Event | None = None) -> Iterator[Exhibits]:
    """What these flags serve; the metrics' provider is put back afterwards."""
    before = provider()
    try:
        with showing(parse(flags), NOWHERE, stop or threading.Event()) as exhibits:
            yield exhibits
    finally:
        set_provider(before)


def get(server: Server, path: str) -> tuple[int, str]:
    connection: http.client.HTTPConnection
    if server.url.startswith("https"):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=10)
    else:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body


def test_nothing_listens_unless_it_is_asked_for() -> None:
    with shown() as exhibits:
        assert [server.port for server in exhibits.servers] == [0]


@pytest.mark.feature("A-25")
def test_the_controller_is_ready_once_its_caches_are_synced() -> None:
    informer, queue = Informer(), WorkQueue[str](name="Foos")
    with shown(PROBES) as exhibits:
        (probes,) = exhibits.servers
        assert get(probes, "/healthz") == (200, "ok")
        assert "[-]informers failed" in get(probes, "/readyz")[1]
        exhibits.show(queue, informer, turn=Alone())
        assert get(probes, "/readyz/informers") == (500, "internal server error: informers not synced: foos\n")
        informer.stands = replace(informer.stands, synced=True)
        assert get(probes, "/readyz") == (200, "ok")


@pytest.mark.feature("A-25")
def test_readiness_fails_first_when_the_program_stops_and_liveness_does_not() -> None:
    stop = threading.Event()
    with shown(PROBES, stop=stop) as exhibits:
        (probes,) = exhibits.servers
        stop.set()
        assert get(probes, "/readyz/shutdown") == (500, "internal server error: shutting down\n")
        assert get(probes, "/healthz") == (200, "ok")


@pytest.mark.feature("A-23")
def test_metrics_of_what_is_made_in_the_block_are_served() -> None:
    with shown(METRICS) as exhibits:
        _, metrics = exhibits.servers
        WorkQueue[str](name="Foos").add("a")
        status, text = get(metrics, "/metrics")
    samples = {s.name: s.value for f in text_string_to_metric_families(text) for s in f.samples if s.labels.get("name")}
    assert (status, samples["workqueue_adds_total"], samples["workqueue_depth"]) == (200, 1, 1)


def test_the_debug_pages_tell_of_flags_queues_and_caches() -> None:
    with shown(METRICS, "--workers=3") as exhibits:
        _, metrics = exhibits.servers
        queue = WorkQueue[str](name="Foos")
        queue.add("ns/a")
        exhibits.show(queue, Informer(), turn=Alone())
        assert "workers=3\n" in get(metrics, "/flagz")[1]
        assert '"ns/a"' in get(metrics, "/debug/queue")[1]
        assert '"foos"' in get(metrics, "/debug/caches")[1]
        assert "Turn: there are no other replicas" in get(metrics, "/statusz")[1]
        assert '"MainThread"' in get(metrics, "/debug/stacks")[1]


@pytest.mark.feature("A-24")
def test_beyond_loopback_metrics_are_served_by_https_and_to_nobody_without_a_token() -> None:
    with shown("--metrics-bind-address=0.0.0.0:0") as exhibits:
        _, metrics = exhibits.servers
        assert metrics.url.startswith("https://")
        assert get(metrics, "/metrics")[0] == 401


def test_metrics_are_served_unprotected_only_if_that_is_asked_for() -> None:
    with shown("--metrics-bind-address=0.0.0.0:0", "--no-metrics-secure") as exhibits:
        _, metrics = exhibits.servers
        assert get(metrics, "/metrics")[0] == 200
