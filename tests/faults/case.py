"""Fault cases: how a fault is injected, what must hold, and the row of the report."""

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clientgo.clock import SYSTEM_CLOCK
from clientgo.meta.objects import EMPTY_MAP
from clientgo.stop.stopping import StopEvent
from tests.faults import oracle
from tests.faults.oracle import Resources
from tests.faults.rig import Rig

MACHINE = 2.0
"""Seconds that a busy machine may take for what takes milliseconds."""

FIRST_STEP = 0.8
"""The reflector's first delay, which jitter may double; each further one is twice the one before."""

SOON = 10.0
"""Seconds within which a fault must show, unless its case allows more."""

MOST_A_FOO = 44
"""Requests that a fault may cost a Foo: eleven tries, 5 ms, 10 ms, 20 ms and so on apart, which is five seconds in all,
of four requests each: what is there, the Deployment, the status, an event."""

MOST_A_SECOND = 10
"""Requests a second that it may cost besides, as long as it lasts."""

Strike = Callable[[Rig], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Result of one run; times in seconds."""

    fault: str
    does: str
    healed: float
    bound: float
    since: str
    real: str
    log: str = ""
    metric: str = ""
    burst: int = 0
    requests: float = 0.0
    megabytes: float = 0.0
    differs: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One fault. `strike` is a context manager that injects it, for its block or, if it heals `itself`, at its start.

    Meanwhile two Foos are changed on the server if it `takes_writes`. It must show as a log line and an increasing
    metric, given as patterns; both are empty if the controller need not notice. It must heal `within` seconds of its
    end, or of its start; by default twice the longest delay that applies. `real` is that bound with default settings,
    if the case has shorter times. `differs` describes client-go's behaviour. The fault `lasts` at least so long; the
    process `grows` by at most so many MB.
    """

    name: str
    does: str
    strike: Strike
    log: str = ""
    metric: str = ""
    itself: bool = False
    takes_writes: bool = True
    within: float = 0.0
    shows_within: float = SOON
    lasts: float = 0.0
    grows: float = oracle.MEGABYTES
    real: str = ""
    differs: str = ""
    flags: tuple[str, ...] = ()
    server: Mapping[str, Any] = field(default=EMPTY_MAP)
    prepare: Callable[[Rig], object] = lambda _: None

    def __str__(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


def strikes(*, many: list[Case], **about: Any) -> Callable[[Callable[[Rig], Iterator[None]]], Strike]:
    """Add a case to `many`; the decorated generator injects its fault."""

    def add(built: Callable[[Rig], Iterator[None]]) -> Strike:
        strike = contextmanager(built)
        many.append(Case(strike=strike, **about))
        return strike

    return add


def run(case: Case, folder: Path, make: Callable[..., Rig] = Rig) -> Row:
    """Inject the fault into a new controller; fail unless every invariant holds."""
    # Starts the process' stop-dispatcher, which stays, before the threads are counted.
    StopEvent().scope.add(object(), int)
    held = Resources.now()
    rig = make(folder, *case.flags, **case.server)
    try:
        case.prepare(rig)
        rig.start()
        rig.create("before")
        rig.until(lambda: oracle.healthy(rig), 10)
        row = _strike(case, rig)
    finally:
        rig.end()
    _nothing_stays(held)
    return row


def _nothing_stays(held: Resources) -> None:
    # A joined thread is the kernel's for a moment longer.
    deadline = SYSTEM_CLOCK.now() + MACHINE
    while (remaining := Resources.now()).threads > held.threads and SYSTEM_CLOCK.now() < deadline:
        SYSTEM_CLOCK.sleep(threading.Event(), 0.01)
    names = [thread.name for thread in threading.enumerate()]
    assert remaining.threads <= held.threads, (
        f"{remaining.threads} threads, and {held.threads} before; Python's are {names}"
    )
    # The first run of all opens two that stay: the event loop's and the random numbers'.
    assert remaining.files <= held.files + 2, f"{remaining.files} files, and {held.files} before"


def _strike(case: Case, rig: Rig) -> Row:
    first, before, sent = len(rig.log.lines), _metric(case, rig), rig.sent()
    resources, began = Resources.now(), SYSTEM_CLOCK.now()
    with case.strike(rig):
        if case.takes_writes:
            rig.create("during")
            rig.scale("before", 2)
        if case.itself:
            healed = _heal(rig, case.within, began)
        rig.until(lambda: _shows(case, rig, first, before), case.shows_within)
        rig.until(lambda: SYSTEM_CLOCK.now() >= began + case.lasts, case.lasts + MACHINE)
    lifted = SYSTEM_CLOCK.now()
    bound = case.within or 2 * (lifted - began + FIRST_STEP) + MACHINE
    rig.create("after")
    if case.itself:
        rig.until(lambda: oracle.healthy(rig), MACHINE + SOON)
    else:
        healed = _heal(rig, bound, lifted)
    ended = SYSTEM_CLOCK.now()
    burst = _check(rig, began, ended)
    requests = rig.sent() - sent
    most = MOST_A_FOO * len(rig.named) + MOST_A_SECOND * (ended - began)
    assert requests <= most, f"{requests} in {ended - began:.1f} s for {len(rig.named)} Foos"
    now = Resources.now()
    assert now.megabytes - resources.megabytes < case.grows, f"{resources}, and now {now}"
    return Row(
        fault=case.name,
        does=case.does,
        healed=healed,
        bound=bound,
        since="its beginning" if case.itself else "its end",
        real=case.real,
        log=_sentence(rig.log.find(case.log, first)) if case.log else "",
        metric=case.metric,
        burst=burst,
        requests=requests / (ended - began),
        megabytes=now.megabytes - resources.megabytes,
        differs=case.differs,
    )


def _heal(rig: Rig, bound: float, since: float) -> float:
    rig.until(lambda: oracle.healthy(rig), max(0.0, since + bound - SYSTEM_CLOCK.now()))
    return SYSTEM_CLOCK.now() - since


def _check(rig: Rig, began: float, ended: float) -> int:
    oracle.one_worker_a_key(rig)
    assert not rig.log.unhandled, rig.log.unhandled
    assert rig.group.alive() == ["program"]
    return oracle.lists_are_bounded(rig, began, ended)


def _shows(case: Case, rig: Rig, first: int, before: float) -> bool:
    if case.log and not rig.log.find(case.log, first):
        return False
    return not case.metric or _metric(case, rig) > before


def _metric(case: Case, rig: Rig) -> float:
    return rig.metric(case.metric) if case.metric else 0.0


VARYING = "kind|namespace|name|reconcile_id|left_out|attempt|retry_in|request|at"
"""Values that differ between runs."""


def _sentence(line: str) -> str:
    """Return a log line without varying parts, caller and thread."""
    message = line.partition("] ")[2].partition(' thread="')[0]
    message = re.sub(rf' ({VARYING})=("[^"]*"|\S+)', "", message)
    message = re.sub(r"(127\.0\.0\.1|10\.213\.2\.2|apiserver\.faults\.test):\d+", "SERVER", message)
    return message if len(message) < 200 else message[:200] + "…"
