"""The sample controller, perturbed: a few plans of each kind, and all of them."""

import pytest

from clientgo.perturb import PlanSelection, run_scenario
from clientgo.perturb.plans import PLANS
from clientgo.perturb.running import SMOKE_LIMIT
from tests.perturb.sample import SAMPLE


def test_sample_controller_survives_some_plans_of_each_kind() -> None:
    results = run_scenario(SAMPLE, PlanSelection(limit=SMOKE_LIMIT))
    assert [result.verdict for result in results.failed] == []
    assert {result.plan.kind for result in results} >= PLANS.keys()


@pytest.mark.slow
def test_sample_controller_survives_every_plan() -> None:
    results = run_scenario(SAMPLE)
    assert [result.verdict for result in results.failed] == []
    assert len(results) > 150
