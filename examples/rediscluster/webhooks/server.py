"""The server that the API server asks, and its flags."""

import argparse

from clientgo.flags import port
from clientgo.manager import Manager
from clientgo.webhook import WebhookServer, webhooks_enabled

from webhooks.v1.rediscluster_conversion import RedisClusterConversion

# +clientgo:scaffold:imports


def add_webhook_flags(parser: argparse.ArgumentParser) -> None:
    """Where webhooks are served, and with which certificate."""
    add = parser.add_argument
    add("--webhook-port", type=port, default=9443, help="where webhooks are served (default: %(default)s)")
    add("--webhook-cert-path", help="folder with their certificate (default: /tmp/k8s-webhook-server/serving-certs)")
    add("--webhook-cert-name", default="tls.crt", help="its certificate's file (default: %(default)s)")
    add("--webhook-cert-key", default="tls.key", help="its key's file (default: %(default)s)")


def add_webhooks(manager: Manager, options: argparse.Namespace) -> None:
    """Have the manager serve every webhook, unless ENABLE_WEBHOOKS is false."""
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
    """Have the server answer for every webhook."""
    RedisClusterConversion().setup_with_server(server)
    # +clientgo:scaffold:webhooks
