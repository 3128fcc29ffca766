"""Reconciler of Home."""

import logging

from clientgo.manager import Controller, ControllerBuilder, Manager, Result
from clientgo.meta import ObjectName, replace
from clientgo.meta.declarations import rbac

from api.v1.home_types import Home, HomeStatus

GROUP = "ajd.my.domain"

log = logging.getLogger(__name__)


@rbac(
    groups=GROUP,
    resources="homes",
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
)
@rbac(groups=GROUP, resources="homes/status", verbs=("get", "patch", "update"))
@rbac(groups=GROUP, resources="homes/finalizers", verbs="update")
class HomeReconciler:
    """Reconciles Home objects: brings the cluster to the state that their specs describe."""

    def __init__(self, manager: Manager) -> None:
        self.client, self.recorder = manager.client, manager.recorder

    def reconcile(self, request: ObjectName) -> Result | None:
        """Reconcile one object, which may have been deleted; raised exceptions are retried with backoff."""
        home = self.client.find(Home, request)
        if home is None:
            return None
        if not home.status.ready:
            self.client.update_status(replace(home, status=HomeStatus(ready=True)))
            log.info("ready", extra={"owner": home.spec.owner})
        return None

    def setup_with_manager(self, manager: Manager) -> Controller:
        """Register the controller with the manager."""
        return ControllerBuilder(manager).for_(Home).complete(self)
