"""How a program is told to end, in a process of its own."""

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import sys
from clientgo.signals import stop_on_signals
stop = stop_on_signals()
print("ready", flush=True)
stop.wait()
print("stopping", flush=True)
sys.stdin.readline()
"""


@pytest.mark.feature("B-CR-15", "A-27")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_asks_and_the_second_ends(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.readline() == "stopping\n"
        assert process.poll() is None
        process.send_signal(number)
        assert process.wait(10.0) == 1


@pytest.mark.feature("A-27")
def test_signals_have_one_event_in_a_program() -> None:
    code = "from clientgo.signals import stop_on_signals\nstop_on_signals()\nstop_on_signals()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 1
    assert "call stop_on_signals once, and pass it on" in done.stderr
