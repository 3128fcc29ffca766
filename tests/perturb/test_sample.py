"""The sample controller, perturbed, alone and as one of several replicas: a few plans of each kind, and all of them."""

import pytest

from clientgo.perturb import PlanSelection, Scenario, run_scenario
from clientgo.perturb.plans import PLANS, TRANSITION, VARIATIONS
from clientgo.perturb.running import SMOKE_LIMIT
from tests.perturb.sample import ELECTED, SAMPLE, SHARDED

replicas = pytest.mark.parametrize("scenario", [SAMPLE, SHARDED, ELECTED], ids=lambda scenario: scenario.name)


@replicas
def test_sample_controller_survives_some_plans_of_each_kind(scenario: Scenario) -> None:
    results = run_scenario(scenario, PlanSelection(limit=SMOKE_LIMIT))
    assert [result.verdict for result in results.failed] == []
    # The scenario ends without objects, which the other variations need.
    assert {result.plan.kind for result in results} >= PLANS.keys() - VARIATIONS.keys() | {TRANSITION}


@pytest.mark.slow
@replicas
def test_sample_controller_survives_every_plan(scenario: Scenario) -> None:
    results = run_scenario(scenario)
    assert [result.verdict for result in results.failed] == []
    assert len(results) > 150
