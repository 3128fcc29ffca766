"""Settings for all tests: frozen time, slow machines, signals."""

import gc
import signal
import sys
from collections.abc import Generator
from importlib.util import find_spec

import freezegun
import pytest
from hypothesis import HealthCheck, settings

from tests.models.budget import FULL, QUICK

pytest_plugins = ["tests.layers"]

# `freeze_time` reads every attribute of every loaded module; the classes of these two cannot be built while it does.
freezegun.configure(extend_ignore_list=["kubernetes", "pydantic"])

# How long an example takes depends on who else uses the machine; whole tests have a timeout.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("full", UNHURRIED, max_examples=FULL)
# make test-all asks for the other one.
settings.register_profile("quick", UNHURRIED, max_examples=QUICK)
settings.load_profile("quick")

# A shell has what it starts in the background ignore SIGINT, and so would every program that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that makes threads switch often."""
    text = "seconds after which the interpreter switches to a waiting thread: 1e-6 reveals races (default: 0.005)"
    parser.addoption("--switch-interval", type=float, metavar="SECONDS", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """End with one line in an environment that was installed before the tools were a distribution."""
    if (interval := config.getoption("switch_interval")) is not None:
        sys.setswitchinterval(interval)
    if find_spec("clientgo.testing") is None:
        raise pytest.UsageError("clientgo-tools is not installed: run make venv")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the thousands of tests out of garbage collections, now and later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
