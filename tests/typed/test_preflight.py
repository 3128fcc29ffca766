"""Preflight checks: transient errors are logged once and retried, configuration errors raise."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from clientgo.errors import (
    ConfigError,
    ConnectionFailed,
    Forbidden,
    InvalidResponse,
    NotFound,
    ServiceUnavailable,
    Unauthorized,
)
from clientgo.testing.clock import FakeClock
from clientgo.typed.discovery import ServerVersion
from clientgo.typed.preflight import RequiredResource, wait_until_ready, warn_of_dropped_fields


def answers(*errors: Exception) -> Callable[[], None]:
    """A check that fails with these errors, one a time, and then passes."""
    script = list(errors)

    def ask() -> None:
        if script:
            raise script.pop(0)

    return ask


def ready(*errors: Exception) -> bool:
    return wait_until_ready(
        "https://api", [RequiredResource("foos", answers(*errors))], threading.Event(), clock=FakeClock(auto=True)
    )


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(ConnectionFailed("connection refused", refused=True), "cannot be reached", id="unreachable"),
        pytest.param(
            NotFound("no such resource"), "does not know foos yet: install its CustomResourceDefinition", id="no CRD"
        ),
        pytest.param(InvalidResponse("got HTML"), "does not answer as an API server (got HTML)", id="another server"),
        pytest.param(ServiceUnavailable("starting"), "answered 503: starting", id="not ready"),
    ],
)
def test_transient_error_is_logged_once_and_retried(
    error: Exception, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    assert ready(error, error, error)
    warnings = [record.msg for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 1
    assert words in warnings[0]
    assert caplog.records[-1].msg == "the API server is ready"


def test_each_new_error_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert ready(ConnectionFailed("refused"), NotFound("no such resource"), NotFound("no such resource"))
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(Unauthorized("Unauthorized"), "does not accept these credentials", id="401"),
        pytest.param(Forbidden("no"), r"forbids to list foos \(no\): grant it to the user", id="403"),
    ],
)
def test_configuration_error_raises_with_a_hint(error: Exception, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        ready(error)


def test_stop_ends_the_wait() -> None:
    stop = threading.Event()
    stop.set()
    assert not wait_until_ready("https://api", [RequiredResource("foos", answers(NotFound("x")))], stop)


@pytest.mark.parametrize(("minor", "warned"), [("35", True), ("36", True), ("37", False)])
def test_fields_that_the_server_drops_are_logged_once(
    minor: str, warned: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.py").write_text("x = EmptyDirVolumeSource(mode=0o700)\n")
    warn_of_dropped_fields(lambda: ServerVersion(minor=minor, git_version=f"v1.{minor}.0"), tmp_path)
    assert len(caplog.records) == int(warned)


def test_unknown_version_of_the_server_is_no_error(tmp_path: Path) -> None:
    def forbidden() -> ServerVersion:
        raise Forbidden("no")

    warn_of_dropped_fields(forbidden, tmp_path)
