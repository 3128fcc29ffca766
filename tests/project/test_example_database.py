"""The operator of the migration guide does what the handlers of its original do, and takes over their objects."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.errors import AlreadyExists
from clientgo.kubernetes.types.core_v1 import Secret
from clientgo.manager import Result, TerminalError
from clientgo.meta import ObjectMeta, ObjectName, change, meta_for
from clientgo.perturb.scenario import definitions_of
from clientgo.record import FakeRecorder
from clientgo.testing.client import FakeClient
from examples.database.server import Account, DatabaseServer, ServerUnavailable
from examples.database.with_clientgo import FINALIZER, INTERVAL, Database, DatabaseReconciler, DatabaseSpec

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "database"
PAGE = (ROOT / "docs" / "migrating-from-kopf.md").read_text()
NAME = ObjectName("default", "shop")
AGAIN = Result(requeue_after=INTERVAL)


@pytest.fixture
def server(tmp_path: Path) -> DatabaseServer:
    """Return a server without databases."""
    server = DatabaseServer(tmp_path / "databases")
    server.start()
    return server


def database(name: str = "shop", connections: int = 10, *, retain: bool = False) -> Database:
    return Database(ObjectMeta(name=name, namespace="default"), DatabaseSpec(connections, retain))


def password(client: FakeClient) -> str:
    return client.get(Secret, NAME).data["password"].decode()


def test_database_is_created_with_the_password_of_the_secret_and_written_once(server: DatabaseServer) -> None:
    client, recorder = FakeClient(database()), FakeRecorder(10)
    reconciler = DatabaseReconciler(client, recorder, server=server)
    assert reconciler.reconcile_request(NAME) == AGAIN
    assert server.accounts() == {"default_shop": Account(password(client), 10)}
    assert client.get(Database, NAME).status.phase == "Ready"
    assert recorder.drain() == ["Normal Created database created"]
    client.clear_actions()
    assert reconciler.reconcile_request(NAME) == AGAIN
    assert (client.writes, recorder.drain()) == ([], [])


def test_changed_number_of_connections_keeps_the_password(server: DatabaseServer) -> None:
    client = FakeClient(database())
    reconciler = DatabaseReconciler(client, server=server)
    reconciler.reconcile_request(NAME)
    client.update(change(client.get(Database, NAME), lambda d: d.spec.connections).to(20))
    reconciler.reconcile_request(NAME)
    assert server.accounts() == {"default_shop": Account(password(client), 20)}


def test_lost_secret_gets_a_new_password_and_a_lost_database_that_of_the_secret(server: DatabaseServer) -> None:
    client = FakeClient(database())
    reconciler = DatabaseReconciler(client, server=server)
    reconciler.reconcile_request(NAME)
    first = password(client)
    client.delete(client.get(Secret, NAME))
    reconciler.reconcile_request(NAME)
    assert password(client) != first
    server.drop("default_shop")
    reconciler.reconcile_request(NAME)
    assert server.accounts() == {"default_shop": Account(password(client), 10)}


def test_server_that_is_down_is_an_error_to_retry(server: DatabaseServer) -> None:
    client = FakeClient(database())
    reconciler = DatabaseReconciler(client, server=server)
    server.stop()
    with pytest.raises(ServerUnavailable):
        reconciler.reconcile_request(NAME)
    assert client.get(Database, NAME).status.phase == ""
    server.start()
    reconciler.reconcile_request(NAME)
    assert client.get(Database, NAME).status.phase == "Ready"


def test_reserved_name_is_not_retried(server: DatabaseServer) -> None:
    client = FakeClient(database("admin"))
    with pytest.raises(TerminalError, match="name admin is reserved"):
        DatabaseReconciler(client, server=server).reconcile_request(ObjectName("default", "admin"))
    assert server.accounts() == {}


def test_secret_of_an_earlier_database_is_not_used(server: DatabaseServer) -> None:
    client = FakeClient(database())
    owner = client.get(Database, NAME)
    earlier = change(owner, lambda d: d.metadata.uid).to("earlier")
    client.create(Secret(metadata=meta_for(owner), data={"password": b"old"}), owner=earlier)
    with pytest.raises(AlreadyExists):
        DatabaseReconciler(client, server=server).reconcile_request(NAME)
    assert server.accounts() == {}


@pytest.mark.parametrize("retain", [False, True])
def test_deletion_drops_the_database_unless_it_is_to_be_retained(server: DatabaseServer, retain: bool) -> None:
    client = FakeClient(database(retain=retain))
    reconciler = DatabaseReconciler(client, server=server)
    reconciler.reconcile_request(NAME)
    assert client.get(Database, NAME).metadata.finalizers == (FINALIZER,)
    client.delete(client.get(Database, NAME))
    reconciler.reconcile_request(NAME)
    assert client.find(Database, NAME) is None
    assert list(server.accounts()) == (["default_shop"] if retain else [])


def properties(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of spec and status, the parts that both have."""
    [version] = definition["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]["properties"]
    return {part: schema[part]["properties"] for part in ("spec", "status")}


def test_types_describe_the_definition_of_the_original() -> None:
    [derived] = definitions_of(DatabaseReconciler, [])
    assert properties(derived) == properties(yaml.safe_load((EXAMPLE / "crd.yaml").read_text()))


@pytest.mark.parametrize("excerpt", re.findall(r"^ *```python\n(.*?)^ *```$", PAGE, re.MULTILINE | re.DOTALL))
def test_guide_shows_the_code_of_the_example(excerpt: str) -> None:
    assert excerpt in (EXAMPLE / "with_clientgo.py").read_text()


def test_guide_counts_the_lines_of_both_programs() -> None:
    original, successor = (
        sum(len((EXAMPLE / name).read_text().splitlines()) for name in names)
        for names in (("with_kopf.py", "crd.yaml"), ("with_clientgo.py",))
    )
    assert f"| lines, with the definition or types | {original} | {successor} |" in PAGE
