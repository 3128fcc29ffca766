"""Bursts of concurrent reviews over TLS: every connection is answered, none is reset, threads stay bounded."""

import asyncio
import json
import ssl
import threading
from collections import Counter
from typing import Any

import pytest

from clientgo.pki import CertificateAuthority
from clientgo.webhook import WebhookServer, validate_path
from tests.webhook.homes import Home, home, review

PATH = validate_path(Home)
ALLOWED, SECONDS = "allowed", 60.0


async def post_to(server: WebhookServer, path: str, context: ssl.SSLContext, body: bytes) -> dict[str, Any]:
    """Send one review on a new connection; return the response."""
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    async with asyncio.timeout(SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=context)
        try:
            writer.write(head.encode() + body)
            reply = await reader.readuntil(b"\r\n\r\n")
            length = int(reply.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            response: dict[str, Any] = json.loads(await reader.readexactly(length))["response"]
            return response
        finally:
            writer.transport.abort()


async def post_review(server: WebhookServer, context: ssl.SSLContext, body: bytes) -> str:
    """Send one review on a new connection; return `ALLOWED`, or the error."""
    try:
        response = await post_to(server, PATH, context, body)
    except (OSError, TimeoutError, EOFError) as error:
        return type(error).__name__
    return ALLOWED if response["allowed"] else "denied"


async def burst(server: WebhookServer, authority: CertificateAuthority, count: int) -> tuple[Counter[str], int]:
    """Send `count` reviews at once; return their results, and the largest number of the server's threads seen."""
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    body, threads = json.dumps(review("CREATE", home(owner="ann"))).encode(), 0
    results: Counter[str] = Counter()
    for answered in asyncio.as_completed([post_review(server, context, body) for _ in range(count)]):
        results[await answered] += 1
        threads = max(threads, sum(thread.name.startswith(server.name) for thread in threading.enumerate()))
    return results, threads


@pytest.mark.e2e
@pytest.mark.timeout(120)
@pytest.mark.parametrize("count", [200, 1000])
def test_concurrent_reviews_are_answered_without_a_reset(
    count: int, server: WebhookServer, authority: CertificateAuthority
) -> None:
    results, threads = asyncio.run(burst(server, authority, count))
    assert results == {ALLOWED: count}
    assert threads <= 130, "128 connections, the thread that accepts, and the one that started the server"
