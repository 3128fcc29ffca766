"""Entry point of home: the flags of the manager, and what it runs until a signal stops it."""

import os
from dataclasses import dataclass

from clientgo.manager import Manager, ManagerFlags, run
from clientgo.meta.declarations import rbac
from clientgo.program import Address

from controllers.home_controller import HomeReconciler
from webhooks.server import WebhookFlags, add_webhooks

# +clientgo:scaffold:imports


@dataclass(frozen=True)
class Flags(
    WebhookFlags,
    # +clientgo:scaffold:flags
    ManagerFlags,
):
    """Flags of the manager; `python main.py --help` lists them.

    A flag of your own is a field: `poll: float = flag(10.0, "help text", group="orders")`, of `clientgo.program`.
    """


DEFAULTS = Flags(
    # Comma-separated; empty for all namespaces. The flag --namespace overrides it.
    namespaces=tuple(name for name in os.environ.get("WATCH_NAMESPACE", "").split(",") if name),
    leader_elect_resource_name="4ea14058.my.domain",
    health_probe_bind_address=Address("", 8081),
)


@rbac(groups="core", resources="events", verbs=("create", "patch"))
def add_controllers(manager: Manager, flags: Flags) -> None:
    """Add the controllers and webhooks of the project."""
    manager.add_reconciler(HomeReconciler)
    # +clientgo:scaffold:controllers
    add_webhooks(manager, flags)
    # +clientgo:scaffold:webhooks


if __name__ == "__main__":
    run(add_controllers, name="home", flags=DEFAULTS, hint="start a cluster: make cluster")
