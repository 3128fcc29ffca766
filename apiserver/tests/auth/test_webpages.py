"""Requests that a browser sends for pages of other sites, to a server without authentication."""

from collections.abc import Mapping

import pytest

from apiserver.tests.inprocess import CONFIG_MAPS, Kube


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, 200),
        ({"host": "127.0.0.1:8080"}, 200),
        ({"host": "[::1]:8080"}, 200),
        ({"host": "localhost:8080"}, 200),
        ({"host": "api.localhost"}, 200),
        ({"host": "apiserver:8080"}, 200),
        ({"host": "192.168.1.7:8080", "origin": "http://192.168.1.7:8080"}, 200),
        ({"host": "localhost:1", "origin": "http://localhost:1", "sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"host": "attacker.example"}, 403),
        ({"host": "localhost.attacker.example:8080"}, 403),
        ({"host": "127.0.0.1.attacker.example"}, 403),
        ({"host": "a.b.localhost"}, 403),
        ({"host": "localhost:1", "origin": "http://attacker.example"}, 403),
        ({"host": "localhost:1", "origin": "http://localhost:2"}, 403),
        ({"host": "localhost:1", "origin": "null"}, 403),
        ({"host": "localhost:1", "sec-fetch-site": "cross-site"}, 403),
        ({"host": "localhost:1", "sec-fetch-site": "same-site"}, 403),
    ],
)
def test_page_of_another_site_is_forbidden(headers: Mapping[str, str], code: int) -> None:
    assert Kube().send("GET", CONFIG_MAPS, **headers).status == code
