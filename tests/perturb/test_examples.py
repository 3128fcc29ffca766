"""The examples, perturbed."""

from dataclasses import replace

import pytest

from clientgo.kubernetes.types.core_v1 import ConfigMap, Namespace
from clientgo.meta import ObjectMeta
from clientgo.perturb import PlanSelection, Scenario, change, create, delete, run_scenario
from clientgo.perturb.running import SMOKE_LIMIT
from controller.api.v1alpha1 import Foo, FooSpec
from examples.async_foo_manager import AsyncFooReconciler
from examples.configmap_syncer import TO, ConfigMapSyncer
from examples.database.scenarios import CLIENTGO, KOPF
from examples.foo_manager import FooReconciler

FOO = Foo(metadata=ObjectMeta(name="a", namespace="default"), spec=FooSpec(deployment_name="a", replicas=1))
CONFIG = ConfigMap(metadata=ObjectMeta(name="c", namespace="default", annotations={TO: "team=x"}), data={"a": "1"})
LABELS = {"metadata": {"labels": {"team": "x"}}}

FOO_STEPS = [
    create(FOO),
    change(FOO, {"spec": {"replicas": 3}}),
    change(FOO, {"spec": {"deploymentName": "b"}}),
    delete(FOO),
    create(FOO),
    delete(FOO),
]

SCENARIOS = [
    Scenario(FooReconciler, FOO_STEPS, name="foo_manager"),
    Scenario(
        ConfigMapSyncer,
        [
            create(Namespace(metadata=ObjectMeta(name="one")), Namespace(metadata=ObjectMeta(name="two"))),
            create(CONFIG),
            change(Namespace(metadata=ObjectMeta(name="one")), LABELS),
            change(CONFIG, {"data": {"a": "2"}}),
            change(CONFIG, {"metadata": {"annotations": {TO: None}}}),
            delete(CONFIG),
        ],
        name="configmap_syncer",
    ),
    replace(CLIENTGO, name="database"),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_example_survives_some_plans_of_each_kind(scenario: Scenario) -> None:
    results = run_scenario(scenario, PlanSelection(limit=SMOKE_LIMIT))
    assert [result.verdict for result in results.failed] == []
    assert len(results) > 20


@pytest.mark.slow
def test_example_with_coroutines_survives_some_plans_of_each_kind() -> None:
    scenario = Scenario(AsyncFooReconciler, FOO_STEPS, name="async_foo_manager")
    results = run_scenario(scenario, PlanSelection(limit=SMOKE_LIMIT))
    assert [result.verdict for result in results.failed] == []
    assert len(results) > 20


@pytest.mark.slow
@pytest.mark.e2e
@pytest.mark.timeout(600)  # the operator's time is real, and it is given another minute to look again
def test_kopf_original_of_the_database_example_does_not_survive_a_crash_between_its_writes() -> None:
    pytest.importorskip("kopf", reason="kopf is not installed: pip install kopf")
    selection = PlanSelection(plans=["reference", "crash-before:2"], steps=[1])
    reference, crash = run_scenario(KOPF, selection)
    assert (reference.verdict, crash.findings[0].oracle) == ("reference: ok", "final-state")
    assert "- secrets default/shop is missing" in crash.findings[0].details


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_example_survives_every_plan(scenario: Scenario) -> None:
    assert [result.verdict for result in run_scenario(scenario).failed] == []
