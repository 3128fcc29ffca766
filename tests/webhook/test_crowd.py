"""Hundreds of clients without a complete request, which come again at once, beside probes and webhook reviews."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.pki import CertificateAuthority
from clientgo.serving import probe_routes
from clientgo.webhook import WebhookServer
from tests.serving.serving_client import serving
from tests.webhook.homes import home, review
from tests.webhook.test_burst import ALLOWED, post_review

CLIENTS, REQUESTS = 500, 100
Ask = Callable[[], Awaitable[object]]


async def come_again(port: int, sent: bytes) -> None:
    """Connect, send so much, and connect again at once after each end."""
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(sent)
                while await reader.read(4096):
                    continue
            finally:
                writer.transport.abort()


@asynccontextmanager
async def crowd(port: int, sent: bytes) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        clients = [tasks.create_task(come_again(port, sent)) for _ in range(CLIENTS)]
        await asyncio.sleep(0.5)
        yield
        for client in clients:
            client.cancel()


async def slowest_of(port: int, sent: bytes, ask: Ask, expected: object) -> float:
    """Send requests one after the other; return the seconds of the slowest."""
    slowest = 0.0
    async with crowd(port, sent):
        for _ in range(REQUESTS):
            began = SYSTEM_CLOCK.now()
            assert await ask() == expected
            slowest = max(slowest, SYSTEM_CLOCK.now() - began)
    return slowest


async def probe(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    status = await reader.readline()
    writer.transport.abort()
    return status


@pytest.mark.e2e
@pytest.mark.timeout(120)
@pytest.mark.parametrize("sent", [b"", b"GET /healthz HT"], ids=["silent", "half a request"])
def test_probes_are_answered_beside_a_crowd(sent: bytes) -> None:
    with serving(probe_routes({})) as server:
        ask = lambda: probe(server.port)  # noqa: E731
        assert asyncio.run(slowest_of(server.port, sent, ask, b"HTTP/1.1 200 OK\r\n")) < 1.0


@pytest.mark.e2e
@pytest.mark.timeout(120)
@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01"], ids=["silent", "half a handshake"])
def test_reviews_are_answered_beside_a_crowd(
    sent: bytes, server: WebhookServer, authority: CertificateAuthority
) -> None:
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    body = json.dumps(review("CREATE", home(owner="ann"))).encode()
    ask = lambda: post_review(server, context, body)  # noqa: E731
    assert asyncio.run(slowest_of(server.port, sent, ask, ALLOWED)) < 2.0
