"""Operators in other processes, in any language: a command that gets a kubeconfig, and is killed by SIGKILL.

Its threads cannot be read, and its time is real: it waits once it has sent nothing for a while.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import ConfigError
from clientgo.perturb.frontend import GateServer
from clientgo.perturb.programs.clock import OperatorClock, WorldTime
from clientgo.perturb.programs.gate import GateTransport, WatchBody
from clientgo.perturb.programs.inprocess import BugLog
from clientgo.perturb.programs.streams import GateDuplex
from clientgo.pki import CertificateAuthority
from clientgo.rest.kubeconfigwriter import write_kubeconfig

KUBECONFIG = "{kubeconfig}"
_BUGS = ("panic: ", "fatal error: ")
_POLL_SECONDS = 0.002
_STEP_SECONDS = 0.02

START_SECONDS = 120.0
"""Seconds in which a process sends its first request."""

BUSY_LOOKS = 3
"""Looks in a row at which a process runs, after which it is busy."""

_TAIL = 2_000
_NEVER = threading.Event()


@dataclass(frozen=True)
class OperatorCommand:
    """Command that runs an operator; `{kubeconfig}` in an argument is the path of a kubeconfig, as is $KUBECONFIG."""

    arguments: Sequence[str]
    folder: Path = field(default_factory=Path)
    environ: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.arguments:
            raise ConfigError("the operator's command is empty: add it after --")


class RealTime:
    """Progress of a process; a `Pace`."""

    pause = 0.3

    def __init__(self) -> None:
        self._began = SYSTEM_CLOCK.now()

    def __repr__(self) -> str:
        return "<RealTime>"

    def wait_until_idle(self) -> None:
        """Give the process a moment to send what it will."""
        _sleep(_POLL_SECONDS)

    def advance(self, time: WorldTime, until: float) -> None:
        """Let a moment pass."""
        _sleep(_STEP_SECONDS)
        time.step(max(0.0, SYSTEM_CLOCK.now() - self._began - time.now()))

    def give_up(self, seconds: float) -> None:
        """Do nothing: a process that is killed has ended."""


class CommandProgram:
    """Operator that a command runs; a `PerturbedProgram`."""

    revivals = 3

    def __init__(self, command: OperatorCommand) -> None:
        self.command = command
        self.log = BugLog()

    def __repr__(self) -> str:
        return f"<CommandProgram {self.command.arguments[0]}>"

    def start(self, time: WorldTime) -> "ProcessOperator":
        """Start the process; ConfigError if that fails."""
        return ProcessOperator(self.command, time, self.log)

    def pace(self) -> RealTime:
        """Return real time, from now on."""
        return RealTime()

    def epoch(self) -> float:
        """Return the time."""
        return SYSTEM_CLOCK.time()


class ProcessOperator:
    """One process, and the server that it uses; a `RunningOperator`."""

    def __init__(self, command: OperatorCommand, time: WorldTime, log: BugLog) -> None:
        self.clock = OperatorClock(time)
        self.gate = GateTransport()
        self.watches: list[WatchBody] = []
        self.sockets: list[GateDuplex] = []
        self._log = log
        self._began = SYSTEM_CLOCK.now()
        self._busy_looks = 0
        self._is_paused = self._is_killed = False
        self._server = GateServer(self.gate)
        self._folder = TemporaryDirectory(prefix="perturb-")
        kubeconfig = write_kubeconfig(Path(self._folder.name, "kubeconfig"), self._server.url, client=_identity())
        self._output = Path(self._folder.name, "output")
        arguments = [argument.replace(KUBECONFIG, str(kubeconfig)) for argument in command.arguments]
        environ = {**os.environ, **command.environ, "KUBECONFIG": str(kubeconfig)}
        try:
            with self._output.open("wb") as output:
                self._process = subprocess.Popen(  # nosec B603  # the user's command
                    arguments, cwd=command.folder, env=environ, stdin=subprocess.DEVNULL, stdout=output,
                    stderr=subprocess.STDOUT, start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            self._server.close()
            self._folder.cleanup()
            raise ConfigError(f"cannot start the operator {arguments[0]}: {error.strerror}") from error

    def __repr__(self) -> str:
        return f"<ProcessOperator {self._process.pid} {self.ended or 'running'}>"

    @property
    def is_paused(self) -> bool:
        """True while the process is stopped by SIGSTOP."""
        return self._is_paused

    @is_paused.setter
    def is_paused(self, value: bool) -> None:
        self._is_paused = value
        self._signal(signal.SIGSTOP if value else signal.SIGCONT)

    @property
    def ended(self) -> str:
        """Exit code and last output of a process that has ended by itself; empty while it runs."""
        code = None if self._is_killed else self._process.poll()
        return "" if code is None else f"exit code {code}: {self._text()[-_TAIL:].strip()}"

    @property
    def is_starting(self) -> bool:
        """True until the process sends its first request, for two minutes at most."""
        return not self.gate.was_used and not self.ended and SYSTEM_CLOCK.now() < self._began + START_SECONDS

    @property
    def is_busy(self) -> bool:
        """True while a thread of the process runs."""
        if self.ended:
            return False
        self._busy_looks = self._busy_looks + 1 if self._runs() else 0
        return self._busy_looks >= BUSY_LOOKS

    def _runs(self) -> bool:
        """Return whether the system runs a thread of the process, or would if it had a processor."""
        try:
            files = list(Path(f"/proc/{self._process.pid}/task").glob("*/stat"))
            return any(file.read_text(errors="replace").rpartition(") ")[2].startswith("R") for file in files)
        except OSError:
            return False

    def kill(self) -> None:
        """Kill the process, and everything that it has started."""
        self._note_bugs()
        self._is_killed = True
        self._signal(signal.SIGKILL)
        self._process.wait()
        self.gate.kill()
        self.clock.kill()

    def close(self) -> None:
        """Close the server of a process that was killed; another replica needs nothing of it."""
        if self._is_killed:
            self._server.close()
            self._folder.cleanup()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def _note_bugs(self) -> None:
        lines = self._text().splitlines()
        self._log.bugs += [line for line in lines if line.startswith(_BUGS)]

    def _text(self) -> str:
        return self._output.read_text(encoding="utf-8", errors="replace") if self._output.exists() else ""


@lru_cache(maxsize=1)
def _identity() -> tuple[bytes, bytes]:
    """Return a client certificate and its key: some clients reject a kubeconfig without, even for plain HTTP."""
    return CertificateAuthority.create("perturb").client("operator")


def _sleep(seconds: float) -> None:
    SYSTEM_CLOCK.sleep(_NEVER, seconds)
