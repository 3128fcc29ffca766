"""Child processes with output in a file, bounded waits, and a kill of the whole session at the end."""

import contextlib
import fcntl
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

from clientgo.clock import SYSTEM_CLOCK
from clientgo.testing.eventually import time_factor

INTERVAL = 0.01

MYPY_CACHE = Path(__file__).resolve().parents[1] / ".mypy_cache" / "tests"
"""Cache of mypy for all tests that run it, which takes ten seconds to check the library without one."""


@contextlib.contextmanager
def using_mypy_cache() -> Iterator[None]:
    """Let one test at a time use the cache: mypy fails if several write to it, and the first one fills it for all."""
    MYPY_CACHE.mkdir(parents=True, exist_ok=True)
    with (MYPY_CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


LIVE: set["Child"] = set()
"""Children that nothing has killed yet; `tests/layers.py` kills those that a test started and left."""


class Child:
    """Process in its own session whose output goes to the file `output`, so that it never waits for a reader.

    As a context manager it kills the process and its children on exit.
    """

    def __init__(
        self, command: Sequence[str], output: Path, *, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self.path = output
        self._read = 0
        with output.open("ab") as out:
            self.process = subprocess.Popen(
                command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        LIVE.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        """Process id."""
        return self.process.pid

    @property
    def output(self) -> str:
        """Return standard output and standard error so far."""
        return self.path.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, pattern: str, seconds: float = 30.0) -> str:
        """Return the first complete line with a match of `pattern`, after the line returned last.

        Raises:
            AssertionError: the process ended or `seconds` passed without it; the process has been killed.
        """
        deadline = SYSTEM_CLOCK.now() + seconds * time_factor()
        while True:
            # In this order: a process that has ended writes nothing more.
            ended, late = self.process.poll() is not None, SYSTEM_CLOCK.now() >= deadline
            text = self.output
            if match := re.compile(pattern, re.MULTILINE).search(text, self._read):
                begin, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
                if end >= 0:
                    self._read = end + 1
                    return text[begin:end]
            if ended or late:
                break
            SYSTEM_CLOCK.sleep(threading.Event(), INTERVAL)
        self.kill()
        raise AssertionError(f"{pattern!r} not found in the output: {text}")

    def signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        self.process.send_signal(number)

    def signal_group(self, number: int) -> None:
        """Send a signal to the process and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def end(self, *signals: int, seconds: float = 15.0) -> tuple[int, str]:
        """Send signals, wait for the end, and return the exit code and the output.

        Raises:
            subprocess.TimeoutExpired: the process did not end within `seconds`; it has been killed.
        """
        for number in signals:
            self.signal(number)
        try:
            return self.process.wait(seconds * time_factor()), self.output
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill the process and all of its session; may be called again."""
        self.signal_group(signal.SIGKILL)
        for pid in self.session():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(10)
        LIVE.discard(self)

    def session(self) -> Iterator[int]:
        """Yield the ids of the processes that this one started and that run."""
        # `clientgo run --reload` puts the program into a group of its own; macOS has no /proc to find it by.
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                # A process that has ended keeps its id until its parent takes notice.
                ended = "\nState:\tZ" in (folder / "status").read_text(encoding="utf-8")
                if not ended and os.getsid(int(folder.name)) == self.pid:
                    yield int(folder.name)


def is_running(pid: int) -> bool:
    """Return whether a process exists, and has not ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # the latter if it ends while the file is read
        return False
    return state != "Z"
