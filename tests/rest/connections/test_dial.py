"""Server addresses, and the time limit of connecting to them."""

import pytest

from clientgo.errors import ConfigError, ConnectionFailed
from clientgo.rest.config import Config, server_url
from clientgo.rest.connections.dial import Dialer
from clientgo.testing.clock import FakeClock
from tests.rest.loopback import loopback


@pytest.mark.parametrize(
    ("config", "url"),
    [
        pytest.param(Config("https://h:6443"), "https://h:6443", id="whole"),
        pytest.param(Config("localhost:8080"), "http://localhost:8080", id="bare"),
        pytest.param(Config("h", insecure=True), "https://h", id="bare, with TLS"),
        pytest.param(Config("h", ca_file="ca.pem"), "https://h", id="bare, with an authority"),
        pytest.param(Config(" http://[::1]:80/prefix/ "), "http://[::1]:80/prefix/", id="version six, prefix, spaces"),
        pytest.param(Config("https://h/prefix?a=b#c"), "https://h/prefix", id="query and fragment"),
    ],
)
def test_address_without_scheme_gets_the_scheme_of_client_go(config: Config, url: str) -> None:
    assert server_url(config).geturl() == url


@pytest.mark.parametrize(
    "host", ["", "https://", "ftp://h", "https://h:port", "https://h:99999", "https://u:p@h", "a b", "ä"]
)
def test_invalid_address_is_a_config_error(host: str) -> None:
    with pytest.raises(ConfigError, match="expected https://host:port"):
        server_url(Config(host))


def test_dialer_has_address_path_and_host_header() -> None:
    dialer = Dialer(Config("http://[::1]:8080/prefix/"), environ={})
    assert (dialer.origin, dialer.base_path, dialer.host_header) == ("http://[::1]:8080", "/prefix", "[::1]:8080")


class SlowClock(FakeClock):
    """Ten seconds pass between two looks at the clock."""

    def now(self) -> float:
        self.step(10.0)
        return super().now()


@pytest.mark.integration
def test_name_resolution_counts_towards_the_connect_timeout() -> None:
    with loopback([]) as server:
        dialer = Dialer(Config(f"http://localhost:{server.port}"), environ={}, clock=SlowClock())
        with pytest.raises(ConnectionFailed, match="did not respond within 25 s") as failed:
            dialer.dial(25.0)
    assert failed.value.timeout
    assert server.connections == 0
