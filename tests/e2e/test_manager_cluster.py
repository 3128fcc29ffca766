"""Manager against a real API server: kinds whose definitions come and go."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from clientgo.envtest import Environment
from clientgo.envtest.crds import install, uninstall
from clientgo.errors import NotFound
from clientgo.manager import ControllerBuilder, Manager
from clientgo.meta import ObjectMeta, ObjectName, api_type
from clientgo.rest import Config
from clientgo.stop.lifecycle import Group
from clientgo.testing.eventually import eventually
from tests.definitions import custom_kind
from tests.e2e.clusters import namespace

pytestmark = pytest.mark.integration

CRDS = Path(__file__).parent.parent.parent / "artifacts" / "crd"
GROUP = "gizmos.example.com"


@pytest.fixture(scope="module")
def config() -> Iterator[Config]:
    environment = Environment(crd_paths=[CRDS])
    try:
        yield environment.start()
    finally:
        environment.stop()


@contextmanager
def running(*managers: Manager) -> Iterator[None]:
    with Group() as group:
        for item in managers:
            group.start(item.run, group.stop_event, name="manager")
        for item in managers:
            assert item.elected.wait(60.0)
        yield


@dataclass(frozen=True, slots=True)
class GizmoSpec:
    size: int = 1


@api_type(group=GROUP, version="v1", status=False)
@dataclass(frozen=True, slots=True)
class Gizmo:
    metadata: ObjectMeta
    spec: GizmoSpec = GizmoSpec()


@api_type(group=GROUP, version="v1", scope="Cluster", status=False)
@dataclass(frozen=True, slots=True)
class Zone:
    metadata: ObjectMeta
    spec: GizmoSpec = GizmoSpec()


@pytest.mark.feature("A-17")
def test_kinds_of_both_scopes_are_there_while_their_definitions_are(config: Config) -> None:
    crds = [custom_kind("Gizmo", GROUP, "v1"), custom_kind("Zone", GROUP, "v1", scope="Cluster")]
    manager, seen = Manager(config), set[ObjectName]()
    for cls in (Gizmo, Zone):
        ControllerBuilder(manager).for_(cls).complete(seen.add)
    install(manager.requester, crds)
    with namespace(config, "gizmos") as space, running(manager):
        manager.client.create(Gizmo(ObjectMeta(name="a", namespace=space)))
        manager.client.create(Zone(ObjectMeta(name="a")))
        eventually(lambda: seen, lambda result: result == {ObjectName(space, "a"), ObjectName("", "a")}, seconds=30.0)
        with pytest.raises(ValueError, match="a Zone cannot have a namespace"):
            manager.client.get(Zone, ObjectName(space, "a"))
        uninstall(manager.requester, crds)
        eventually(lambda: is_gone(lambda: manager.api_reader.list(Zone)), seconds=30.0)
        install(manager.requester, crds)
        eventually(lambda: manager.api_reader.list(Gizmo) == [], seconds=30.0)
        uninstall(manager.requester, crds)


def is_gone(call: Callable[[], object]) -> bool:
    try:
        call()
    except NotFound:
        return True
    return False
