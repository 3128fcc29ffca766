"""Entry point of ippool: the flags of the manager, and what it runs until a signal stops it."""

import os
from dataclasses import dataclass

from clientgo.manager import Manager, ManagerFlags, run
from clientgo.meta.declarations import rbac
from clientgo.program import Address

from controllers.ippool_controller import IPPoolReconciler

# +clientgo:scaffold:imports


@dataclass(frozen=True)
class Flags(
    # +clientgo:scaffold:flags
    ManagerFlags,
):
    """Flags of the manager; `python main.py --help` lists them.

    A flag of your own is a field: `poll: float = flag(10.0, "help text", group="orders")`, of `clientgo.program`.
    """


DEFAULTS = Flags(
    # Comma-separated; empty for all namespaces. The flag --namespace overrides it.
    namespaces=tuple(name for name in os.environ.get("WATCH_NAMESPACE", "").split(",") if name),
    leader_elect_resource_name="825129ac.tiduyun.com",
    health_probe_bind_address=Address("", 8081),
)


@rbac(groups="core", resources="events", verbs=("create", "patch"))
def add_controllers(manager: Manager, flags: Flags) -> None:
    """Add the controllers and webhooks of the project."""
    manager.add_reconciler(IPPoolReconciler(manager))
    # +clientgo:scaffold:controllers
    # +clientgo:scaffold:webhooks


if __name__ == "__main__":
    run(add_controllers, name="ippool", flags=DEFAULTS, hint="start a cluster: make cluster")
