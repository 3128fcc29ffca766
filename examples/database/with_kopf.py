"""The operator of `with_clientgo.py`, written with kopf: the original, from which the migration guide starts.

kubectl apply -f examples/database/crd.yaml
DATABASE_SERVER=/tmp/databases kopf run -m examples.database.with_kopf --all-namespaces
"""

import logging
import secrets
from typing import Any

import kopf
from kubernetes import client

from examples.database.server import Account, DatabaseExists, DatabaseServer, ServerUnavailable

KIND = ("databases.example.com", "v1", "databases")
RESERVED = ("admin", "template")
DELAY, INTERVAL = 2.0, 60.0


@kopf.on.startup()
def startup(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Connect to the server, or do not start."""
    settings.posting.level = logging.WARNING
    DatabaseServer().accounts()


@kopf.on.create(*KIND, retries=10, timeout=600, backoff=DELAY)
def create(body: kopf.Body, spec: kopf.Spec, name: str, namespace: Any, patch: kopf.Patch, **_: Any) -> None:
    """Create the database, and a Secret with its password."""
    if name in RESERVED:
        raise kopf.PermanentError(f"name {name} is reserved")
    account = Account(secrets.token_urlsafe(16), spec["connections"])
    try:
        DatabaseServer().create(f"{namespace}_{name}", account)
    except ServerUnavailable as error:
        raise kopf.TemporaryError(str(error), delay=DELAY) from error
    except DatabaseExists as error:
        raise kopf.PermanentError(str(error)) from error
    secret = client.V1Secret(metadata=client.V1ObjectMeta(name=name), string_data={"password": account.password})
    kopf.adopt(secret, owner=body)
    client.CoreV1Api().create_namespaced_secret(namespace, secret)
    kopf.info(body, reason="Created", message="database created")
    patch.status["phase"] = "Ready"


@kopf.on.update(*KIND, field="spec.connections", retries=10, timeout=600, backoff=DELAY)
def resize(old: Any, new: Any, name: str, namespace: Any, logger: kopf.Logger, **_: Any) -> None:
    """Change the greatest number of connections."""
    server, database = DatabaseServer(), f"{namespace}_{name}"
    try:
        account = server.find(database)
        if account is None:
            raise kopf.PermanentError(f"database {database} is gone")
        server.alter(database, Account(account.password, new))
    except ServerUnavailable as error:
        raise kopf.TemporaryError(str(error), delay=DELAY) from error
    logger.info("connections: %s instead of %s", new, old)


@kopf.on.delete(*KIND, backoff=DELAY)
def delete(spec: kopf.Spec, name: str, namespace: Any, **_: Any) -> None:
    """Drop the database, unless its data are to be retained."""
    if spec.get("retain"):
        return
    try:
        DatabaseServer().drop(f"{namespace}_{name}")
    except ServerUnavailable as error:
        raise kopf.TemporaryError(str(error), delay=DELAY) from error


@kopf.timer(*KIND, interval=INTERVAL, initial_delay=INTERVAL)
def check(status: kopf.Status, name: str, namespace: Any, patch: kopf.Patch, **_: Any) -> None:
    """Report a database that is gone."""
    phase = "Ready" if DatabaseServer().find(f"{namespace}_{name}") else "Missing"
    if status.get("phase") != phase:
        patch.status["phase"] = phase
