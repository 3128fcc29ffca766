"""Webhook server for tests."""

from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from clientgo.envtest import Environment
from clientgo.envtest.accounts import ManagerAccount
from clientgo.manager import Manager, Options
from clientgo.stop import Group
from clientgo.webhook import WebhookServer

from webhooks.server import register

ROLE = Path(__file__).parent.parent / "config" / "rbac" / "role.yaml"


@contextmanager
def served(environment: Environment) -> Generator[None]:
    """Serve all webhooks within the block, with the manager's role, at the address that the test API server calls."""
    served_at = environment.webhooks
    assert served_at is not None, "there is a folder config/webhook"
    server = WebhookServer(host=served_at.host, port=served_at.port, cert_dir=served_at.cert_dir)
    with ExitStack() as stack:
        account = stack.enter_context(ManagerAccount(environment, ROLE, name="webhooks"))
        requester = stack.enter_context(account.client())
        manager = stack.enter_context(closing(Manager(requester, options=Options(name="webhooks"))))
        register(server, manager.client)
        manager.add(server)
        group = stack.enter_context(Group())
        group.start(manager.run, group.stop_event, name="webhooks")
        assert manager.elected.wait(10)
        yield
