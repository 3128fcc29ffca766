"""Fixtures: one API server for all tests, with the project's CRDs and webhooks, and a manager for each test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from clientgo.envtest import BundledServer, Environment, Webhooks, server_from
from clientgo.envtest.accounts import ManagerAccount
from clientgo.manager import Client, DirectClient, Manager, Options
from clientgo.meta import ApiObject, object_name
from clientgo.rest import RESTClient
from clientgo.stop import Group
from clientgo.testing.eventually import eventually

# +clientgo:scaffold:imports

pytest_plugins = ["clientgo.perturb.pytest_plugin"]

if find_spec("freezegun"):
    # `freeze_time` reads every attribute of every loaded module; the classes of these two cannot be built while it does.
    import_module("freezegun").configure(extend_ignore_list=["kubernetes", "pydantic"])

CONFIG = Path(__file__).parent.parent / "config"


def existing(*folders: str) -> list[Path]:
    """Return the folders of config/ that exist."""
    return [path for folder in folders if (path := CONFIG / folder).exists()]


@pytest.fixture(scope="session")
def environment() -> Iterator[Environment]:
    """An API server with RBAC; USE_EXISTING_CLUSTER or KUBEBUILDER_ASSETS selects a real one."""
    environment = Environment(
        crd_paths=existing("crd/bases", "crd/external", "crd/patches"),
        webhooks=Webhooks(existing("webhook")),
        server=server_from(bundled=BundledServer(secure=True, owner_references_permissions=True)),
    )
    with ExitStack() as stack:
        stack.enter_context(environment)
        # +clientgo:scaffold:webhooks
        yield environment


@pytest.fixture(scope="session")
def account(environment: Environment) -> Iterator[ManagerAccount]:
    """The manager's service account, with the role that `make manifests` generates from `@rbac`."""
    with ManagerAccount(environment, CONFIG / "rbac" / "role.yaml") as account:
        yield account


@pytest.fixture
def manager(account: ManagerAccount) -> Iterator[Manager]:
    """A manager without probe and metrics servers, started by `started`; a missing permission fails the test."""
    with account.client() as client, closing(Manager(client, options=Options(name="test"))) as test_manager:
        yield test_manager


@pytest.fixture
def client(environment: Environment) -> Iterator[Client]:
    """A client of the cluster's administrator, without a cache."""
    with closing(RESTClient(environment.config)) as requester:
        yield DirectClient(requester)


@pytest.fixture
def created(client: Client, request: pytest.FixtureRequest) -> Iterator[list[ApiObject]]:
    """Objects to delete after the test, the last one first, so that the test can be repeated on the same cluster."""
    objects: list[ApiObject] = []
    yield objects
    for obj in reversed(objects):
        client.delete(obj, missing_ok=True)
        if "started" in request.fixturenames:  # only a running manager removes finalizers
            eventually(partial(is_finalized, client, obj))


def is_finalized(client: Client, obj: ApiObject) -> bool:
    """Report whether an object is gone, or nothing but the server holds it."""
    stored = client.find(type(obj), object_name(obj))
    return stored is None or not stored.metadata.finalizers


@pytest.fixture
def started(manager: Manager) -> Iterator[Callable[[], Manager]]:
    """A function that starts the manager, which stops with the test; an error that ends it fails the test.

    Errors of reconcilers and map functions are logged, and tried again.
    """
    with Group() as group:

        def start() -> Manager:
            group.start(manager.run, group.stop_event, name="manager")
            return manager

        yield start
