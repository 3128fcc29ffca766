"""Controller manager: one `Manager` owns what controllers share, and calls `reconcile` for each object that changes.

    class FooReconciler(Reconciler[Foo], owns=[Deployment], workers=2):
        def reconcile(self, foo: Foo) -> Result | None:
            self.client.apply(deployment_for(foo), owner=foo)
            return None

    if __name__ == "__main__":
        run(FooReconciler)

`run` is a program: flags, logging, signals, exit code. `Manager` runs controllers and other runnables. It has a
`Client`, which reads from the cache and writes to the server, and a `Cluster` for each API server. `ControllerBuilder`
builds a `Controller` of event sources, predicates (`clientgo.manager.predicates`), map functions and a
`RequestReconciler`, which receives names. Helpers: finalizers, owner references, conditions, `create_or_patch`.
"""

from clientgo.coordination import LeaderElectionOptions
from clientgo.internal.cron import CronSchedule
from clientgo.leaderelection import LeadershipLost
from clientgo.manager.builder import ControllerBuilder
from clientgo.manager.cache import CacheNotSynced, NotIndexed
from clientgo.manager.client import Client, DirectClient
from clientgo.manager.cluster import Cluster
from clientgo.manager.conditions import (
    Condition,
    find_status_condition,
    is_status_condition_true,
    remove_status_condition,
    set_status_condition,
)
from clientgo.manager.controllers import Controller, ControllerOptions, RequestReconciler
from clientgo.manager.createorpatch import OperationResult, create_or_patch, create_or_update
from clientgo.manager.eventhandlers import MapFuncs
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
from clientgo.manager.program import ManagerFlags, run
from clientgo.manager.reconciler import Reconciler, ReconcilerOptions
from clientgo.manager.sources import Channel, FuncSource, InformerSource, KindSource
from clientgo.reconcile.workers import GaveUp, Result, TerminalError
from clientgo.stop.lifecycle import exit_code
from clientgo.stop.signals import stop_on_signals

__all__ = [
    "Manager", "Options", "LeaderElectionOptions", "LeadershipLost", "stop_on_signals", "exit_code",
    "CacheOptions", "ByObject", "CacheNotSynced", "NotIndexed",
    "Client", "DirectClient", "ApiReader", "Cluster", "ClusterOptions",
    "run", "ManagerFlags", "Reconciler", "RequestReconciler", "Result", "CronSchedule", "TerminalError", "GaveUp",
    "Controller", "ControllerBuilder", "ControllerOptions", "ReconcilerOptions",
    "KindSource", "InformerSource", "Channel", "FuncSource", "MapFuncs",
    "Finalizer", "Finalizers", "has_finalizer", "with_finalizer", "without_finalizer",
    "OperationResult", "create_or_patch", "create_or_update",
    "AlreadyOwnedError", "has_controller_reference", "remove_owner_reference", "set_controller_reference",
    "set_owner_reference",
    "Condition", "find_status_condition", "is_status_condition_true", "remove_status_condition", "set_status_condition",
]  # fmt: skip
