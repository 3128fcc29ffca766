"""TLS: CA bundles, client certificates, error messages."""

import ssl
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import ConfigError, ConnectionFailed
from clientgo.meta import GroupVersionResource
from clientgo.rest.client import RESTClient
from clientgo.rest.config import ClientCertificate, Config
from clientgo.rest.connections.dial import Dialer
from clientgo.rest.connections.pool import PoolTransport
from clientgo.rest.request import Request
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from tests.rest.loopback import NO_HANDSHAKE, RESET, chunked, http, loopback

pytestmark = pytest.mark.integration

PODS = GroupVersionResource("", "v1", "pods")
OK = http(b"ok")


def server_context(certificates: Path, *, demand: bool = False, name: str = "server") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / f"{name}.pem", certificates / f"{name}.key")
    if demand:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(certificates / "ca.pem")
    return context


def ask(config: Config, certificate: Callable[[], ClientCertificate | None] = lambda: None) -> bytes:
    transport = PoolTransport(Dialer(config, certificate=certificate, environ={}))
    try:
        return transport.request("GET", "/", (), None, 5.0).body
    finally:
        transport.close()


@pytest.mark.feature("B-REST-09")
def test_server_signed_by_the_configured_ca_is_trusted(certificates: Path) -> None:
    ca = certificates / "ca.pem"
    with loopback([OK], [OK], tls=server_context(certificates)) as server:
        assert ask(Config(server.address, ca_file=str(ca))) == b"ok"
        assert ask(Config(server.address, ca_data=ca.read_text())) == b"ok"


def test_intermediate_authority_is_enough_to_trust_what_it_has_signed(certificates: Path) -> None:
    with loopback([OK], tls=server_context(certificates, name="below")) as server:
        assert ask(Config(server.address, ca_file=str(certificates / "middle.pem"))) == b"ok"


@pytest.mark.parametrize(
    "comment",
    [
        pytest.param("# Zertifizierungsstelle für Köln\n".encode(), id="UTF-8"),
        pytest.param("# für Köln\n".encode("latin-1"), id="latin-1"),
        pytest.param(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", id="unusable certificate"),
    ],
)
def test_bundle_may_contain_other_text(certificates: Path, tmp_path: Path, comment: bytes) -> None:
    ca = tmp_path / "ca.pem"
    ca.write_bytes(comment + (certificates / "ca.pem").read_bytes() + comment)
    data = ca.read_bytes().decode(errors="replace")
    with loopback([OK], [OK], tls=server_context(certificates)) as server:
        assert ask(Config(server.address, ca_file=str(ca))) == b"ok"
        assert ask(Config(server.address, ca_data=data)) == b"ok"


def test_client_certificate_may_have_comments_in_any_encoding(certificates: Path, tmp_path: Path) -> None:
    pair = {}
    for field, name in (("client_certificate_file", "client.pem"), ("client_key_file", "client.key")):
        (tmp_path / name).write_bytes("# für Köln\n".encode("latin-1") + (certificates / name).read_bytes())
        pair[field] = str(tmp_path / name)
    with loopback([OK], tls=server_context(certificates, demand=True)) as server:
        trusted = Config(server.address, ca_file=str(certificates / "ca.pem"))
        assert ask(replace(trusted, **pair)) == b"ok"  # type: ignore[arg-type]  # both are text


def test_untrusted_ca_is_named_in_the_error(certificates: Path) -> None:
    with loopback([OK], tls=server_context(certificates)) as server:
        with pytest.raises(ConnectionFailed, match=r"the certificate of https://127\S+ is not trusted") as failed:
            ask(Config(server.address, ca_file=str(certificates / "other.pem")))
        assert not failed.value.sent


@pytest.mark.feature("B-REST-09")
def test_insecure_configuration_trusts_any_certificate(certificates: Path) -> None:
    with loopback([OK], tls=server_context(certificates)) as server:
        assert ask(Config(server.address, insecure=True)) == b"ok"


@pytest.mark.feature("B-REST-09")
def test_server_name_overrides_the_address(certificates: Path) -> None:
    ca = str(certificates / "ca.pem")
    with loopback([OK], [OK], tls=server_context(certificates)) as server:
        assert ask(Config(server.address, ca_file=ca, server_name="api.example")) == b"ok"
        with pytest.raises(ConnectionFailed, match=r"not trusted: .*other\.example"):
            ask(Config(server.address, ca_file=ca, server_name="other.example"))


def test_trailing_dot_of_a_host_name_is_ignored(certificates: Path) -> None:
    with loopback([OK], tls=server_context(certificates)) as server:
        assert ask(Config(server.address, ca_file=str(certificates / "ca.pem"), server_name="api.example.")) == b"ok"


@pytest.mark.parametrize("name", ["a..b", "a\0b"])
def test_invalid_server_name_is_a_config_error(name: str) -> None:
    with pytest.raises(ConfigError, match=r"invalid TLS server name 'a\S+b'"):
        Dialer(Config("https://127.0.0.1:1", server_name=name), environ={})


def test_client_certificate_is_sent_on_request(certificates: Path) -> None:
    certificate, key = certificates / "client.pem", certificates / "client.key"
    with loopback([OK], [OK], tls=server_context(certificates, demand=True)) as server:
        trusted = Config(server.address, ca_file=str(certificates / "ca.pem"))
        assert ask(replace(trusted, client_certificate_file=str(certificate), client_key_file=str(key))) == b"ok"
        in_memory = replace(trusted, client_certificate_data=certificate.read_text(), client_key_data=key.read_text())
        assert ask(in_memory) == b"ok"


def test_certificate_of_a_plugin_takes_precedence(certificates: Path) -> None:
    certificate = ClientCertificate(
        (certificates / "client.pem").read_text(), (certificates / "client.key").read_text()
    )
    with loopback([OK], tls=server_context(certificates, demand=True)) as server:
        assert ask(Config(server.address, ca_file=str(certificates / "ca.pem")), lambda: certificate) == b"ok"


def test_plugin_is_asked_by_the_first_connection_and_its_invalid_certificate_is_an_error(certificates: Path) -> None:
    certificate = ClientCertificate("none", "none")
    with loopback([OK], tls=server_context(certificates)) as server:
        dialer = Dialer(Config(server.address, insecure=True), certificate=lambda: certificate, environ={})
        with pytest.raises(ConfigError, match=r"invalid client certificate for https://127\.0\.0\.1:\d+"):
            dialer.dial(5.0)
        certificate = ClientCertificate(
            (certificates / "client.pem").read_text(), (certificates / "client.key").read_text()
        )
        dialer.dial(5.0).close()
        certificate = ClientCertificate("none", "none")
        dialer.dial(5.0).close()


def test_missing_client_certificate_fails_the_connection(certificates: Path) -> None:
    with loopback([OK], tls=server_context(certificates, demand=True)) as server, pytest.raises(ConnectionFailed):
        ask(Config(server.address, ca_file=str(certificates / "ca.pem")))


def test_plain_http_instead_of_tls_is_detected() -> None:
    with loopback([http(status="400 Bad Request")]) as server:
        address = server.address.replace("http:", "https:")
        with pytest.raises(ConnectionFailed, match=r"does not speak TLS: is it a plain http:// address"):
            ask(Config(address, insecure=True))


@pytest.mark.parametrize(
    ("key", "words"),
    [
        pytest.param("server.key", "does not match its key or is not PEM", id="another key"),
        pytest.param("locked.key", "the key is encrypted", id="encrypted"),
    ],
)
def test_invalid_key_is_a_config_error(certificates: Path, key: str, words: str) -> None:
    config = Config(
        "https://127.0.0.1:1",
        client_certificate_file=str(certificates / "client.pem"),
        client_key_file=str(certificates / key),
    )
    with pytest.raises(ConfigError, match=words):
        Dialer(config, environ={})


def test_invalid_ca_bundle_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="invalid CA bundle"):
        Dialer(Config("https://127.0.0.1:1", ca_data="nonsense"), environ={})


def test_close_wakes_a_blocked_reader_over_tls(certificates: Path) -> None:
    with loopback([chunked(b"one", end=False)], tls=server_context(certificates)) as server:
        transport = PoolTransport(Dialer(Config(server.address, ca_file=str(certificates / "ca.pem")), environ={}))
        stream = transport.stream("GET", "/", (), 5.0, idle_timeout=60.0)
        pieces = iter(stream)
        assert next(pieces) == b"one"
        reader = Group()
        reader.start(lambda: list(pieces), name="reader")
        assert server.silent.wait(5)
        began = SYSTEM_CLOCK.now()
        stream.close()
        reader.join(5)
        assert SYSTEM_CLOCK.now() - began < 1.0


@pytest.mark.parametrize(
    "how", [pytest.param([NO_HANDSHAKE], id="EOF"), pytest.param([NO_HANDSHAKE, RESET], id="reset")]
)
def test_connection_closed_during_the_handshake_is_retried_for_reads_only(certificates: Path, how: list[bytes]) -> None:
    with loopback(how, [OK], how, [chunked(b"")], how, tls=server_context(certificates)) as server:
        config = Config(server.address, ca_file=str(certificates / "ca.pem"))
        client = RESTClient(config, clock=FakeClock(auto=True), environ={})
        assert client.raw("GET", "/") == b"ok"
        client.close()
        client = RESTClient(config, clock=FakeClock(auto=True), environ={})
        assert list(client.watch(Request(verb="watch", resource=PODS))) == []
        client.close()
        assert server.connections == 4
        client = RESTClient(config, clock=FakeClock(auto=True), environ={})
        with pytest.raises(ConnectionFailed, match="the peer closed the connection") as failed:
            client.raw("POST", "/", body=b"{}")
        assert not failed.value.sent
        assert server.connections == 5


def test_handshake_ends_at_the_connect_timeout() -> None:
    with loopback([b""]) as server:
        dialer = Dialer(Config(server.address.replace("http:", "https:"), insecure=True), environ={})
        with pytest.raises(ConnectionFailed, match=r"did not respond within 0\.2 s while connecting") as failed:
            dialer.dial(0.2)
        assert (failed.value.sent, failed.value.timeout) == (False, True)


def test_watch_whose_handshakes_are_all_cut_off_is_empty(certificates: Path) -> None:
    with loopback([NO_HANDSHAKE], [NO_HANDSHAKE], tls=server_context(certificates)) as server:
        config = Config(server.address, ca_file=str(certificates / "ca.pem"))
        client = RESTClient(config, clock=FakeClock(auto=True), max_retries=1, environ={})
        assert list(client.watch(Request(verb="watch", resource=PODS))) == []
        assert server.connections == 2


def test_certificate_that_is_not_trusted_is_not_retried(certificates: Path) -> None:
    with loopback([OK], tls=server_context(certificates)) as server:
        client = RESTClient(Config(server.address, ca_file=str(certificates / "other.pem")), environ={})
        with pytest.raises(ConnectionFailed, match="is not trusted"):
            client.raw("GET", "/")
        assert server.connections == 1
