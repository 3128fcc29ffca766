"""Webhooks that do not answer: limited by the API server's timeout, and no obstacle to other webhooks."""

import asyncio
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.pki import CertificateAuthority
from clientgo.serving import ServingRequest
from clientgo.webhook import AdmissionRequest, AdmissionResponse, WebhookServer, allowed
from clientgo.webhook.routes import seconds_for
from tests.webhook.homes import home, review, running
from tests.webhook.test_burst import post_to

BODY = json.dumps(review("CREATE", home(owner="ann"))).encode()


@pytest.fixture
def release() -> Iterator[threading.Event]:
    released = threading.Event()
    yield released
    released.set()


def blocking(release: threading.Event) -> Callable[[AdmissionRequest], Any]:
    def handle(_: AdmissionRequest) -> AdmissionResponse:
        release.wait(20)
        return allowed()

    return handle


def waiting(_: threading.Event) -> Callable[[AdmissionRequest], Any]:
    async def handle(_: AdmissionRequest) -> AdmissionResponse:
        await asyncio.sleep(20)
        return allowed()

    return handle


@pytest.mark.parametrize(
    ("query", "expected"),
    [("10s", 9.75), ("1s", 0.9), ("1m0s", 29.75), ("500ms", 0.45), ("", 29.75), ("x", 29.75), ("0s", 29.75)],
)
def test_limit_is_the_timeout_of_the_url(query: str, expected: float) -> None:
    assert seconds_for(ServingRequest("POST", "/", {"timeout": [query]})) == pytest.approx(expected)


@pytest.mark.e2e
@pytest.mark.timeout(60)
@pytest.mark.parametrize("create", [blocking, waiting])
def test_webhook_that_does_not_answer_is_denied_in_time(
    create: Callable[[threading.Event], Callable[[AdmissionRequest], Any]],
    release: threading.Event,
    tmp_path: Path,
    authority: CertificateAuthority,
) -> None:
    server = WebhookServer(port=0, host="127.0.0.1", cert_dir=tmp_path)
    server.register("/slow", create(release))
    server.register("/other", lambda _: allowed())
    context = ssl.create_default_context(cadata=authority.certificate.decode())

    async def calls() -> tuple[list[dict[str, Any]], dict[str, Any]]:
        slow = [post_to(server, "/slow?timeout=1s", context, BODY) for _ in range(150)]
        return await asyncio.gather(*slow), await post_to(server, "/other?timeout=10s", context, BODY)

    with running(server):
        began = SYSTEM_CLOCK.now()
        slow, other = asyncio.run(calls())
        assert SYSTEM_CLOCK.now() - began < 15.0
        release.set()
    assert {(denial["status"]["code"], denial["status"]["message"]) for denial in slow} == {
        (504, "the webhook /slow did not answer within 0.9 s")
    }
    assert other["allowed"]
