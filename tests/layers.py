"""Pytest plugin that enforces layers of tests by markers, and a hard time limit; it prints failures at once.

A test without a marker is a unit test: it may not listen on a port or start a process. `integration` may listen, `e2e`
may do both. `slow` describes the duration; a slow test belongs to a layer as well.

On a busy machine all limits are longer, by one factor: $CLIENTGO_TEST_TIME_FACTOR, or the load when the run begins.
"""

import faulthandler
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable
from functools import wraps
from typing import Any

import pytest
import urllib3  # noqa: F401  # its import binds a socket, to look for IPv6, and must not count for the test that causes it

from clientgo.testing.eventually import TIME_FACTOR, time_factor
from tests.processes import LIVE

LAYERS = ("unit", "integration", "e2e")
UNIT, INTEGRATION, E2E = range(3)
RULES = (
    "",
    "it listens on a port: mark it `integration`, or `e2e` if it starts processes too",
    "it starts a process: mark it `e2e`",
)
GRACE = 30.0
"""Seconds after its timeout until a test that does not end, ends its whole process; xdist then goes on without it."""

LONGEST_FACTOR = 20.0

REAL_SERVER = any(os.environ.get(name) for name in ("KUBEBUILDER_ASSETS", "USE_EXISTING_CLUSTER"))
"""Whether the tests run on a real control plane, which any test may start: then the layers are not checked."""

_PROCESSES = frozenset(("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"))


class Observed:
    """Highest layer of the actions in this process since it was reset to UNIT."""

    layer = UNIT
    # Shared fixtures are set up in the first test that uses them, and belong to the others as well.
    fixtures: dict[Any, int] = {}


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _PROCESSES:
        Observed.layer = E2E
    elif event == "socket.bind" and isinstance(arguments[1], tuple):
        Observed.layer = max(Observed.layer, INTEGRATION)


def layer_of(item: pytest.Item) -> int:
    """Return the highest layer that a test is marked with."""
    marks = {mark.name for mark in item.iter_markers()}
    return max(number for number, name in enumerate(LAYERS) if name in marks or number == UNIT)


def limit_of(item: pytest.Item) -> float:
    """Return the seconds that a test may take."""
    mark = item.get_closest_marker("timeout")
    return float(mark.args[0] if mark is not None else item.config.getini("timeout"))


def in_order(items: list[pytest.Item], workers: int) -> Iterable[pytest.Item]:
    """Order tests by layer, the fast ones first, for each worker.

    xdist gives each worker one contiguous part of the list, and with --dist worksteal the rest of another's part when
    it is done. So each part begins with its unit tests, and files stay together.
    """
    layers: list[list[pytest.Item]] = [[] for _ in LAYERS]
    for item in items:
        layers[layer_of(item)].append(item)
    for worker in range(workers):
        for layer in layers:
            yield from layer[len(layer) * worker // workers : len(layer) * (worker + 1) // workers]


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_auto_num_workers() -> int:
    """Return one more worker than cores: the test of one of them mostly waits, for a process or a deadline."""
    return (os.cpu_count() or 1) + 1


def measured_factor() -> float:
    """Return the number of processes that wait for a core, by cores: 1 on a quiet machine."""
    return min(LONGEST_FACTOR, max(1.0, round(os.getloadavg()[0] / (os.cpu_count() or 1), 1)))


def _by_factor(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return `subprocess.run` with longer limits, which hundreds of calls in tests give."""

    @wraps(run)
    def patient_run(*arguments: Any, timeout: float | None = None, **options: Any) -> Any:
        return run(*arguments, timeout=None if timeout is None else timeout * time_factor(), **options)

    return patient_run


class FailuresAtOnce:
    """Prints each failure in one line when it happens; pytest prints them at the end of the run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Print the test and the last line of its error."""
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if not report.failed or terminal is None:
            return
        crash = getattr(report.longrepr, "reprcrash", None)
        reason = (crash.message if crash is not None else report.longreprtext).strip().splitlines() or [""]
        terminal.write_line(f"\nFAILED {report.nodeid} ({report.when}) - {reason[0]:.200}", red=True)


def pytest_configure(config: pytest.Config) -> None:
    """Install the audit hook and longer limits; keep the real standard error for the output of a hanging process."""
    sys.addaudithook(_audit)
    config.stash[_ERRORS] = os.fdopen(os.dup(2), "w")
    if not hasattr(config, "workerinput"):
        # The processes of xdist inherit it.
        os.environ.setdefault(TIME_FACTOR, f"{measured_factor():g}")
        config.pluginmanager.register(FailuresAtOnce(config))
    if not hasattr(subprocess.run, "__wrapped__"):
        subprocess.run = _by_factor(subprocess.run)


def pytest_report_header() -> str:
    """Return the factor of all limits."""
    return f"time limits: multiplied by {time_factor():g} (${TIME_FACTOR}, else by the load of the machine)"


_ERRORS = pytest.StashKey[Any]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """Mark the unit tests, for -m, and order the selected tests by layer."""
    factor = time_factor()
    for item in items:
        if layer_of(item) == UNIT:
            item.add_marker("unit")
        item.add_marker(pytest.mark.timeout(round(limit_of(item) * factor, 1)), append=False)
    yield
    items[:] = in_order(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """End the process and print all stacks if a test ignores its timeout, in C code or in its clean-up."""
    faulthandler.dump_traceback_later(limit_of(item) + GRACE, exit=True, file=item.config.stash[_ERRORS])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
    """Record the layer of a fixture."""
    before, Observed.layer = Observed.layer, UNIT
    try:
        return (yield)
    finally:
        # A program that makes files once a run, such as openssl, is a tool and not what is tested.
        if fixturedef.scope == "session" and Observed.layer == E2E:
            Observed.layer = UNIT
        Observed.fixtures[fixturedef] = Observed.layer
        Observed.layer = max(before, Observed.layer)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Reset the observed layer."""
    Observed.layer = UNIT
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that exceeds its layer, and kill its remaining processes."""
    live = set(LIVE)
    try:
        result = yield
    finally:
        for child in LIVE - live:
            child.kill()
    if REAL_SERVER:
        return result
    fixtures = getattr(item, "_fixtureinfo").name2fixturedefs  # noqa: B009  # pytest has no public name for it
    used = (Observed.fixtures.get(actual, UNIT) for name in fixtures for actual in fixtures[name])
    layer = max(Observed.layer, *used, UNIT)
    if layer > layer_of(item):
        pytest.fail(
            f"this is marked as a test of the layer {LAYERS[layer_of(item)]}, but {RULES[layer]}", pytrace=False
        )
    return result


def pytest_unconfigure() -> None:
    """Kill remaining processes."""
    for child in set(LIVE):
        child.kill()
