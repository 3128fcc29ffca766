"""Reconciler of Foo."""

import logging

from clientgo.manager import Controller, ControllerBuilder, Manager, Result
from clientgo.meta import ObjectName
from clientgo.meta.declarations import rbac

from api.v1alpha1.foo_types import Foo

GROUP = "samplecontroller.c9g.io"

log = logging.getLogger(__name__)


@rbac(
    groups=GROUP,
    resources="foos",
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
)
@rbac(groups=GROUP, resources="foos/status", verbs=("get", "patch", "update"))
@rbac(groups=GROUP, resources="foos/finalizers", verbs="update")
class FooReconciler:
    """Reconciles Foo objects: brings the cluster to the state that their specs describe."""

    def __init__(self, manager: Manager) -> None:
        self.client, self.recorder = manager.client, manager.recorder

    def reconcile(self, request: ObjectName) -> Result | None:
        """Reconcile one object, which may have been deleted; raised exceptions are retried with backoff."""
        foo = self.client.find(Foo, request)
        if foo is None:
            return None
        log.info("reconciling Foo %s", foo.metadata.name, extra={"image": foo.spec.image})
        return None

    def setup_with_manager(self, manager: Manager) -> Controller:
        """Register the controller with the manager."""
        return ControllerBuilder(manager).for_(Foo).complete(self)
