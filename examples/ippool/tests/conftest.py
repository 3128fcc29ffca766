"""Fixtures: one API server for all tests, with the project's CRDs and webhooks, and a manager for each test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from clientgo.envtest import Environment
from clientgo.lifecycle import Group
from clientgo.manager import Manager, Options
from clientgo.meta import ApiObject
from clientgo.rest import Config

# +clientgo:scaffold:imports

CONFIG = Path(__file__).parent.parent / "config"


def existing(*places: str) -> list[Path]:
    """Return the folders of config/ that exist."""
    return [path for place in places if (path := CONFIG / place).exists()]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Config]:
    """An API server; USE_EXISTING_CLUSTER or KUBEBUILDER_ASSETS selects a real one."""
    crds = existing("crd/bases", "crd/external", "crd/patches")
    environment = Environment(crd_paths=crds, webhook_paths=existing("webhook"))
    with ExitStack() as stack:
        config = stack.enter_context(environment)
        # +clientgo:scaffold:webhooks
        yield config


@pytest.fixture
def manager(cluster: Config) -> Iterator[Manager]:
    """A manager without probe and metrics servers, started by `started`."""
    made = Manager(cluster, options=Options(name="test"))
    yield made
    made.close()


@pytest.fixture
def created(manager: Manager) -> Iterator[list[ApiObject]]:
    """Objects to delete after the test, so that the test can be repeated on the same cluster."""
    objects: list[ApiObject] = []
    yield objects
    for obj in objects:
        manager.client.delete(obj, missing_ok=True)


@pytest.fixture
def started(manager: Manager) -> Iterator[Callable[[], Manager]]:
    """A function that starts the manager. The manager stops with the test, and its errors fail the test."""
    with Group() as group:

        def start() -> Manager:
            group.start(manager.run, group.stop_event, name="manager")
            return manager

        yield start
