"""Reports of perturbations: causes, timelines, the page, JUnit XML, and shorter forms of a failure."""

import xml.etree.ElementTree as ET

import pytest

from clientgo.perturb import PerturbResults, PlanResult, Scenario, ScenarioRun, change, create, delete, perturb
from clientgo.perturb.compare import Masks
from clientgo.perturb.kinds.rehearsal import EXPECTED_FROM
from clientgo.perturb.oracles.judged import Judged
from clientgo.perturb.oracles.table import ORACLES
from clientgo.perturb.page import page
from clientgo.perturb.plans import Plan
from clientgo.perturb.record import TimelineEntry, Violation
from clientgo.perturb.report import groups, junit, progress, summary, timeline
from clientgo.perturb.running import shrunk
from clientgo.perturb.state import ClusterState
from tests.perturb.greetings import Correct, StatusFirst, greeting

STEPS = [create(greeting()), change(greeting(), {"spec": {"text": "goodbye"}}), delete(greeting())]


@pytest.fixture(scope="module")
def failures() -> PerturbResults:
    return perturb(StatusFirst, STEPS, only=["crash-before", "crash-stored"], name="status first")


def _failed(results: PerturbResults, plan: str) -> PlanResult:
    return next(result for result in results.failed if str(result.plan) == plan)


def test_failures_of_one_cause_are_one_group(failures: PerturbResults) -> None:
    causes = [[str(result.plan) for result in group] for group in groups(failures.results)]
    assert causes == [["crash-before:2", "crash-stored:1"], ["crash-before:4", "crash-stored:3"]]


def test_summary_explains_each_cause_and_how_to_repeat_it(failures: PerturbResults) -> None:
    text = summary(failures, command="clientgo perturb scenario.py{steps} --plan {plan}")
    assert "Cause 1: 2 plans\n  crash-before:2: the operator crashes before a write is sent" in text
    assert "final-state (the state after each step equals the reference's)" in text
    assert "- configmaps default/a is missing" in text
    assert "✗       operator crashes before write 2 is sent" in text
    assert "Repeat it: clientgo perturb scenario.py --plan crash-before:2\n  Also: crash-stored:1" in text
    assert text.splitlines()[-1].startswith("4 of 9 plans failed in ")


def test_long_timeline_begins_before_the_first_step_of_the_plan_and_says_what_is_left_out() -> None:
    run = ScenarioRun(["create greeting a", "change greeting a", "change text = 'b'"])
    for step, name in enumerate(run.steps):
        run.trace.append(TimelineEntry(step, step, "step", f"step {step + 1}: {name}"))
        run.trace += [TimelineEntry(step, step, "read", "GET")] * 100
    lines = timeline(run, Scenario(Correct, STEPS[:2]))
    assert lines[0] == "… 190 earlier entries are left out"
    assert "step 3: change text = 'b'" in lines[1 + 12]
    assert lines[-1] == "… 53 later entries are left out"


def test_progress_has_one_line_per_plan(failures: PerturbResults) -> None:
    reference, *_ = failures
    assert progress(reference, 1, 9, 3.2) == "[1/9, 3 s left] ok   reference"
    assert progress(_failed(failures, "crash-before:2"), 9, 9, 0.0).startswith(
        "[9/9] FAIL crash-before:2: final-state: after step 1"
    )


def test_junit_has_a_case_for_each_plan(failures: PerturbResults) -> None:
    suite = ET.fromstring(junit(failures))
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("status first", "9", "4")
    failed = {case.get("name"): failure.get("type") for case in suite for failure in case}
    assert failed["crash-before:2"] == "final-state"


def test_plans_that_show_nothing_are_counted_with_their_reason() -> None:
    plan = "crossed:greetings.greetings.example.com:default/a:text#1:error-500:9"
    results = perturb(Correct, STEPS, plans=["reference", plan])
    reason = "the operator makes fewer writes after the change"
    assert progress(results.results[1], 2, 2, 0.0) == f"[2/2] n/a  {plan}: not applicable: {reason}"
    text = summary(results)
    assert f"so that they show nothing about the operator:\n  1 plan of crossed: {reason}\n" in text
    assert "2 plans passed, 1 of them not applicable in " in text
    suite = ET.fromstring(junit(results))
    assert (suite.get("skipped"), [each.get("message") for each in suite.iter("skipped")]) == ("1", [reason])


class Unwatched(Correct, owns=[]):
    """Does not watch the child that it owns."""


def test_children_that_are_owned_and_not_watched_are_named() -> None:
    text = "Created with an owner, and not watched (owns=):\n  configmaps: what others change or delete is not noticed"
    assert text in summary(perturb(Unwatched, STEPS, plans=["reference"]))
    assert "not watched" not in summary(perturb(Correct, STEPS, plans=["reference"]))


def test_page_is_one_file_with_a_picture_of_each_cause(failures: PerturbResults) -> None:
    html = page(failures, "clientgo perturb scenario.py")
    assert html.count("<svg") == 2
    assert "http" not in html
    assert "operator crashes before write 2 is sent" in html
    assert "<!--" not in html
    assert "<svg" in page(perturb(Correct, STEPS, plans=["reference"]))


def test_what_is_lost_outside_is_absent() -> None:
    runs = [ScenarioRun(["create greeting a"], states=[ClusterState({})], outside=[state]) for state in ({"a": 1}, {})]
    [finding] = ORACLES["outside"].check(Judged(runs[1], runs[0], Masks(), {}, is_blind=False))
    assert str(finding).endswith("the state outside the cluster differs: a: - 1 + absent")


def test_failure_is_shrunk_to_the_steps_that_it_needs(failures: PerturbResults) -> None:
    steps, result = shrunk(failures.scenario, _failed(failures, "crash-stored:3"))
    assert (steps, str(result.plan)) == ([1], "crash-stored:1")


def test_causes_differ_in_all_that_differs_without_their_steps() -> None:
    first = "+ configmaps default/a is there, and should not be"
    details = [(first,), (first, "- secrets default/a is missing"), (first, f"{EXPECTED_FROM}create greeting a")]
    results = [
        PlanResult(Plan("down", (str(number),)), (Violation("final-state", "differs", lines),), ScenarioRun([]))
        for number, lines in enumerate(details)
    ]
    assert [[str(result.plan) for result in group] for group in groups(results)] == [["down:0", "down:2"], ["down:1"]]
