"""Webhook server for tests."""

from collections.abc import Generator
from contextlib import contextmanager

from clientgo.envtest import Environment
from clientgo.stop import Group
from clientgo.webhook import WebhookServer

from webhooks.server import register


@contextmanager
def served(environment: Environment) -> Generator[None]:
    """Serve all webhooks within the block, at the address that the test API server calls."""
    served_at = environment.webhooks
    assert served_at is not None, "there is a folder config/webhook"
    server = WebhookServer(host=served_at.host, port=served_at.port, cert_dir=served_at.cert_dir)
    register(server)
    with Group() as group:
        group.start(server.start, group.stop_event, name="webhooks")
        assert server.ready.wait(10)
        yield
