"""Pytest plugin: a test that calls its fixture `perturb` becomes one test for each plan.

    pytest_plugins = ["clientgo.perturb.pytest_plugin"]  # in conftest.py

    def test_survives(perturb):
        perturb(FooReconciler, steps=[create(foo), delete(foo)])

The function is called when tests are collected, to learn the scenario; so the fixture must be its only argument. By
default a few plans of each kind run, with `--perturb=all` all of them; plugins such as xdist distribute them.
"""

import shlex
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from clientgo.perturb.engine import Engine, PerturbResults
from clientgo.perturb.plans import MAX_PER_KIND, Plan
from clientgo.perturb.programs.inprocess import Operators
from clientgo.perturb.report import summary
from clientgo.perturb.running import SMOKE_LIMIT
from clientgo.perturb.scenario import Scenario
from clientgo.perturb.steps import ScenarioStep

FIXTURE = "perturb"

_ENGINES = pytest.StashKey[dict[str, Engine]]()


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
    scenario = _scenario(function)
    limit = MAX_PER_KIND if metafunc.config.getoption("--perturb") == "all" else SMOKE_LIMIT
    try:
        engine = Engine(scenario)
        metafunc.config.stash.setdefault(_ENGINES, {})[metafunc.definition.nodeid] = engine
        plans: list[str | Exception] = [str(plan) for plan in engine.plans(limit=limit)]
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

    def run(_: Operators | Scenario, __: Sequence[ScenarioStep] = (), **___: Any) -> None:
        result = engine.result(plan)
        if not result.passed:
            results = PerturbResults(engine.scenario, (result,), engine.masks, result.seconds)
            every = " --perturb=all" if request.config.getoption("--perturb") == "all" else ""
            pytest.fail(summary(results, command=f"pytest {shlex.quote(node.nodeid)}{every}"), pytrace=False)
        if not result.is_applicable:
            pytest.skip(f"{plan.kind} is not applicable: {result.run.not_applicable}")  # a line for each reason

    return run


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
