"""Child processes and their cost; every subject runs in its own process.

Linux only: the CPU time of a living process is read from its CPU clock (nanoseconds, including ended threads), its peak
memory from /proc, because `ru_maxrss` includes what the parent held at the fork.
"""

import json
import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from benchmarks.model import ROOT, Failed


class Child:
    """Process that reports in lines of JSON on its output, and lives until it is ended."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as the process
        # A kubeconfig of the caller must not be found in place of the one that is given.
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("KUBE", "PYTHON"))}
        self.began, self.began_at = time.perf_counter(), time.time()  # noqa: TID251  # an audit log has wall time
        self.process = subprocess.Popen(
            list(command),
            cwd=ROOT,
            env={**clean, **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            bufsize=0,
        )
        self._unread = b""
        self._cpu = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()

    @property
    def pid(self) -> int:
        """Process id."""
        return self.process.pid

    @property
    def seconds(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self.began

    @property
    def ended(self) -> bool:
        """Return whether the process has ended."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def line(self, seconds: float = 300.0) -> str:
        """Return the next output line, or "" if the process has ended.

        Raises:
            Failed: timeout.
        """
        assert self.process.stdout is not None
        deadline = time.perf_counter() + seconds
        while b"\n" not in self._unread:
            remaining = deadline - time.perf_counter()
            if remaining <= 0 or not select.select([self.process.stdout], [], [], remaining)[0]:
                raise Failed(f"no word from {self._command()} for {seconds:.0f} s: {self.log()}")
            data = self.process.stdout.read(65536)
            if not data:
                return ""
            self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode()

    def report(self, seconds: float = 300.0) -> dict[str, float]:
        """Return the next output line that is JSON; skip others.

        Raises:
            Failed: timeout, or the process ended.
        """
        while line := self.line(seconds):
            if line.startswith("{"):
                document: dict[str, float] = json.loads(line)
                return document
        raise Failed(f"{self._command()} ended early: {self.log()}")

    def go_on(self) -> None:
        """Let a waiting subject start its next part."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")

    def cpu(self) -> float:
        """Return the CPU seconds so far, user and system."""
        return cpu_seconds(self.pid)

    def peak_mb(self) -> float:
        """Return the peak memory so far, in MB."""
        return _status(self.pid, "VmHWM") / 1e6

    def resident_mb(self) -> float:
        """Return the current memory, in MB."""
        return _status(self.pid, "VmRSS") / 1e6

    def end(self, number: int = signal.SIGTERM, seconds: float = 30.0) -> float:
        """End the process if necessary; return the CPU time of its whole life, including its children."""
        self.signal(number)
        return self.wait(seconds)

    def signal(self, number: int) -> None:
        """Send a signal, unless the process has been waited for."""
        if self.process.returncode is None:
            # Not Popen's own method: that looks first whether the process has ended, and takes its resource usage away.
            os.kill(self.pid, number)

    def wait(self, seconds: float = 60.0) -> float:
        """Wait for the end; return the CPU time of the whole life, including children."""
        if self.process.returncode is None:
            self._cpu = self._reap(seconds)
            for stream in (self.process.stdin, self.process.stdout, self._log):
                if stream is not None:
                    stream.close()
        return self._cpu

    def log(self) -> str:
        """Return the end of the standard error."""
        # Not seek and read: the child writes at the same position of the file.
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), 800, max(0, size - 800)).decode(errors="replace").strip()

    def until_logged(self, text: str, seconds: float = 300.0) -> float:
        """Wait until the first lines of the standard error contain a text, in any case; return `seconds` of then.

        Raises:
            Failed: the process ended, or timeout.
        """
        deadline = time.perf_counter() + seconds
        while text.lower().encode() not in os.pread(self._log.fileno(), 16_384, 0).lower():
            if self.ended or time.perf_counter() > deadline:
                raise Failed(f"{self._command()} did not log {text!r}: {self.log()}")
            threading.Event().wait(0.01)
        return self.seconds

    def _reap(self, seconds: float) -> float:
        handle = os.pidfd_open(self.pid)
        try:
            if not select.select([handle], [], [], seconds)[0]:
                self.process.kill()
        finally:
            os.close(handle)
        _, status, usage = os.wait4(self.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_utime + usage.ru_stime

    def _command(self) -> str:
        arguments = self.process.args
        return " ".join(Path(a).name for a in list(arguments)[1:4]) if isinstance(arguments, list) else str(arguments)


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a living process."""
    # The id of another process' CPU-time clock, as clock_getcpuclockid(3) makes it; Python has no name for it.
    return time.clock_gettime((~pid << 3) | 2)


def _status(pid: int, field: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field + ":"):
            return 1024.0 * int(line.split()[1])
    raise Failed(f"process {pid} has no {field}: it has ended")


def ask(child: Child) -> Any:
    """Run a subject with one part to its end; return its report."""
    with child:
        return child.report()
