"""The sample controller, perturbed: a few plans of each kind, and all of them."""

import pytest

from clientgo.perturb import PerturbResults, PlanSelection, run_scenario
from clientgo.perturb.plans import PLANS
from clientgo.perturb.running import SMOKE_LIMIT
from tests.perturb.sample import SAMPLE


def unexpected(results: PerturbResults) -> list[str]:
    """Return the failures but for the known one: like client-go's, the sample does not delete a renamed Deployment."""
    return [
        result.verdict
        for result in results.failed
        if result.plan.kind != "transition" or "deploymentName" not in str(result.plan)
    ]


def test_sample_controller_survives_some_plans_of_each_kind() -> None:
    results = run_scenario(SAMPLE, PlanSelection(limit=SMOKE_LIMIT))
    assert unexpected(results) == []
    assert {result.plan.kind for result in results} >= PLANS.keys()


@pytest.mark.slow
def test_sample_controller_survives_every_plan() -> None:
    results = run_scenario(SAMPLE)
    assert unexpected(results) == []
    assert len(results) > 150
