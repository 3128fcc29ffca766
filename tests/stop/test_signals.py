"""Delivery of signals, in processes of their own."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import Child

pytestmark = pytest.mark.e2e

WAITS = """
import threading
from clientgo.stop.signals import stop_on_signals
stop = stop_on_signals()
print("ready", flush=True)
stop.wait()
print("stopping", flush=True)
threading.Event().wait()
"""

HOLDS_EVERY_LOCK = """
import logging, signal
from clientgo.stop.signals import stop_on_signals
logging.basicConfig(level=logging.INFO)
stop = stop_on_signals()
with stop._cond, logging.root.handlers[0].lock:
    signal.raise_signal(signal.SIGTERM)
    print("handled", flush=True)
print(stop.wait(20), flush=True)
"""

SECOND_SIGNAL_DURING_THE_FIRST = """
import signal
from clientgo.stop.signals import stop_on_signals
stop = stop_on_signals()
signal.raise_signal(signal.SIGTERM)
stop.wait(20)
print("stopping", flush=True)
with stop._cond:
    signal.raise_signal(signal.SIGTERM)
    import threading
    threading.Event().wait(20)
print("still here", flush=True)
"""

FORKS = """
import os, signal
from clientgo.stop.signals import stop_on_signals
stop = stop_on_signals()
reading, writing = os.pipe()
child = os.fork()
if not child:
    signal.alarm(20)
    os.write(writing, b"ready")
    signal.pause()
os.read(reading, 5)
os.kill(child, signal.SIGTERM)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), stop.wait(0.2), flush=True)
"""

CALLBACK_RAISES = """
import queue, signal
from clientgo.stop.signals import on_signals
called = queue.Queue()
def fail(number):
    called.put(number)
    raise ValueError("no")
restore = on_signals([signal.SIGUSR1], fail)
for _ in range(2):
    signal.raise_signal(signal.SIGUSR1)
    assert called.get(timeout=20) == signal.SIGUSR1
restore()
print(signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL, flush=True)
"""

ASYNCIO_TAKES_THE_DESCRIPTOR = """
import asyncio, signal
from clientgo.stop.signals import stop_on_signals
stop = stop_on_signals()
async def main():
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, lambda: None)
    signal.raise_signal(signal.SIGTERM)
    print(stop.wait(20), flush=True)
asyncio.run(main())
"""

ASYNCIO_FIRST = """
import asyncio, signal
from clientgo.stop.signals import stop_on_signals
async def main():
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, lambda: None)
    stop_on_signals()
asyncio.run(main())
"""

INTERRUPTED_WHILE_IMPORTING = """
import runpy, signal, sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == "controller.program":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def output(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=50)
    return done.stdout + done.stderr[-200:]


@pytest.mark.feature("B-CR-15", "A-27")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_first_signal_sets_the_event_and_second_exits(number: signal.Signals, tmp_path: Path) -> None:
    with Child([sys.executable, "-c", WAITS], tmp_path / "output") as process:
        process.wait_for("ready")
        process.signal(number)
        process.wait_for("stopping")
        assert process.end(number)[0] == 1


@pytest.mark.feature("A-27")
def test_second_call_is_rejected() -> None:
    assert "call it once, and pass its event on" in output(
        "from clientgo.stop.signals import stop_on_signals\nstop_on_signals()\nstop_on_signals()"
    )


def test_handler_takes_no_lock() -> None:
    assert output(HOLDS_EVERY_LOCK).startswith("handled\nTrue\n")


def test_second_signal_exits_while_the_main_thread_holds_the_event() -> None:
    assert output(SECOND_SIGNAL_DURING_THE_FIRST) == "stopping\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_signal_to_a_forked_child_ends_the_child_only() -> None:
    assert output(FORKS).startswith(f"-{int(signal.SIGTERM)} False\n")


def test_failing_callback_is_logged_and_the_next_signal_is_delivered() -> None:
    assert output(CALLBACK_RAISES).startswith("True\n")


def test_event_loop_that_takes_the_descriptor_later_loses_no_signal() -> None:
    assert output(ASYNCIO_TAKES_THE_DESCRIPTOR) == "True\n"


def test_event_loop_that_has_the_descriptor_is_reported() -> None:
    assert "call stop_on_signals before it starts" in output(ASYNCIO_FIRST)


def test_interrupt_during_the_imports_of_the_program_stops_it() -> None:
    main = str(Path(__file__).parents[2] / "main.py")
    command = [sys.executable, "-c", INTERRUPTED_WHILE_IMPORTING, main, "--master=http://127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout) == (0, "")
    assert "shutting down; a second signal exits at once" in done.stderr
    assert "Traceback" not in done.stderr
