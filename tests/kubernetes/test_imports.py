"""Imports of built-in groups: importing one does not import others."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.e2e

FOUNDATION = {"pods", "volumes", "core_events", "shared", "factory"}


def loaded_by(*statements: str) -> set[str]:
    """Return the modules (not packages) of clientgo.kubernetes that these statements import."""
    lines = [*statements, "import sys", "print(*[m for m in sys.modules if m.startswith('clientgo.kubernetes.')])"]
    result = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True, timeout=60
    )
    names = {name.removeprefix("clientgo.kubernetes.") for name in result.stdout.split()}
    return {name for name in names if "." in name}


@pytest.mark.parametrize("group", ["apps_v1", "core_v1", "coordination_v1", "events_v1", "autoscaling_v2"])
def test_group_loads_no_other(group: str) -> None:
    layers = [f"import clientgo.kubernetes.{item}.{group}" for item in ("types", "clients", "listers", "informers")]
    loaded = {name.split(".")[1] for name in loaded_by(*layers)}
    assert loaded - FOUNDATION == {group}


def test_lease_needs_no_pods() -> None:
    assert loaded_by("import clientgo.kubernetes.types.coordination_v1") == {"types.coordination_v1"}


def test_event_recorder_does_not_load_all_of_the_core_group() -> None:
    loaded = loaded_by("import clientgo.record.recorder, clientgo.record.broadcaster, clientgo.record.sinks")
    assert loaded == {"types.core_events", "types.shared"}


def test_the_clientset_imports_a_group_on_first_use() -> None:
    assert loaded_by("import clientgo.kubernetes.clientset") == set()
    requested = (
        "from clientgo.kubernetes.clientset import Clientset; from clientgo.rest import Config;"
        "Clientset(Config('http://server')).coordination_v1"
    )
    assert loaded_by(requested) == {"clients.coordination_v1", "types.coordination_v1"}


def test_the_factory_imports_a_group_on_first_use() -> None:
    assert loaded_by("import clientgo.kubernetes.informers") == set()
    assert loaded_by("from clientgo.kubernetes.informers import SharedInformerFactory") == {"informers.factory"}
