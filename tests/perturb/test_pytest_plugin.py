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


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["one process", "xdist"])
def test_run_ends_with_the_causes_of_each_test(project: pytest.Pytester, processes: list[str]) -> None:
    again = "    def test_again(self, perturb):\n        perturb(StatusFirst, steps=[create(greeting())])\n"
    project.makepyfile(test_sites=TEST + again)
    result = project.runpytest_subprocess("-q", "-k", "crash and not crossed", *processes)
    summary = ["*= causes of failed perturbations =*"]
    for name in ("test_status_first", "test_again"):
        summary += [
            f"test_sites.py::TestBroken::{name}",
            "Cause 1: 4 plans",
            "  each-crash: the operator crashes after each first write of a kind to an object",
            "  final-state: after step 1 (create greeting a) the state differs: - configmaps default/a is missing",
            f"  Repeat it: pytest 'test_sites.py::TestBroken::{name}[[]each-crash[]]'",
            "  Also: crash-after:1, crash-before:2, crash-stored:1",
        ]
    result.stdout.fnmatch_lines(summary)
    result.stdout.no_fnmatch_line("*Cause 2*")


def test_timeline_is_that_of_the_first_plan_of_a_cause(project: pytest.Pytester) -> None:
    project.makepyfile(TEST)
    result = project.runpytest_subprocess("-q", "-k", "TestBroken and crash and not crossed")
    assert sum("Timeline:" in line for line in result.outlines) == 1
    result.stdout.fnmatch_lines(["  Cause and timeline: see crash-*"])


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["one process", "xdist"])
def test_failure_has_one_line_in_the_short_summary_of_ci(project: pytest.Pytester, processes: list[str]) -> None:
    conftest = 'import os\nos.environ["CI"] = "true"\npytest_plugins = ["clientgo.perturb.pytest_plugin"]\n'
    project.makeconftest(conftest)
    project.makepyfile(test_sites=TEST)
    result = project.runpytest_subprocess("-q", "-k", "TestBroken and crash-before:2", *processes)
    result.stdout.re_match_lines_random([r"FAILED test_sites.py::.* - Failed: crash-before:2: the operator crashes .*"])
    assert sum("Timeline:" in line for line in result.outlines) == 1


def test_scenario_without_writes_is_named_at_the_end(project: pytest.Pytester) -> None:
    idle = "class Idle(Correct, name='idle'):\n    def reconcile(self, greeting): pass\n"
    project.makepyfile(f"{TEST}\n{idle}\ndef test_idle(perturb):\n    perturb(Idle, [create(greeting())])\n")
    result = project.runpytest_subprocess("-q", "-k", "test_idle")
    result.stdout.fnmatch_lines(["*::test_idle shows nothing: the operator writes nothing in this scenario, *"])


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
