"""The suite: one API server for all tests, with the project's CRDs and webhooks; a manager for each test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from clientgo.envtest import Environment
from clientgo.errors import NotFound
from clientgo.lifecycle import Group
from clientgo.manager import Manager, Options
from clientgo.meta import ApiObject
from clientgo.rest import Config

# +clientgo:scaffold:imports

CONFIG = Path(__file__).parent.parent / "config"


def there(*places: str) -> list[Path]:
    """Those of these folders of config/ that the project has."""
    return [path for place in places if (path := CONFIG / place).exists()]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Config]:
    """An API server; a real one if USE_EXISTING_CLUSTER or KUBEBUILDER_ASSETS says so."""
    environment = Environment(crd_paths=there("crd/bases", "crd/patches"), webhook_paths=there("webhook"))
    with ExitStack() as stack:
        config = stack.enter_context(environment)
        # +clientgo:scaffold:webhooks
        yield config


@pytest.fixture
def manager(cluster: Config) -> Iterator[Manager]:
    """A manager without servers, which `started` starts."""
    made = Manager(cluster, options=Options(name="test"))
    yield made
    made.close()


@pytest.fixture
def created(manager: Manager) -> Iterator[list[ApiObject]]:
    """Objects to delete after the test, so that it can run again on the same cluster."""
    objects: list[ApiObject] = []
    yield objects
    for obj in objects:
        with suppress(NotFound):
            manager.client.delete(obj)


@pytest.fixture
def started(manager: Manager) -> Iterator[Callable[[], Manager]]:
    """Starts the manager, once its controllers are there; it ends with the test, which fails if it ends badly."""
    with Group() as group:

        def start() -> Manager:
            group.start(manager.run, group.stop_event, name="manager")
            return manager

        yield start
