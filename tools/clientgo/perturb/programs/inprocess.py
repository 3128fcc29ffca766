"""Operators in this process: a program, and each of its starts, with its own clock, gate and threads."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from clientgo.clock import Clock
from clientgo.manager import Manager, Options, Reconciler
from clientgo.perturb.programs.clock import EPOCH, Crashed, OperatorClock, WorldTime
from clientgo.perturb.programs.gate import UPGRADE, GateTransport, Outgoing, WatchBody, http_reply
from clientgo.perturb.programs.idlethreads import OperatorThreads
from clientgo.perturb.programs.streams import GateDuplex
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.request import Requester
from clientgo.rest.transport import HTTPReply
from clientgo.stop.lifecycle import Group
from clientgo_apiserver.inmemory import InMemoryServer, ServedReply

Setup = Callable[[Manager], object]
"""Adds reconcilers and controllers to a manager, which is new at each start of the operator."""

RunFunction = Callable[[Requester, Clock, threading.Event], object]
"""Runs a program without a manager, such as a hand-written controller, until the event is set."""


class BugLog(logging.Handler):
    """Handler that keeps what a run logs as a bug: an error with a traceback, or with the word."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.bugs: list[str] = []
        self.errors: list[str] = []
        """All errors, with or without a bug."""
        self.muted = False  # while an operator that has crashed ends

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record that tells of a bug."""
        error = record.exc_info[1] if record.exc_info else None
        if self.muted or _is_by_crash(error):
            return
        text = record.getMessage()
        self.errors.append(text)
        if error is not None or "bug" in text.lower():
            self.bugs.append(f"{text}: {type(error).__name__}: {error}" if error is not None else text)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Receive all records in the block, in place of other handlers."""
        root = logging.getLogger()
        handlers, level = root.handlers[:], root.level
        root.handlers[:] = [self]
        root.setLevel(logging.ERROR)
        try:
            yield
        finally:
            root.handlers[:] = handlers
            root.setLevel(level)


def _is_by_crash(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, Crashed):
        error = error.__cause__ or error.__context__
    return error is not None


class Standalone:
    """Program without a manager: `run(requester, clock, stop)` sends requests, and waits by the clock."""

    def __init__(self, run: RunFunction) -> None:
        self.run = run

    def __repr__(self) -> str:
        return f"<Standalone {getattr(self.run, '__name__', self.run)}>"


# Not a sequence of Reconciler[Any]: type checkers take a list of several of its subclasses as one of `type[object]`.
Operators = Setup | Standalone | type[Reconciler[Any]] | Sequence[type[Any]]
"""Operator to perturb: a function that adds controllers, a program of its own, or reconciler classes."""


class Pace(Protocol):
    """Progress of an operator: when it waits, and how its time passes."""

    @property
    def pause(self) -> float:
        """Seconds after the last action until the operator is idle."""

    def wait_until_idle(self) -> None:
        """Return once the operator waits for a response, an event or a time."""

    def advance(self, time: WorldTime, until: float) -> None:
        """Let time pass, at most to `until`."""

    def give_up(self, seconds: float) -> None:
        """Wait until an operator that was killed has ended, at most this time."""


class RunningOperator(Protocol):
    """One start of a program."""

    gate: GateTransport
    watches: list[WatchBody]
    sockets: list[GateDuplex]
    is_paused: bool

    @property
    def clock(self) -> OperatorClock:
        """Clock of this start."""

    @property
    def ended(self) -> str:
        """Reason why the program has ended by itself; empty while it runs."""

    @property
    def is_starting(self) -> bool:
        """True until its first request, if the process shows that."""

    @property
    def is_busy(self) -> bool:
        """True if it is about to send a request, if the process shows that."""

    def kill(self) -> None:
        """End it as by a crash."""

    def close(self) -> None:
        """Release what it uses."""


def send(
    server: InMemoryServer, operator: RunningOperator, outgoing: Outgoing, number: int
) -> tuple[ServedReply, HTTPReply | GateDuplex]:
    """Send a write of an operator; return the server's response, and what the operator gets.

    `number` is that of a generated name.
    """
    if outgoing.method != UPGRADE:
        reply = server.request(outgoing.method, outgoing.target, outgoing.headers, outgoing.named(number))
        return reply, http_reply(reply)
    served = server.upgrade(outgoing.target, outgoing.headers)
    if isinstance(served, ServedReply):
        return served, http_reply(served)
    duplex = GateDuplex(served, operator.clock)
    operator.sockets.append(duplex)
    return ServedReply(duplex.status, duplex.headers, b""), duplex


def exchange(operators: Iterable[RunningOperator]) -> bool:
    """Pass on what commands in pods and the operators send; return whether an operator has got something."""
    has_data = False
    for operator in operators:
        for duplex in operator.sockets[:]:
            has_data |= duplex.exchange()
            if duplex.release():
                operator.sockets.remove(duplex)
    return has_data


class PerturbedProgram(Protocol):
    """Operator to perturb, which is started any number of times."""

    log: "BugLog"
    revivals: int
    """Number of times in a run that the operator is started again after it has ended by itself."""

    def start(self, time: WorldTime) -> RunningOperator:
        """Start the operator."""

    def pace(self) -> Pace:
        """Return the progress of the operators that are started from now on."""

    def epoch(self) -> float:
        """Return the seconds since the epoch at which a run begins."""


class OperatorProgram:
    """Operator in this process: reconcilers of a manager, or a function that runs until it is stopped."""

    revivals = 0

    def __init__(self, setup: Operators, options: Options) -> None:
        """Describe an operator; its manager has these options."""
        self.setup = setup
        self.options = options
        self.log = BugLog()

    def __repr__(self) -> str:
        return f"<OperatorProgram {getattr(self.setup, '__name__', self.setup)}>"

    def start(self, time: WorldTime) -> "Operator":
        """Start the operator."""
        return Operator(self, time)

    def pace(self) -> Pace:
        """Return the progress of the threads that are started from now on."""
        return OperatorThreads()

    def epoch(self) -> float:
        """Return the same time for each run."""
        return EPOCH

    def run(self, requester: Requester, clock: Clock, stop: threading.Event, opened: list[Callable[[], None]]) -> None:
        """Run until `stop` is set; `opened` receives what releases the names that are in use."""
        if isinstance(self.setup, Standalone):
            self.setup.run(requester, clock, stop)
            return
        manager = Manager(requester, options=self.options, clock=clock)
        opened.append(manager.close)
        if isinstance(self.setup, type):
            manager.add_reconciler(self.setup)
        elif isinstance(self.setup, Sequence):
            for cls in self.setup:
                manager.add_reconciler(cls)
        else:
            self.setup(manager)
        manager.run(stop)


class Operator:
    """One start of a program."""

    def __init__(self, program: OperatorProgram, time: WorldTime) -> None:
        self.clock = OperatorClock(time)
        self.gate = GateTransport()
        self.watches: list[WatchBody] = []
        self.sockets: list[GateDuplex] = []
        self.is_paused = False
        self.is_starting = self.is_busy = False  # the engine acts only while all of its threads wait
        self.ended = ""
        """Reason why the program has ended by itself; empty while it runs."""
        self._program = program
        self._stop = threading.Event()
        self._opened: list[Callable[[], None]] = []
        client = RESTClient(Config("http://memory"), transport=self.gate, clock=self.clock)
        client.supports_watch_list = client.lists_in_parts = False  # a plain list can show an older revision
        Group().start(self._run, client, name="perturbed-operator")

    def __repr__(self) -> str:
        return f"<Operator {self.ended or 'running'}>"

    def kill(self) -> None:
        """End all waits and requests as by a crash."""
        self.gate.kill()
        self.clock.kill()
        self._stop.set()

    def close(self) -> None:
        """Release the names that the program uses, such as those of its controllers."""
        while self._opened:
            self._opened.pop()()

    def _run(self, client: RESTClient) -> None:
        try:
            self._program.run(client, self.clock, self._stop, self._opened)
            self.ended = "the operator has ended by itself"
        except Crashed:
            self.ended = "crashed"
        except BaseException as error:  # noqa: BLE001  # of the program that is tested
            self.ended = f"{type(error).__name__}: {error}"
