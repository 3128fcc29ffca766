"""Webhook server for tests."""

from collections.abc import Iterator
from contextlib import contextmanager

from clientgo.envtest import Environment
from clientgo.lifecycle import Group
from clientgo.webhook import WebhookServer

from webhooks.server import register


@contextmanager
def served(environment: Environment) -> Iterator[None]:
    """Serve all webhooks within the block, at the address that the test API server calls."""
    webhooks = environment.webhooks
    assert webhooks is not None, "there is a folder config/webhook"
    server = WebhookServer(host=webhooks.host, port=webhooks.port, cert_dir=webhooks.cert_dir)
    register(server)
    with Group() as group:
        group.start(server.start, group.stop_event, name="webhooks")
        assert server.ready.wait(10)
        yield
