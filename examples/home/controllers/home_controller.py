"""Reconciler of Home."""

import logging

from clientgo.manager import Reconciler, Result
from clientgo.meta import replace
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
class HomeReconciler(Reconciler[Home]):
    """Reconciles Home objects: brings the cluster to the state that their specs describe."""

    def reconcile(self, home: Home) -> Result | None:
        """Reconcile one object; raised exceptions are retried with backoff."""
        if not home.status.ready:
            self.client.update_status(replace(home, status=HomeStatus(ready=True)))
            log.info("ready", extra={"owner": home.spec.owner})
        return None
