"""Servers of a manager: probes, metrics, and the log of the start."""

import json
import logging
import ssl
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from clientgo.errors import ConfigError
from clientgo.manager import ControllerBuilder, Manager, Options, Result
from clientgo.meta import ObjectName
from clientgo.metrics import provider, set_provider
from clientgo.pki import CertificateAuthority
from clientgo.rest import Config
from clientgo.serving import Unhealthy
from clientgo.testing.eventually import eventually
from controller.api.v1alpha1 import Foo
from tests.manager.managed import fake, manager_of, new_foo, running

pytestmark = pytest.mark.integration


def ask(url: str, context: ssl.SSLContext | None = None) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10.0, context=context) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.feature("A-11")
@pytest.mark.feature("B-CR-01")
def test_probes_run_checks_until_the_shutdown_is_complete() -> None:
    manager, ending = manager_of(fake(), health_probe_bind_address="127.0.0.1:0"), threading.Event()

    def ends_slowly(stop: threading.Event) -> None:
        stop.wait()
        ending.wait(10.0)

    def unwell() -> None:
        raise Unhealthy("not well")

    manager.add(ends_slowly)
    with running(manager) as group:
        url = manager.urls["probes"]
        assert ask(f"{url}/healthz") == ask(f"{url}/readyz") == (200, "ok")
        assert ask(f"{url}/readyz/informers") == (200, "ok")
        manager.add_readyz_check("mine", unwell)
        assert ask(f"{url}/readyz")[0] == 500
        assert ask(f"{url}/healthz")[0] == 200
        manager.add_healthz_check("mine", unwell)
        assert "not well" in ask(f"{url}/healthz/mine")[1]
        group.stop()
        assert "shutting down" in ask(f"{url}/readyz/shutdown")[1]
        ending.set()


@pytest.mark.feature("A-26")
def test_start_is_logged_in_order(caplog: pytest.LogCaptureFixture) -> None:
    before = provider()
    listening = {"metrics_bind_address": "127.0.0.1:0", "health_probe_bind_address": "127.0.0.1:0"}
    manager = manager_of(fake(new_foo()), **listening)
    seen = threading.Event()

    def reconcile(_: object) -> None:
        seen.set()

    with caplog.at_level(logging.INFO, "clientgo.manager"):
        ControllerBuilder(manager).for_(Foo).complete(reconcile)
        with running(manager):
            assert seen.wait(10.0)
            _, metrics = ask(f"{manager.urls['metrics']}/metrics")
            assert ask(f"{manager.urls['metrics']}/debug/queue")[0] == 200
    set_provider(before)
    lines = [record for record in caplog.records if record.levelno == logging.INFO]
    assert [record.msg for record in lines][:7] == [
        "Starting metrics server", "starting server", "starting manager", "starting server", "Starting EventSource",
        "Starting Controller", "Starting workers",
    ]  # fmt: skip
    assert vars(lines[4])["source"] == "kind source: foos.samplecontroller.k8s.io"
    assert vars(lines[6])["worker count"] == 1
    assert 'controller_runtime_reconcile_total{controller="foo",result="success"}' in metrics


def test_metrics_over_https_need_a_cluster() -> None:
    with pytest.raises(ConfigError, match="metrics over HTTPS need a Config"):
        manager_of(fake(), metrics_bind_address=":0")


def test_metrics_over_https_are_authorized_by_the_cluster() -> None:
    before = provider()
    options = Options(name="secure", metrics_bind_address="127.0.0.1:0", metrics_secure=True)
    manager = Manager(Config("http://127.0.0.1:9"), options=options)
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    with running(manager):
        url = manager.urls["metrics"]
        assert url.startswith("https://")
        assert ask(f"{url}/metrics", unverified)[0] == 401
    set_provider(before)


@pytest.mark.feature("B-CR-15")
def test_metrics_are_served_with_a_replaced_certificate(tmp_path: Path) -> None:
    before, authority = provider(), CertificateAuthority.create("test-ca")

    def issue() -> str:
        certificate, key = authority.server(["127.0.0.1"])
        (tmp_path / "tls.crt").write_bytes(certificate)
        (tmp_path / "tls.key").write_bytes(key)
        return certificate.decode()

    first = issue()
    options = Options(
        name="certs", metrics_bind_address="127.0.0.1:0", metrics_secure=True, metrics_cert_dir=str(tmp_path)
    )
    manager = Manager(Config("http://127.0.0.1:9"), options=options)
    with running(manager):
        port = int(manager.urls["metrics"].rpartition(":")[2])
        assert ssl.get_server_certificate(("127.0.0.1", port), timeout=30) == first
        second = issue()
        assert ssl.get_server_certificate(("127.0.0.1", port), timeout=30) == second
    set_provider(before)


def test_dashboard_and_pages_of_a_manager_show_its_controllers() -> None:
    before = provider()
    manager = manager_of(fake(new_foo()), metrics_bind_address="127.0.0.1:0", flags={"workers": 3}, reconcile_history=5)
    seen = threading.Event()

    def reconcile(request: ObjectName) -> Result:
        manager.recorder.event(manager.client.get(Foo, request), "Normal", "Seen", "hello")
        seen.set()
        return Result(requeue_after=60.0)

    ControllerBuilder(manager).for_(Foo).complete(reconcile)
    with running(manager):
        assert seen.wait(10.0)
        url = manager.urls["metrics"]
        assert "/dashboard " in ask(f"{url}/")[1]
        assert "\nworkers=3\n" in ask(f"{url}/flagz")[1]
        assert "\nCoordination: there are no other replicas\n" in ask(f"{url}/statusz")[1]

        def state() -> dict[str, Any]:
            document: dict[str, Any] = json.loads(ask(f"{url}/dashboard/state?controller=foo&object=ns/a")[1])
            return document

        result = eventually(state, lambda actual: actual["history"]["foo"])
    set_provider(before)
    assert [(row[1], row[2], row[5]) for row in result["history"]["foo"]] == [("ns/a", "resync", "requeue_after")]
    assert [event[2] for event in result["sections"]["object"]["events"]] == ["hello"]
    assert [text for text, *_ in result["sections"]["object"]["why"]] == ["delayed: is queued"]
    assert result["sections"]["controllers"][0]["recorded"] == 5


def test_controller_knows_whether_its_object_is_in_the_cache() -> None:
    manager = manager_of(fake(new_foo()))
    built = ControllerBuilder(manager).for_(Foo).complete(lambda _: None)
    assert built.is_cached(ObjectName("ns", "other")), "not known before the start"
    with running(manager):
        assert eventually(lambda: not built.is_cached(ObjectName("ns", "other")))
        assert built.is_cached(ObjectName("ns", "a"))
