"""A layer above informers and queues: one `Manager` that owns what controllers share, and a `reconcile` for each kind.

    manager = Manager(load_config(), options=Options(name="foo-manager"))
    controller(manager).for_(Foo).owns(Deployment).with_workers(2).complete(FooReconciler(manager))
    sys.exit(exit_code(lambda: manager.run(stop_on_signals())))

Predicates are in `clientgo.manager.predicates`.
"""

from clientgo.leaderelection import LeadershipLost
from clientgo.manager.builder import controller
from clientgo.manager.cache import ByObject, CacheNotSynced, CacheOptions
from clientgo.manager.client import ApiReader, Client
from clientgo.manager.conditions import (
    Condition,
    find_status_condition,
    is_status_condition_true,
    remove_status_condition,
    set_status_condition,
)
from clientgo.manager.controllers import Controller, ControllerOptions
from clientgo.manager.createorpatch import Outcome, create_or_patch
from clientgo.manager.exitcode import exit_code
from clientgo.manager.finalizers import Finalizer, has_finalizer, with_finalizer, without_finalizer
from clientgo.manager.manager import Manager
from clientgo.manager.options import LeaderElectionOptions, Options
from clientgo.manager.owners import (
    AlreadyOwnedError,
    has_controller_reference,
    remove_owner_reference,
    set_controller_reference,
    set_owner_reference,
)
from clientgo.manager.results import Reconciler, Result, TerminalError
from clientgo.manager.sources import Channel, FuncSource, InformerSource, KindSource
from clientgo.signals import stop_on_signals

__all__ = [
    "Manager", "Options", "LeaderElectionOptions", "LeadershipLost", "stop_on_signals", "exit_code",
    "CacheOptions", "ByObject", "CacheNotSynced", "Client", "ApiReader",
    "controller", "Controller", "ControllerOptions", "Reconciler", "Result", "TerminalError",
    "KindSource", "InformerSource", "Channel", "FuncSource",
    "Finalizer", "has_finalizer", "with_finalizer", "without_finalizer", "Outcome", "create_or_patch",
    "AlreadyOwnedError", "has_controller_reference", "remove_owner_reference", "set_controller_reference",
    "set_owner_reference",
    "Condition", "find_status_condition", "is_status_condition_true", "remove_status_condition", "set_status_condition",
]  # fmt: skip
