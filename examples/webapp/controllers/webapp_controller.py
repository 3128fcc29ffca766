"""Reconciler of WebApp: a Deployment, a Service, and an Ingress if the app has a host."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from clientgo.errors import Conflict
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.kubernetes.types.core_v1 import Service
from clientgo.kubernetes.types.networking_v1 import Ingress
from clientgo.manager import Client, Reconciler
from clientgo.meta import is_controlled_by, object_name, replace
from clientgo.meta.declarations import rbac
from clientgo.record import EventRecorder
from clientgo.typed import DeleteOptions, Preconditions

from api.v1.webapp_types import WebApp
from controllers.webapp_parts import deployment, ingress, service, status_of

GROUP = "web.example.com"
FINALIZER = f"{GROUP}/backups"
OWN_VERBS = ("create", "get", "list", "patch", "watch")
BACKUPS = Path(os.environ.get("BACKUP_DIR", "/backups"))


def delete_backups(app: WebApp, folder: Path = BACKUPS) -> None:
    """Delete the backups of an app, which a job outside the cluster writes."""
    backups = folder.joinpath(*object_name(app))
    if backups.exists():  # otherwise there are none, or an earlier attempt deleted them
        shutil.rmtree(backups)


@rbac(groups="apps", resources="deployments", verbs=OWN_VERBS)
@rbac(groups="core", resources="services", verbs=OWN_VERBS)
@rbac(groups="networking.k8s.io", resources="ingresses", verbs=(*OWN_VERBS, "delete"))
@rbac(
    groups=GROUP,
    resources="webapps",
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
)
@rbac(groups=GROUP, resources="webapps/status", verbs=("get", "patch", "update"))
@rbac(groups=GROUP, resources="webapps/finalizers", verbs="update")
class WebAppReconciler(
    Reconciler[WebApp], owns=[Deployment, Service, Ingress], finalizer=FINALIZER, expected=[Conflict, OSError]
):
    """Reconciles WebApp objects: brings the cluster to the state that their specs describe."""

    def __init__(
        self,
        client: Client,
        recorder: EventRecorder | None = None,
        clean_up: Callable[[WebApp], None] = delete_backups,
    ) -> None:
        super().__init__(client, recorder)
        self.clean_up = clean_up

    def reconcile(self, app: WebApp) -> None:
        """Reconcile one object; raised exceptions are retried with backoff."""
        pods = self.client.apply(deployment(app), owner=app, force=True)
        self.client.apply(service(app), owner=app, force=True)
        if app.spec.host:
            self.client.apply(ingress(app), owner=app, force=True)
        else:
            self.hide(app)
        status = status_of(app, pods)
        if status != app.status:
            self.client.update_status(replace(app, status=status))

    def hide(self, app: WebApp) -> None:
        """Delete the Ingress, unless the app has a host again; a cache may know neither of them yet."""
        stored = self.client.api_reader.find(Ingress, object_name(app))
        if stored and is_controlled_by(stored, app) and self.client.is_current(app):
            only_this = DeleteOptions(preconditions=Preconditions(uid=stored.metadata.uid))
            self.client.delete(stored, only_this, missing_ok=True)
            self.recorder.event(app, "Normal", "Hidden", "Ingress deleted: the app has no host any more")

    def finalize(self, app: WebApp) -> None:
        """Clean up outside the cluster, repeatedly until that succeeds; the garbage collector deletes the objects."""
        self.clean_up(app)
