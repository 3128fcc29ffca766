"""IP addresses in host names."""

import pytest

from clientgo.internal.hosts import is_loopback


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("", False),
        ("0.0.0.0", False),
        ("::1", True),
        ("127.0.0.9", True),
        ("localhost", True),
        ("127.example.com", False),
    ],
)
def test_only_loopback_addresses_are_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
