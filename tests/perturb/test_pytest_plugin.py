"""The pytest plugin: one test per plan, with the failing plan's report."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.e2e

TEST = """
from clientgo.perturb import create
from tests.perturb.greetings import Correct, StatusFirst, greeting

def test_correct(perturb):
    perturb(Correct, steps=[create(greeting())])

class TestBroken:
    def test_status_first(self, perturb):
        perturb(StatusFirst, steps=[create(greeting())])
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    root = Path(__file__).parents[2]
    pytester.makeconftest('pytest_plugins = ["clientgo.perturb.pytest_plugin"]')
    pytester.makeini(f"[pytest]\npythonpath = {root}")
    return pytester


def test_each_plan_is_a_test(project: pytest.Pytester) -> None:
    project.makepyfile(TEST)
    result = project.runpytest_subprocess("-q", "-p", "no:cacheprovider", "-k", "(crash or reference) and not crossed")
    result.assert_outcomes(passed=12, failed=4, deselected=result.parseoutcomes()["deselected"])
    result.stdout.fnmatch_lines(
        ["*crash-*: the operator crashes *", "*final-state (the state after each step equals the reference's)"]
    )
    result.stdout.fnmatch_lines(["*Repeat it: pytest '*TestBroken::test_status_first[[]crash-before:2[]]'*"])


def test_all_plans_run_on_demand(project: pytest.Pytester) -> None:
    project.makepyfile(TEST)
    some, every = (project.runpytest_subprocess("-q", "--collect-only", *more) for more in ([], ["--perturb=all"]))
    assert sum("test_correct[" in line for line in every.outlines) > sum(
        "test_correct[" in line for line in some.outlines
    )


def test_failure_among_all_plans_is_repeated_among_them(project: pytest.Pytester) -> None:
    project.makepyfile(TEST)
    result = project.runpytest_subprocess("-q", "--perturb=all", "-k", "TestBroken and crash-before")
    result.stdout.fnmatch_lines(
        ["*Repeat it: pytest '*TestBroken::test_status_first[[]crash-before:2[]]' --perturb=all"]
    )


def test_plan_that_shows_nothing_is_skipped_with_its_reason(project: pytest.Pytester) -> None:
    project.makepyfile(TEST)
    result = project.runpytest_subprocess("-q", "-rs", "--perturb=all", "-k", "test_correct and refused")
    result.stdout.fnmatch_lines(["SKIPPED*not applicable: the server refuses nothing that the operator writes"])


def test_scenario_is_perturbed_as_its_arguments_are(project: pytest.Pytester) -> None:
    call = "perturb(Scenario(Correct, [create(greeting())], name='greeted'))"
    imports = "from clientgo.perturb import Scenario\n"
    project.makepyfile(f"{imports}{TEST}    def test_whole(self, perturb):\n        {call}\n")
    result = project.runpytest_subprocess("-q", "-k", "test_whole and reference")
    result.assert_outcomes(passed=1, deselected=result.parseoutcomes()["deselected"])


def test_error_in_the_derivation_of_plans_is_that_of_one_test(project: pytest.Pytester) -> None:
    call = "perturb(Correct, [create(greeting())], examples={'spec': 5})"
    project.makepyfile(f"{TEST}    def test_examples(self, perturb):\n        {call}\n")
    result = project.runpytest_subprocess("-q", "-k", "test_examples or (test_correct and reference)")
    result.assert_outcomes(passed=1, errors=1, deselected=result.parseoutcomes()["deselected"])
    result.stdout.fnmatch_lines(["ERROR*::test_examples[[]plans[]]*"])


def test_other_arguments_are_rejected(project: pytest.Pytester) -> None:
    project.makepyfile("def test_more(perturb, tmp_path): ...")
    result = project.runpytest_subprocess("-q")
    result.stdout.fnmatch_lines(["*a test with the fixture perturb can have no other argument, but has tmp_path*"])


def test_function_that_perturbs_nothing_is_rejected(project: pytest.Pytester) -> None:
    project.makepyfile("def test_nothing(perturb): ...")
    result = project.runpytest_subprocess("-q")
    result.stdout.fnmatch_lines(["*test_nothing does not call its fixture perturb*"])
