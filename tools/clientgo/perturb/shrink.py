"""Shorter forms of a failing plan: fewer steps of the scenario, and a plan that fails in the same way with them."""

from dataclasses import replace

from clientgo.perturb.engine import Engine, PlanResult, Scenario
from clientgo.perturb.plans import REFERENCE, TRANSITION

MAX_RUNS = 60
_PER_STEP = 12


def shrunk(scenario: Scenario, result: PlanResult, budget: int = MAX_RUNS) -> tuple[list[int], PlanResult]:
    """Return the numbers of the steps that are needed, from 1, and the result with only these.

    A step is left out if the plan, or another one of its kind, still fails by the same oracle without it.
    """
    steps = list(range(1, len(scenario.steps) + 1))
    if result.plan.kind == TRANSITION or not result.findings:
        return steps, result
    for number in reversed(steps[:]):
        fewer = [step for step in steps if step != number]
        if not fewer or budget <= 0:
            break
        shorter, runs = _failing(replace(scenario, steps=[scenario.steps[step - 1] for step in fewer]), result)
        budget -= runs
        if shorter is not None:
            steps, result = fewer, shorter
    return steps, result


def _failing(scenario: Scenario, result: PlanResult) -> tuple[PlanResult | None, int]:
    engine, oracle = Engine(scenario), result.findings[0].oracle
    reference = engine.result(REFERENCE)
    if reference.findings:
        same = result.plan == REFERENCE and reference.findings[0].oracle == oracle
        return (reference if same else None), 2
    runs = 2
    candidates = [] if result.plan == REFERENCE else engine.plans([result.plan.kind], _PER_STEP)[1:]
    for plan in sorted(candidates, key=lambda plan: plan != result.plan):
        runs += 1
        shorter = engine.result(plan)
        if shorter.findings and shorter.findings[0].oracle == oracle:
            return shorter, runs
    return None, runs
