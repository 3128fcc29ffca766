"""Recorded conversations of kube-apiserver, played against the bundled server."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from apiserver.tests.conversations import RECORDED, Player, Server
from clientgo.envtest import BundledServer, Environment

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def plain() -> Iterator[Server]:
    with Environment(server=BundledServer(version="1.36", ready_seconds=0.1)) as config:
        server = Server(config)
        server.set_up()
        yield server


@pytest.fixture(scope="module")
def secure() -> Iterator[Server]:
    with Environment(server=BundledServer(version="1.36", secure=True, ready_seconds=0.1)) as config:
        server = Server(config)
        server.set_up()
        yield server


@pytest.mark.feature("A-05", "A-08", "A-19")
@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: f"{case['id']} {case['title']}")
def test_recorded_conversations_are_answered_as_the_real_server_does(plain: Server, case: Mapping[str, Any]) -> None:
    assert list(Player(plain, case).play()) == []


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: f"{case['id']} {case['title']}")
def test_recorded_conversations_are_answered_to_a_token_over_tls_as_well(
    secure: Server, case: Mapping[str, Any]
) -> None:
    assert list(Player(secure, case).play()) == []
