"""Creates databases on a server outside the cluster, and Secrets with their passwords.

kubectl apply -f examples/database/crd.yaml
DATABASE_SERVER=/tmp/databases clientgo run examples/database/with_clientgo.py
"""

import secrets
from dataclasses import dataclass
from typing import Annotated

from clientgo.backoff import Backoff
from clientgo.clock import Clock
from clientgo.errors import AlreadyExists
from clientgo.kubernetes.types.core_v1 import Secret
from clientgo.manager import Client, Reconciler, Result, TerminalError
from clientgo.meta import Int32, Meta, ObjectMeta, api_type, is_controlled_by, meta_for, object_name, replace
from clientgo.record import EventRecorder
from examples.database.server import Account, DatabaseServer, ServerUnavailable

FINALIZER = "kopf.zalando.org/KopfFinalizerMarker"
"""Finalizer of the original, so that each of both can finish a deletion that the other has begun."""

RESERVED = ("admin", "template")
INTERVAL = 60.0


@dataclass(frozen=True)
class DatabaseSpec:
    """Desired state of a Database."""

    connections: Annotated[Int32, Meta(ge=1)] = 10
    retain: bool = False


@dataclass(frozen=True)
class DatabaseStatus:
    """Observed state of a Database."""

    phase: str = ""


@api_type(group="databases.example.com", version="v1")
@dataclass(frozen=True)
class Database:
    """Database is a database on the server, and a Secret with its password."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DatabaseSpec = DatabaseSpec()
    status: DatabaseStatus = DatabaseStatus()


class DatabaseReconciler(
    Reconciler[Database],
    owns=[Secret],
    finalizer=FINALIZER,
    expected=[AlreadyExists, ServerUnavailable],
    retries=10,
    timeout=60,
    backoff=Backoff(duration=2, factor=2, cap=60),
):
    """Makes databases and Secrets match the Databases of the cluster."""

    def __init__(
        self,
        client: Client,
        recorder: EventRecorder | None = None,
        *,
        clock: Clock | None = None,
        server: DatabaseServer | None = None,
    ) -> None:
        super().__init__(client, recorder, clock=clock)
        self.server = server or DatabaseServer()
        self.server.accounts()

    def reconcile(self, database: Database) -> Result:
        """Keep the Secret, then a database with its password, then the status."""
        if database.metadata.name in RESERVED:
            raise TerminalError(f"name {database.metadata.name} is reserved")
        password = self.secret(database).data["password"].decode()
        self.keep(database, Account(password, database.spec.connections))
        if database.status.phase != "Ready":
            self.client.update_status(replace(database, status=DatabaseStatus(phase="Ready")))
        return Result(requeue_after=INTERVAL)

    def secret(self, database: Database) -> Secret:
        """Return the Secret, a new one if this Database has none."""
        secret = self.client.find(Secret, object_name(database))
        if secret is None or not is_controlled_by(secret, database):  # or one of an earlier Database of that name
            data = {"password": secrets.token_urlsafe(16).encode()}
            secret = self.client.create(Secret(metadata=meta_for(database), data=data), owner=database)
        return secret

    def keep(self, database: Database, account: Account) -> None:
        """Create or change the database; it is not garbage-collected, so only for an object that still exists."""
        name = "_".join(object_name(database))
        stored = self.server.find(name)
        if stored == account or not self.client.still_exists(database):
            return
        if stored is None:
            self.server.create(name, account)
            self.recorder.event(database, "Normal", "Created", "database created")
        else:
            self.server.alter(name, account)

    def finalize(self, database: Database) -> None:
        """Drop the database, unless its data are to be retained."""
        if not database.spec.retain:
            self.server.drop("_".join(object_name(database)))
