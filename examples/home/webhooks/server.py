"""Webhook server and its flags."""

import argparse

from clientgo.flags import port
from clientgo.manager import Manager
from clientgo.webhook import WebhookServer, webhooks_enabled

from webhooks.v1.home_defaulter import HomeDefaulter
from webhooks.v1.home_validator import HomeValidator

# +clientgo:scaffold:imports


def add_webhook_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags for the port and the certificate of the webhook server."""
    add = parser.add_argument
    add("--webhook-port", type=port, default=9443, help="port of the webhook server (default: %(default)s)")
    add("--webhook-cert-path", help="folder with the certificate (default: /tmp/k8s-webhook-server/serving-certs)")
    add("--webhook-cert-name", default="tls.crt", help="file name of the certificate (default: %(default)s)")
    add("--webhook-cert-key", default="tls.key", help="file name of the key (default: %(default)s)")


def add_webhooks(manager: Manager, options: argparse.Namespace) -> None:
    """Add the webhook server to the manager, unless ENABLE_WEBHOOKS is false."""
    if not webhooks_enabled():
        return
    server = WebhookServer(
        port=options.webhook_port,
        cert_dir=options.webhook_cert_path,
        cert_name=options.webhook_cert_name,
        key_name=options.webhook_cert_key,
    )
    register(server)
    manager.add(server)
    manager.add_readyz_check("webhooks", server.started_checker())


def register(server: WebhookServer) -> None:
    """Register all webhooks with the server."""
    HomeDefaulter().setup_with_server(server)
    HomeValidator().setup_with_server(server)
    # +clientgo:scaffold:webhooks
