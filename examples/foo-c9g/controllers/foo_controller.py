"""Reconciles foos."""

import logging

from clientgo.manager import Controller, Manager, Result, controller
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
    """Makes what exists for Foo objects what their specs ask for."""

    def __init__(self, manager: Manager) -> None:
        self.client, self.recorder = manager.client, manager.recorder

    def reconcile(self, request: ObjectName) -> Result | None:
        """Look at the object of that name, which may be gone, and act; what this raises is tried again."""
        foo = self.client.find(Foo, request)
        if foo is None:
            return None
        log.info("reconciling Foo %s", foo.metadata.name, extra={"image": foo.spec.image})
        return None

    def setup_with_manager(self, manager: Manager) -> Controller:
        """Have the manager call `reconcile` whenever something changes that concerns one of the objects."""
        return controller(manager).for_(Foo).complete(self)
