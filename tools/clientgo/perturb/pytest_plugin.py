"""Pytest plugin: a test that calls its fixture `perturb` becomes one test for each plan.

    pytest_plugins = ["clientgo.perturb.pytest_plugin"]  # in conftest.py

    def test_survives(perturb):
        perturb(FooReconciler, steps=[create(foo), delete(foo)])

The function is called when tests are collected, to learn the scenario; so the fixture must be its only argument. By
default a few plans of each kind run, with `--perturb=all` all of them; plugins such as xdist distribute them.

The first plan of a cause, in each process, fails with a timeline; at the end of the run all causes are listed.
"""

import shlex
from collections.abc import Callable, Generator, Sequence
from typing import Any

import pytest

from clientgo.perturb.engine import Engine, PerturbResults, PlanResult
from clientgo.perturb.plans import MAX_PER_KIND, REFERENCE, Plan
from clientgo.perturb.programs.inprocess import Operators
from clientgo.perturb.record import ScenarioRun, Violation
from clientgo.perturb.report import brief, cause_of, counted, groups, summary
from clientgo.perturb.running import SMOKE_LIMIT
from clientgo.perturb.scenario import Scenario
from clientgo.perturb.steps import ScenarioStep

FIXTURE = "perturb"

_ENGINES = pytest.StashKey[dict[str, Engine]]()
_CAUSES = pytest.StashKey[dict[tuple[str, ...], str]]()
_OUTCOME = "perturbation"
"""Property of the report of a test, which a process of xdist sends: what `_summarized` needs."""


class _Captured(Exception):
    """The scenario of a test function."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--perturb`."""
    parser.addoption(
        "--perturb",
        choices=("smoke", "all"),
        default="smoke",
        help="plans of perturbation tests (default: %(default)s)",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each plan of a function with the fixture."""
    if FIXTURE not in metafunc.fixturenames:
        return
    names = [name for name in metafunc.fixturenames if name not in (FIXTURE, "request")]
    arguments = [name for name in names if name in metafunc.definition._fixtureinfo.argnames]
    if arguments:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: a test with the fixture {FIXTURE} can have no other argument, "
            f"but has {', '.join(arguments)}"
        )
    function = getattr(metafunc.cls(), metafunc.function.__name__) if metafunc.cls is not None else metafunc.function
    limit = MAX_PER_KIND if metafunc.config.getoption("--perturb") == "all" else SMOKE_LIMIT
    try:
        engine = Engine(_scenario(function))
        metafunc.config.stash.setdefault(_ENGINES, {})[metafunc.definition.nodeid] = engine
        plans: list[str | Exception] = [str(plan) for plan in engine.plans(limit=limit)]
    except pytest.UsageError:
        raise
    except Exception as error:  # noqa: BLE001  # the fixture raises it: the other tests of the file are collected
        plans = [error]
    metafunc.parametrize(
        FIXTURE, plans, ids=[each if isinstance(each, str) else "plans" for each in plans], indirect=True
    )


@pytest.fixture(name=FIXTURE)
def perturb_fixture(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Return a function like `perturb`, also of a `Scenario`, that runs one plan and fails if something is wrong."""
    if isinstance(request.param, Exception):
        raise request.param
    node, plan = request.node, Plan.parse(request.param)
    engine = request.config.stash[_ENGINES][node.nodeid.partition("[")[0]]

    test = node.nodeid.partition("[")[0]
    command = _command(request.config, test)

    def run(_: Operators | Scenario, __: Sequence[ScenarioStep] = (), **___: Any) -> None:
        result = engine.result(plan)
        if not result.passed:
            findings = [[each.oracle, each.text, *each.details] for each in result.findings]
            node.user_properties.append((_OUTCOME, [str(plan), "", *findings]))
            causes = request.config.stash.setdefault(_CAUSES, {})
            earlier = causes.setdefault((test, *cause_of(result)), str(plan))
            if earlier != str(plan):
                pytest.fail(
                    "\n".join([*brief([result], command), f"  Cause and timeline: see {earlier}"]), pytrace=False
                )
            results = PerturbResults(engine.scenario, (result,), engine.masks, result.seconds)
            pytest.fail(summary(results, command=command), pytrace=False)
        if not result.is_applicable:
            if plan == REFERENCE:
                node.user_properties.append((_OUTCOME, [str(plan), result.run.not_applicable]))
            pytest.skip(f"{plan.kind} is not applicable: {result.run.not_applicable}")  # a line for each reason

    return run


def _command(config: pytest.Config, test: str) -> str:
    every = " --perturb=all" if config.getoption("--perturb") == "all" else ""
    return f"pytest {shlex.quote(f'{test}[{{plan}}]')}{every}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Name a failed plan in one line of pytest's short summary, which has the whole text where CI is set."""
    report = yield
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None and any(name == _OUTCOME for name, _ in report.user_properties):
        crash.message = " ".join(crash.message.partition("\n")[0].split())
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the causes of failed plans for each test, and the scenarios that show nothing."""
    reports = [report for name in ("failed", "skipped") for report in terminalreporter.stats.get(name, ())]
    outcomes: dict[str, list[PlanResult]] = {}
    idle: list[str] = []
    for report in reports:
        test = report.nodeid.partition("[")[0]
        for plan, reason, *findings in (value for name, value in report.user_properties if name == _OUTCOME):
            if findings:
                violations = (Violation(oracle, text, tuple(details)) for oracle, text, *details in findings)
                result = PlanResult(Plan.parse(plan), tuple(violations), ScenarioRun([]))
                outcomes.setdefault(test, []).append(result)
            else:
                idle.append(f"{test} shows nothing: {reason}")
    if outcomes or idle:
        terminalreporter.section("causes of failed perturbations" if outcomes else "perturbations")
    for test, results in outcomes.items():
        terminalreporter.write_line(test)
        for number, group in enumerate(groups(results), 1):
            terminalreporter.write_line(f"Cause {number}: {counted(len(group))}")
            for line in brief(group, _command(config, test)):
                terminalreporter.write_line(line)
    for line in idle:
        terminalreporter.write_line(line)


def _scenario(function: Callable[..., object]) -> Scenario:
    def capture(setup: Operators | Scenario, steps: Sequence[ScenarioStep] = (), **options: Any) -> None:
        if isinstance(setup, Scenario):
            raise _Captured(setup)
        name = options.pop("name", getattr(function, "__name__", "scenario"))
        raise _Captured(Scenario(setup, steps, name=name, **options))

    try:
        function(**{FIXTURE: capture})
    except _Captured as captured:
        return captured.scenario
    raise pytest.UsageError(f"{getattr(function, '__name__', function)} does not call its fixture {FIXTURE}")
