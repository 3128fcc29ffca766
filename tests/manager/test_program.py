"""Programs around a manager: flags, preflight checks and exit codes."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from clientgo.errors import ConfigError
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import (
    CacheOptions,
    ClusterOptions,
    LeaderElectionOptions,
    Manager,
    ManagerFlags,
    Options,
    Reconciler,
)
from clientgo.manager.program import named_options, required_resources, run_manager
from clientgo.program.commandline import FlagParser
from clientgo.program.flags import Address
from clientgo.rest import Config
from controller.api.v1alpha1 import Foo
from tests.manager.managed import fake, manager_of


class Owning(Reconciler[Foo], owns=[ConfigMap]):
    def reconcile(self, foo: Foo) -> None:
        pass


def parsed(*arguments: str, defaults: ManagerFlags | None = None) -> ManagerFlags:
    return FlagParser(defaults or ManagerFlags(), prog="greeter", description="").parse(arguments)


def test_flags_become_options_of_the_manager() -> None:
    cluster = ClusterOptions(name="greeter", cache=CacheOptions(resync=5.0))
    flags = parsed("-n", "a", "--namespace=b", "--leader-elect", "--workers=4", "--health-probe-bind-address=:8081")
    options = flags.options(cluster)
    assert options.leader_election == LeaderElectionOptions(id="greeter")
    assert options.cache == CacheOptions(resync=5.0, namespaces=("a", "b"))
    selecting = ClusterOptions(name="greeter", cache=CacheOptions(namespace_selector="team=a"))
    assert flags.options(selecting).cache == CacheOptions(namespaces=("a", "b"))
    assert (options.name, options.workers, options.health_probe_bind_address) == ("greeter", 4, Address("", 8081))


def test_options_of_a_program_get_its_name() -> None:
    caching = ClusterOptions(cache_unstructured=True)
    assert named_options(caching, "", "script") == replace(caching, name="script")
    assert named_options(caching, "greeter", "script") == replace(caching, name="greeter")
    assert named_options(None, "greeter", "script").name == "greeter"
    assert named_options(ClusterOptions(name="greeter"), "", "script").name == "greeter"
    with pytest.raises(ConfigError, match="two names, 'greeter' and that of its options, 'other': give one"):
        named_options(ClusterOptions(name="other"), "greeter", "script")
    with pytest.raises(ConfigError, match=r"expected ClusterOptions\(\.\.\.\), as the other options of a manager are"):
        named_options(Options(workers=2), "", "script")


def test_defaults_of_flags_are_those_of_the_program() -> None:
    manager_flags = ManagerFlags(health_probe_bind_address=Address("", 8081), namespaces=("a",))
    assert parsed(defaults=manager_flags) == manager_flags
    assert parsed("-n", "b", "--health-probe-bind-address=0", defaults=manager_flags) == replace(
        manager_flags, namespaces=("b",), health_probe_bind_address=None
    )


def test_required_resources_are_the_kinds_that_controllers_watch() -> None:
    manager = manager_of(fake(), cache=CacheOptions(namespaces=("ns",)))
    manager.add_reconciler(Owning)
    required = required_resources(manager)
    assert [item.resource for item in required] == ["foos.samplecontroller.k8s.io", "configmaps"]
    assert [entry.request() for entry in required] == [[], []]
    manager.close()


def test_function_adds_parts_to_the_manager_and_nothing_runs_once_stopped() -> None:
    added: list[tuple[Manager, ManagerFlags]] = []

    def add(manager: Manager, flags: ManagerFlags) -> None:
        added.append((manager, flags))

    stop = threading.Event()
    stop.set()
    flags = ManagerFlags(workers=3)
    run_manager([add, Owning], flags, Config("http://127.0.0.1:9"), ClusterOptions(name="x"), stop)
    [(manager, arguments)] = added
    assert (manager.options.name, arguments) == ("x", flags)
    other = manager_of(fake())
    other.add_reconciler(Owning)  # the name of the controller is free again
    other.close()


def test_function_with_other_arguments_is_an_error_that_names_them() -> None:
    def add(manager: Manager) -> None:
        """Add nothing."""

    setups: list[Any] = [add]
    with pytest.raises(ConfigError, match=r"add must have the arguments \(manager, flags\)"):
        run_manager(setups, ManagerFlags(), Config("http://127.0.0.1:1"), ClusterOptions(name="it"), threading.Event())
