"""Perturbation tests of operators: crashes, stale caches, lost events and failed writes, in seconds and reproducible.

A test names the operator and what happens to it, and requires that no perturbation changes the outcome:

    from clientgo.perturb import change, create, delete, perturb

    perturb(FooReconciler, steps=[create(foo), change(foo, {"spec": {"replicas": 3}}), delete(foo)]).check()
"""

from clientgo.perturb.engine import PerturbResults, PlanResult
from clientgo.perturb.programs.inprocess import Standalone
from clientgo.perturb.programs.processes import OperatorCommand
from clientgo.perturb.record import ScenarioRun, Violation
from clientgo.perturb.running import PlanSelection, perturb, run_scenario
from clientgo.perturb.scenario import Outside, Scenario
from clientgo.perturb.state import ClusterState, ObjectRef
from clientgo.perturb.steps import (
    ScenarioStep,
    ScenarioUser,
    advance,
    call,
    change,
    create,
    delete,
    mark_ready,
    replace,
)

__all__ = [
    "perturb", "run_scenario", "Scenario", "PlanSelection", "Standalone", "OperatorCommand", "Outside",
    "PerturbResults", "PlanResult", "Violation", "ScenarioRun", "ObjectRef", "ClusterState",
    "ScenarioStep", "ScenarioUser", "create", "change", "replace", "delete", "advance", "mark_ready", "call",
]  # fmt: skip
