"""Reload of CA files over real TLS, and its metrics."""

import os
import shutil
import socket
import ssl
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from clientgo.errors import ConfigError, ConnectionFailed
from clientgo.rest.auth import credentials_for
from clientgo.rest.config import Config, Delegated
from clientgo.rest.connections.dial import Dialer
from clientgo.rest.connections.pool import PoolTransport
from clientgo.rest.connections.tls import REREAD_SECONDS
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.testing.metrics import RecordedMetrics, recorded_metrics
from tests.rest.loopback import Loopback, http, loopback

pytestmark = pytest.mark.integration

OK = http(b"ok")
RELOADS = "rest_client_transport_ca_reload_total"


def server_context(certificates: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    return context


@dataclass
class Client:
    """A transport whose CA file can be replaced, on a clock that can be stepped."""

    files: Path
    made: Path
    transport: PoolTransport
    clock: FakeClock
    kept: RecordedMetrics

    def put(self, source: str, name: str) -> None:
        # As the kubelet does it: the new file takes the old one's place at once.
        shutil.copy(self.made / source, self.files / "next")
        (self.files / "next").replace(self.files / name)

    def get(self) -> bytes:
        return self.transport.request("GET", "/", (), None, 5.0).body


def client(server: Loopback, certificates: Path, folder: Path) -> Client:
    shutil.copy(certificates / "ca.pem", folder / "ca.pem")
    config = Config(server.address, ca_file=str(folder / "ca.pem"))
    clock = FakeClock()
    with recorded_metrics() as metrics:
        transport = PoolTransport(Dialer(config, environ={}, clock=clock), clock=clock)
    return Client(folder, certificates, transport, clock, metrics)


@pytest.mark.feature("B-REST-09")
@pytest.mark.parametrize(("source", "reason"), [("other.pem", "updated"), ("ca.pem", "unchanged")])
def test_ca_file_is_checked_every_minute(certificates: Path, tmp_path: Path, source: str, reason: str) -> None:
    with loopback([OK, OK], [OK], tls=server_context(certificates)) as server:
        mine = client(server, certificates, tmp_path)
        mine.get()
        mine.put(source, "ca.pem")
        mine.clock.step(REREAD_SECONDS)
        if reason == "updated":
            with pytest.raises(ConnectionFailed, match="is not trusted"):
                mine.get()
        else:
            assert mine.get() == b"ok"
            assert server.connections == 1
        assert mine.kept.times(RELOADS)["success", reason] >= 1
        mine.transport.close()


@pytest.mark.feature("B-REST-15")
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"half a certif", "ca_parse_error"),
        ("# für Köln: nothing yet".encode("latin-1"), "ca_parse_error"),
        (None, "read_error"),
    ],
)
def test_invalid_ca_file_keeps_the_previous_ca(
    certificates: Path, tmp_path: Path, content: bytes | None, reason: str
) -> None:
    with loopback([OK], [OK], tls=server_context(certificates)) as server:
        mine = client(server, certificates, tmp_path)
        mine.get()
        (tmp_path / "ca.pem").unlink()
        if content is not None:
            (tmp_path / "ca.pem").write_bytes(content)
        mine.transport.reset()
        assert mine.get() == b"ok"
        assert mine.kept.times(RELOADS)["failure", reason] >= 1
        assert mine.kept.labels[RELOADS] == ("result", "reason")
        mine.transport.close()


def test_empty_ca_file_is_rejected_and_does_not_select_the_system_ca(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    with pytest.raises(ConfigError, match=r"ca\.pem is empty"):
        Dialer(Config("https://127.0.0.1:1", ca_file=str(tmp_path / "ca.pem")), environ={})


@pytest.mark.feature("B-REST-15")
def test_connections_are_counted_by_cached_or_new_tls_context(certificates: Path, tmp_path: Path) -> None:
    with loopback([OK], [OK], tls=server_context(certificates)) as server:
        mine = client(server, certificates, tmp_path)
        mine.get()
        (tmp_path / "ca.pem").write_bytes((certificates / "ca.pem").read_bytes() * 2)
        mine.transport.reset()
        mine.get()
        assert mine.kept.times("rest_client_transport_create_calls_total") == {("hit",): 1, ("miss",): 1}
        mine.transport.close()


@pytest.mark.feature("B-REST-15")
def test_name_resolution_is_measured_except_for_addresses() -> None:
    with loopback([OK], [OK]) as server, recorded_metrics() as metrics:
        for host in ("127.0.0.1", "localhost"):
            transport = PoolTransport(Dialer(Config(f"http://{host}:{server.port}"), environ={}))
            transport.request("GET", "/", (), None, 5.0)
            transport.close()
        assert metrics.times("rest_client_dns_resolution_duration_seconds") == {(f"localhost:{server.port}",): 1}


@pytest.mark.parametrize("host", ["no-such-host.invalid", f"{'a' * 64}.invalid", "a..b"])
def test_failed_name_resolution_is_measured_and_has_a_one_line_message(host: str) -> None:
    with recorded_metrics() as metrics:
        transport = PoolTransport(Dialer(Config(f"http://{host}:1"), environ={}))
        with pytest.raises(ConnectionFailed, match=r"^cannot resolve the host name of http://\S+$"):
            transport.request("GET", "/", (), None, 5.0)
        assert metrics.times("rest_client_dns_resolution_duration_seconds") == {(f"{host}:1",): 1}


def test_connections_that_are_opened_at_the_same_time_share_a_lookup() -> None:
    names, begun, release = list[bytes](), threading.Event(), threading.Event()

    def resolve(name: bytes, *_: object, **__: object) -> Any:
        names.append(name)
        begun.set()
        assert release.wait(10)
        raise socket.gaierror(socket.EAI_AGAIN, "no server answers")

    def dial() -> None:
        with pytest.raises(ConnectionFailed, match="cannot resolve"):
            dialer.dial(10.0)

    dialer = Dialer(Config("http://host.example:1"), environ={}, resolve=resolve)
    with Group() as group:
        group.start(dial, name="dial")
        assert begun.wait(10)
        with pytest.raises(ConnectionFailed, match="while connecting"):
            dialer.dial(0.05)
        release.set()
    assert names == [b"host.example"]
    with pytest.raises(ConnectionFailed, match="cannot resolve"):
        dialer.dial(10.0)
    assert len(names) == 2


@pytest.mark.e2e
@pytest.mark.feature("B-REST-15")
@pytest.mark.parametrize(
    ("code", "labels"),
    [
        ('print(\'{"apiVersion":"v1","kind":"E","status":{"token":"t0ken"}}\')', ("0", "no_error")),
        ("raise SystemExit(7)", ("7", "plugin_execution_error")),
        ("print('hello')", ("1", "client_internal_error")),
        ("", ("1", "plugin_not_found_error")),
    ],
)
def test_calls_of_a_credential_plugin_are_counted_by_result(tmp_path: Path, code: str, labels: tuple[str, str]) -> None:
    script = tmp_path / "plugin"
    if code:
        script.write_text(f"#!/usr/bin/env python3\n{code}\n")
        script.chmod(0o700)
    command = {"apiVersion": "v1", "command": str(script), "env": [{"name": "PATH", "value": os.environ["PATH"]}]}
    delegated = Delegated(exec=command, context="dev")
    with recorded_metrics() as metrics:
        credentials = credentials_for(Config("https://h:1", delegated=delegated))
    try:
        credentials.authorization()
    except ConfigError:
        assert labels[0] != "0"
    assert metrics.times("rest_client_exec_plugin_call_total") == {labels: 1}
