"""Controller manager: one `Manager` owns what controllers share, and calls `reconcile` for each object that changes.

    manager = Manager(load_config(), options=Options(name="foo-manager"))
    controller(manager).for_(Foo).owns(Deployment).with_workers(2).complete(FooReconciler(manager))
    sys.exit(exit_code(lambda: manager.run(stop_on_signals())))

`Manager` runs controllers and other runnables. It has a `Client`, which reads from the cache and writes to the server,
and a `Cluster` for each API server. `controller(manager)` builds a `Controller` from event sources, predicates
(`clientgo.manager.predicates`), map functions and a `Reconciler`, which receives names and returns a `Result`. Helpers
for reconcilers: finalizers, owner references, conditions, `create_or_patch`.
"""

from clientgo.coordination import LeaderElectionOptions
from clientgo.leaderelection import LeadershipLost
from clientgo.lifecycle import exit_code
from clientgo.manager.builder import controller
from clientgo.manager.cache import CacheNotSynced
from clientgo.manager.client import Client
from clientgo.manager.cluster import Cluster
from clientgo.manager.conditions import (
    Condition,
    find_status_condition,
    is_status_condition_true,
    remove_status_condition,
    set_status_condition,
)
from clientgo.manager.controllers import Controller, ControllerOptions, Reconciler, Result, TerminalError
from clientgo.manager.createorpatch import OperationResult, create_or_patch, create_or_update
from clientgo.manager.finalizers import Finalizer, Finalizers, has_finalizer, with_finalizer, without_finalizer
from clientgo.manager.kinds import ApiReader
from clientgo.manager.manager import Manager
from clientgo.manager.options import ByObject, CacheOptions, ClusterOptions, Options
from clientgo.manager.owners import (
    AlreadyOwnedError,
    has_controller_reference,
    remove_owner_reference,
    set_controller_reference,
    set_owner_reference,
)
from clientgo.manager.sources import Channel, FuncSource, InformerSource, KindSource, MapFuncs
from clientgo.signals import stop_on_signals

__all__ = [
    "Manager", "Options", "LeaderElectionOptions", "LeadershipLost", "stop_on_signals", "exit_code",
    "CacheOptions", "ByObject", "CacheNotSynced", "Client", "ApiReader", "Cluster", "ClusterOptions",
    "controller", "Controller", "ControllerOptions", "Reconciler", "Result", "TerminalError",
    "KindSource", "InformerSource", "Channel", "FuncSource", "MapFuncs",
    "Finalizer", "Finalizers", "has_finalizer", "with_finalizer", "without_finalizer",
    "OperationResult", "create_or_patch", "create_or_update",
    "AlreadyOwnedError", "has_controller_reference", "remove_owner_reference", "set_controller_reference",
    "set_owner_reference",
    "Condition", "find_status_condition", "is_status_condition_true", "remove_status_condition", "set_status_condition",
]  # fmt: skip
