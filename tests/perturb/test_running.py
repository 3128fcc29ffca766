"""Selections of plans: shards, steps, time limits, and several processes."""

import gc
import os

import pytest

from clientgo.errors import ConfigError
from clientgo.perturb import PlanSelection, Scenario, change, create, delete, run_scenario
from tests.perturb.greetings import Correct, StatusFirst, greeting

STEPS = [create(greeting()), change(greeting(), {"spec": {"text": "goodbye"}}), delete(greeting())]


def names(selection: PlanSelection, operator: type = Correct) -> list[str]:
    return [str(result.plan) for result in run_scenario(Scenario(operator, STEPS), selection)]


def test_shards_have_all_plans_together_and_the_reference_each() -> None:
    kinds = ["crash-before", "down"]
    every = names(PlanSelection(only=kinds))
    first, second = (names(PlanSelection(only=kinds, shard=(part, 2))) for part in (1, 2))
    assert first[0] == second[0] == "reference"
    assert sorted(first[1:] + second[1:]) == sorted(every[1:])


def test_no_plan_begins_after_the_time_and_those_left_out_are_counted() -> None:
    results = run_scenario(Scenario(Correct, STEPS), PlanSelection(only=["crash-before"], max_time=1e-6))
    assert [str(result.plan) for result in results] == ["reference"]
    assert results.left_out == 8


def test_steps_are_chosen_by_number() -> None:
    assert names(PlanSelection(only=["down"], steps=[1, 3])) == ["reference", "down:2"]
    with pytest.raises(ConfigError, match="invalid step 4: scenario scenario has 3 steps"):
        names(PlanSelection(steps=[4]))


def test_invalid_selections_are_rejected() -> None:
    with pytest.raises(ConfigError, match="invalid shard 3/2: expected 1/2 to 2/2"):
        PlanSelection(shard=(3, 2))
    with pytest.raises(ConfigError, match="invalid kind of plan 'crush'"):
        PlanSelection(only=["crush"])


@pytest.mark.e2e
def test_several_processes_find_the_same() -> None:
    scenario, kinds = Scenario(StatusFirst, STEPS), ["crash-before", "crash-stored", "refused"]
    local = run_scenario(scenario, PlanSelection(only=kinds))
    lines: list[tuple[int, int]] = []
    existing = run_scenario(
        scenario,
        PlanSelection(only=kinds, processes=2),
        lambda result, done, total, remaining: lines.append((done, total)),
    )
    assert [result.verdict for result in existing] == [result.verdict for result in local]
    assert len(existing.not_applicable) == 2
    assert lines == [(number, len(local)) for number in range(1, len(local) + 1)]


def test_objects_that_the_program_has_frozen_stay_frozen() -> None:
    frozen: list[object] = []
    gc.freeze()
    assert names(PlanSelection(plans=["reference"])) == ["reference"]
    assert all(each is not frozen for each in gc.get_objects()), "the collector looks at no frozen object"


@pytest.mark.e2e
def test_error_in_another_process_names_the_plan_and_the_place() -> None:
    parent = os.getpid()

    class Broken:
        def reset(self) -> None:
            if os.getpid() != parent:
                raise LookupError("elsewhere")

        def state(self) -> dict[str, str]:
            return {}

    scenario = Scenario(Correct, STEPS, outside=Broken())
    with pytest.raises(RuntimeError, match=r"(?s)in reset.*LookupError: elsewhere\nin plan crash-before"):
        run_scenario(scenario, PlanSelection(only=["crash-before"], processes=2))
