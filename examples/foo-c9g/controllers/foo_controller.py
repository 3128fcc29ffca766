"""Reconciler of Foo."""

import logging

from clientgo.manager import Reconciler, Result
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
class FooReconciler(Reconciler[Foo]):
    """Reconciles Foo objects: brings the cluster to the state that their specs describe."""

    def reconcile(self, foo: Foo) -> Result | None:
        """Reconcile one object; raised exceptions are retried with backoff."""
        log.info("reconciling Foo %s", foo.metadata.name, extra={"image": foo.spec.image})
        return None
