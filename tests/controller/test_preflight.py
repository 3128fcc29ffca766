"""Before it starts, the controller says what is wrong: once, and in words."""

import threading
from collections.abc import Callable

import pytest

from clientgo.errors import ConfigError, ConnectionFailed, Forbidden, NotFound, ServiceUnavailable, Unauthorized
from clientgo.testing.clock import FakeClock
from controller.preflight import wait_until_ready


def answers(*errors: Exception) -> Callable[[], None]:
    """A check that fails with these errors, one a time, and then passes."""
    script = list(errors)

    def ask() -> None:
        if script:
            raise script.pop(0)

    return ask


def ready(*errors: Exception) -> bool:
    return wait_until_ready("https://api", [("foos", answers(*errors))], threading.Event(), clock=FakeClock(auto=True))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(ConnectionFailed("connection refused", refused=True), "can't be reached", id="unreachable"),
        pytest.param(NotFound("no such resource"), "does not know foos yet: install the CRD", id="no CRD"),
        pytest.param(ServiceUnavailable("starting"), "answered 503: starting", id="not ready"),
    ],
)
def test_what_can_heal_is_said_once_and_waited_for(
    error: Exception, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    assert ready(error, error, error)
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 1
    assert words in warnings[0]
    assert caplog.records[-1].getMessage() == "the API server is ready"


def test_each_new_trouble_is_said(caplog: pytest.LogCaptureFixture) -> None:
    assert ready(ConnectionFailed("refused"), NotFound("no such resource"), NotFound("no such resource"))
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(Unauthorized("Unauthorized"), "does not accept these credentials", id="401"),
        pytest.param(Forbidden("no"), "forbids to list foos", id="403"),
    ],
)
def test_what_only_the_user_can_mend_ends_the_program(error: Exception, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        ready(error)


def test_a_signal_ends_the_wait() -> None:
    stop = threading.Event()
    stop.set()
    assert not wait_until_ready("https://api", [("foos", answers(NotFound("x")))], stop)
