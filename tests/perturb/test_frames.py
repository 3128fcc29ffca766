"""Waits that are reported, and those that are read from frames of the standard library, on each version of Python."""

import subprocess
import threading
from pathlib import Path

import pytest

from clientgo.perturb.programs import frames
from clientgo.perturb.programs.clock import OperatorClock, WorldTime
from clientgo.perturb.programs.waits import is_reported, is_waiting
from clientgo.stop.lifecycle import Group
from clientgo.testing.eventually import eventually

PROGRAM = Path(__file__).with_name("waits.py")
VERSIONS = [f"3.{minor}" for minor in range(11, 16)]


@pytest.mark.e2e
@pytest.mark.parametrize("version", VERSIONS)
def test_wait_in_the_standard_library_is_recognized(version: str) -> None:
    try:
        subprocess.run([f"python{version}", "-c", ""], check=True, capture_output=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        pytest.skip(f"Python {version} is not installed")
    result = subprocess.run(
        [f"python{version}", PROGRAM, str(frames.__file__)], capture_output=True, text=True, timeout=60
    )
    assert (result.stdout.strip(), result.stderr) == ("ok", "")


def test_wait_by_the_clock_is_reported_until_it_is_notified() -> None:
    clock, condition, ended = OperatorClock(WorldTime()), threading.Condition(), threading.Event()
    idents = list[int]()

    def wait() -> None:
        idents.append(threading.get_ident())
        with condition:
            clock.wait(condition, None)
        ended.set()

    with Group() as group:
        group.start(wait, name="waiter")
        eventually(lambda: idents and is_waiting(idents[0]))
        with condition:
            condition.notify_all()
            assert is_reported(idents[0])
            assert not is_waiting(idents[0])
        assert ended.wait(10)
    assert not is_reported(idents[0])
