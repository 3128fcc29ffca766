"""Signals at random moments of a program's life, and with a consumer in the main thread, on a busy machine.

`SIGNALS=1000 pytest tests/faults/test_signals_under_load.py` sends a thousand of each; the default is a sample.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.envtest import BundledServer, Environment
from tests.processes import Child

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(7200)]

ROOT = Path(__file__).parent.parent.parent
SIGNALS = int(os.environ.get("SIGNALS", "12"))
KEYS = int(os.environ.get("KEYS", "5000"))
LIMIT = 120.0
"""Seconds within which a program must have ended after its signal, on a machine with two busy processes per core."""

CONSUMER = """
import os, sys, threading
from clientgo.stop.lifecycle import Group
from clientgo.workqueue import RateLimitingQueue
keys = int(sys.argv[1])
queue = RateLimitingQueue[int]()
stop, step, seen = threading.Event(), threading.Event(), 0

def burn():
    while not stop.is_set():
        sum(range(1000))

def produce():
    for key in range(keys):
        queue.add(key)
        if not step.wait(60):
            os._exit(2)  # the consumer slept although a key was ready
        step.clear()

with Group(stop=stop) as group:
    group.start(burn, name="burn")
    group.start(produce, name="produce")
    while seen < keys:
        assert queue.get() == seen
        queue.done(seen)
        seen += 1
        step.set()
    stop.set()
queue.shut_down(drain=True)
print(seen)
"""


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Run two processes per core that only count."""
    folder = tmp_path_factory.mktemp("busy")
    with ExitStack() as stack:
        for number in range(2 * (os.cpu_count() or 1)):
            stack.enter_context(Child([sys.executable, "-c", "while True: pass"], folder / str(number)))
        yield


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("signals") / "kubeconfig"
    with Environment(crd_paths=[ROOT / "artifacts" / "crd"], server=BundledServer(kubeconfig=path)):
        yield path


def ended(number: int, delay: float, kubeconfig: Path) -> str:
    """Start the controller, send the signal after `delay` seconds, and return how it ended."""
    command = [sys.executable, str(ROOT / "main.py"), "--kubeconfig", str(kubeconfig)]
    with tempfile.TemporaryDirectory() as folder, Child(command, Path(folder) / "output") as child:
        SYSTEM_CLOCK.sleep(threading.Event(), delay)
        try:
            code, output = child.end(number, seconds=LIMIT)
        except subprocess.TimeoutExpired:
            return "not at all"
    if code == -number:
        return "by the signal, before its handlers were installed"
    if code == 1 and 'main.py"' not in output:
        return "by the signal, while the interpreter started"
    return "in good order" if code == 0 else f"with exit code {code}: {output[-2000:]}"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.usefixtures("busy")
def test_one_signal_ends_the_controller_at_any_moment(number: signal.Signals, kubeconfig: Path) -> None:
    delays = random.Random(int(number))
    with ThreadPoolExecutor(4, "signals") as pool:
        ends = Counter(
            pool.map(lambda delay: ended(number, delay, kubeconfig), [delays.uniform(0, 8) for _ in range(SIGNALS)])
        )
    print(dict(ends))
    assert {end.partition(",")[0] for end in ends} <= {"in good order", "by the signal"}


@pytest.mark.usefixtures("busy")
def test_main_thread_consumer_loses_no_key() -> None:
    done = subprocess.run([sys.executable, "-c", CONSUMER, str(KEYS)], capture_output=True, text=True, timeout=3600)
    assert done.stdout == f"{KEYS}\n", done.stderr[-2000:]
