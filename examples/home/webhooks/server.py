"""Webhook server."""

from clientgo.manager import Client, Manager
from clientgo.webhook import WebhookFlags, WebhookServer, webhooks_enabled

from webhooks.v1.home_defaulter import HomeDefaulter
from webhooks.v1.home_validator import HomeValidator

# +clientgo:scaffold:imports

__all__ = ["WebhookFlags", "add_webhooks", "register"]


def add_webhooks(manager: Manager, flags: WebhookFlags) -> None:
    """Add the webhook server to the manager, unless ENABLE_WEBHOOKS is false."""
    if not webhooks_enabled():
        return
    server = flags.server()
    register(server, manager.client)
    manager.add(server)
    manager.add_readyz_check("webhooks", server.started_checker())


def register(server: WebhookServer, client: Client) -> None:
    """Register all webhooks with the server; pass `client` to those that read the cluster."""
    HomeDefaulter().setup_with_server(server)
    HomeValidator().setup_with_server(server)
    # +clientgo:scaffold:webhooks
