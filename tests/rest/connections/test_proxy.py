"""Proxies: selection, tunnels, errors."""

import socket
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import ConfigError, ConnectionFailed
from clientgo.rest.config import Config
from clientgo.rest.connections.dial import Dialer
from clientgo.rest.connections.pool import PoolTransport
from clientgo.rest.connections.proxyrules import proxy_for
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import is_stopping
from tests.rest.loopback import CLOSE, RESET, http, loopback
from tests.streams.misbehaving import Behaviour, Peer, misbehaving

pytestmark = pytest.mark.integration

ENV = {"HTTPS_PROXY": "http://p:3128", "http_proxy": "q:3129"}


@pytest.mark.parametrize(
    ("server", "explicit", "extra", "proxy"),
    [
        pytest.param("https://api:6443", "", {}, "http://p:3128", id="https"),
        pytest.param("http://api:8080", "", {}, "http://q:3129", id="http, without a scheme"),
        pytest.param("https://api:6443", "https://own:1", {}, "https://own:1", id="explicit wins"),
        pytest.param("https://127.0.0.1:6443", "", {}, "", id="loopback"),
        pytest.param("https://localhost:6443", "", {}, "", id="localhost"),
        pytest.param("https://[::1]:6443", "", {}, "", id="loopback 6"),
        pytest.param("https://127.0.0.1:6443", "http://own:1", {}, "http://own:1", id="loopback, explicit"),
        pytest.param("https://api.corp", "", {"NO_PROXY": "corp"}, "", id="domain"),
        pytest.param("https://api.corp", "", {"NO_PROXY": "x, .corp"}, "", id="suffix"),
        pytest.param("https://api.corp", "", {"NO_PROXY": "*.corp"}, "", id="star"),
        pytest.param("https://apicorp", "", {"NO_PROXY": "corp"}, "http://p:3128", id="not a domain"),
        pytest.param("https://corp", "", {"NO_PROXY": ".corp"}, "http://p:3128", id="suffix only"),
        pytest.param("https://10.1.2.3", "", {"no_proxy": "10.0.0.0/8"}, "", id="network"),
        pytest.param("https://10.1.2.3", "", {"no_proxy": "10.1.2.3"}, "", id="address"),
        pytest.param(
            "https://11.1.2.3", "", {"no_proxy": "10.0.0.0/8,nonsense/99"}, "http://p:3128", id="other network"
        ),
        pytest.param("https://api:6443", "", {"NO_PROXY": "api:6443"}, "", id="port"),
        pytest.param("https://api:6443", "", {"NO_PROXY": "api:443"}, "http://p:3128", id="other port"),
        pytest.param("https://api", "", {"NO_PROXY": "*"}, "", id="everything"),
    ],
)
def test_proxy_is_selected_as_in_go(server: str, explicit: str, extra: Mapping[str, str], proxy: str) -> None:
    assert proxy_for(server, explicit, {**ENV, **extra}) == proxy


def test_invalid_proxy_is_named_without_its_password() -> None:
    with pytest.raises(ConfigError, match="invalid proxy URL socks4://p:1") as failed:
        proxy_for("https://api", "socks4://me:secret@p:1", {})
    assert "secret" not in str(failed.value)


@pytest.mark.parametrize("url", ["http://[", "http://[::1", "http://u\udcff:p@h", "http://h\0"])
def test_malformed_proxy_url_is_a_configuration_error(url: str) -> None:
    with pytest.raises(ConfigError, match=r"invalid proxy URL \S+"):
        proxy_for("https://api", url, {})


@pytest.mark.parametrize("host", [".example", "a..b", "a" * 70, "a\x7fb"])
def test_host_name_that_cannot_be_encoded_is_a_failed_connection_through_a_proxy(host: str) -> None:
    with loopback([http(b"", "200 OK")]) as proxy:
        dialer = Dialer(Config(f"https://{host}:1", insecure=True, proxy_url=proxy.address), environ={})
        with pytest.raises(ConnectionFailed, match="cannot connect to https://") as failed:
            dialer.dial(5.0)
        assert not failed.value.sent


def test_proxy_with_invalid_port_is_named_without_its_password() -> None:
    with pytest.raises(ConfigError, match="invalid proxy URL http://p:99999") as failed:
        Dialer(Config("https://api", proxy_url="http://me:k7Rz-proxy@p:99999"), environ={})
    assert "k7Rz" not in str(failed.value)


def test_plain_request_is_forwarded_with_its_full_url() -> None:
    with loopback([http(b"ok")]) as proxy:
        url = proxy.address.replace("http://", "http://me:pass%20word@")
        transport = PoolTransport(Dialer(Config("http://api.invalid:8080", proxy_url=url), environ={}))
        assert transport.request("GET", "/api", (), None, 5.0).body == b"ok"
        head = proxy.requests[0].decode()
        assert head.startswith("GET http://api.invalid:8080/api HTTP/1.1\r\nHost: api.invalid:8080\r\n")
        assert "proxy-authorization: Basic bWU6cGFzcyB3b3Jk\r\n" in head
        transport.close()


CONNECT = (b"HTTP/1.1 200 Connection established\r\n\r\n",)
"""Responses of an HTTP proxy to a client that it connects."""

SOCKS = (b"\5\2", b"\1\0", b"\5\0\0\1\0\0\0\0\0\0")
"""Responses of a SOCKS5 proxy that requires a user."""


class Tunnel:
    """A proxy that connects one client with one server, for any requested host, after these responses."""

    def __init__(self, port: int, responses: Sequence[bytes]) -> None:
        self.requests: list[bytes] = []
        self._port = port
        self._responses = responses
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"

    def serve_one(self, group: Group) -> None:
        client, _ = self._listener.accept()
        self._listener.close()
        for response in self._responses:
            self.requests.append(client.recv(4096))
            client.sendall(response)
        server = socket.create_connection(("127.0.0.1", self._port))
        group.start(pump, server, client, name="back")
        pump(client, server)
        group.join(5)
        client.close()
        server.close()


def pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def requests_of_a_tunnel(certificates: Path, scheme: str, responses: Sequence[bytes]) -> list[bytes]:
    """Send a request over TLS through a proxy, and return what the proxy received before."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    with loopback([http(b"ok")], tls=context) as server, Group() as group:
        tunnel = Tunnel(server.port, responses)
        group.start(tunnel.serve_one, Group(), name="tunnel")
        url = scheme + tunnel.address
        config = Config("https://api.example:6443", ca_file=str(certificates / "ca.pem"), proxy_url=url)
        transport = PoolTransport(Dialer(config, environ={}))
        assert transport.request("GET", "/", (), None, 5.0).body == b"ok"
        transport.close()
    return tunnel.requests


@pytest.mark.e2e
def test_tls_uses_a_tunnel_and_verifies_the_server(certificates: Path) -> None:
    requests = requests_of_a_tunnel(certificates, "http://", CONNECT)
    assert requests[0].startswith(b"CONNECT api.example:6443 HTTP/1.")


def test_proxy_that_rejects_the_tunnel_is_named() -> None:
    with loopback([http(b"", "407 Proxy Authentication Required")]) as proxy:
        dialer = Dialer(Config("https://api.invalid:6443", proxy_url=proxy.address), environ={})
        with pytest.raises(ConnectionFailed, match=r"the proxy refused .* 407") as failed:
            dialer.dial(5.0)
        assert not failed.value.sent
        assert proxy.requests[0].startswith(b"CONNECT api.invalid:6443 HTTP/1.")


@pytest.mark.parametrize("response", [b"nonsense\r\n\r\n", b"HTTP/1.1 abc x\r\n\r\n", b"x" * 70_000, CLOSE, RESET])
def test_peer_that_is_not_a_proxy_has_a_one_line_message(response: bytes) -> None:
    with loopback([response]) as proxy:
        dialer = Dialer(Config("https://api.invalid:6443", proxy_url=proxy.address), environ={})
        with pytest.raises(
            ConnectionFailed, match=r"^cannot connect to https://api.invalid:6443 through the p"
        ) as failed:
            dialer.dial(5.0)
        assert "\n" not in str(failed.value)
        assert not failed.value.sent


def test_unreachable_proxy_is_named() -> None:
    with loopback() as proxy:
        address = proxy.address
    with pytest.raises(ConnectionFailed, match="through the proxy http://127") as failed:
        Dialer(Config("http://api.invalid", proxy_url=address), environ={}).dial(5.0)
    assert failed.value.refused


@pytest.mark.e2e
def test_socks_proxy_resolves_the_name_and_the_server_is_verified(certificates: Path) -> None:
    requests = requests_of_a_tunnel(certificates, "socks5://me:pass%20word@", SOCKS)
    assert requests[1:] == [b"\1\2me\x09pass word", b"\5\1\0\3\x0bapi.example" + (6443).to_bytes(2, "big")]


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", "Unexpected SOCKS version", id="HTTP server"),
        pytest.param(CLOSE, "closed", id="closed connection"),
        pytest.param(b"\5\xff", "No acceptable authentication methods", id="no method"),
    ],
)
def test_socks_proxy_that_fails_is_named_and_nothing_was_sent(response: bytes, reason: str) -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        client, _ = listener.accept()
        with client, suppress(OSError):
            client.recv(64)
            if response != CLOSE:
                client.sendall(response)
                client.recv(64)

    url = f"socks5h://127.0.0.1:{listener.getsockname()[1]}"
    with Group() as group, listener:
        group.start(serve, name="socks")
        dialer = Dialer(Config("http://api.invalid:6443", proxy_url=url), environ={})
        with pytest.raises(ConnectionFailed, match=f"through the proxy {url}.*{reason}") as failed:
            dialer.dial(5.0)
        assert not failed.value.sent


def trickling(responses: Sequence[bytes]) -> Behaviour:
    """Answer each message by a response, and go on with one byte at a time."""

    def behave(peer: Peer) -> None:
        for response in responses:
            while not (is_stopping() or peer.receive()):
                continue
            peer.send(response)
        peer.forever(lambda: peer.send(b"x"), peer.receive)

    return behave


@pytest.mark.parametrize(
    ("url", "responses"),
    [
        pytest.param("http://{}", [b"HTTP/1.1 200 OK\r\nX: "], id="CONNECT"),
        pytest.param("https://{}", [b"\x16\x03\x03\x40\x00"], id="TLS with the proxy"),
        pytest.param("http://{}", [*CONNECT, b"\x16\x03\x03\x40\x00"], id="TLS with the server"),
        pytest.param("socks5://{}", [b"\5\0", b"\5\0\0\3\xff"], id="SOCKS"),
    ],
)
def test_tunnel_is_made_within_the_time_limit_though_the_proxy_goes_on_sending(
    url: str, responses: Sequence[bytes]
) -> None:
    with misbehaving(trickling(responses)) as proxy:
        config = Config("https://api.example:6443", proxy_url=url.format(proxy.removeprefix("http://")))
        began = SYSTEM_CLOCK.now()
        with pytest.raises(ConnectionFailed, match=r"did not respond within 0\.3 s while connecting") as failed:
            Dialer(config, environ={}).dial(0.3)
        assert failed.value.timeout
        assert SYSTEM_CLOCK.now() - began < 3
