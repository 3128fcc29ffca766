"""Faults of servers: killed, restarted with and without data, restored from a backup, frozen."""

import signal
from collections.abc import Iterator
from pathlib import Path

from clientgo.cache.state import InformerState
from clientgo.cache.watcher import SHORT_WATCH_SECONDS
from clientgo.clock import SYSTEM_CLOCK
from clientgo_apiserver.server import ApiServer
from tests.faults.case import MACHINE, Case, strikes
from tests.faults.cases.network import FAILURES, IMPATIENT, REAL_SILENCE, SILENCE
from tests.faults.rig import SECONDS, Rig

CASES: list[Case] = []

UNKNOWN_VERSION = "≤ 10 s: a real server takes 3 s to say that it lacks the version"

KEYS = 5.12
"""The delay of a Foo that has failed ten times, as those do that the server knows no more, until a list tells so."""


def directly(rig: Rig) -> None:
    """Connect the controller to the server without the proxy, which would accept connections for a dead server."""
    rig.reach(rig.host)


@strikes(
    many=CASES,
    name="Server killed (SIGKILL), and started again with its data",
    does="asks again every 0.75 to 1.5 s, watches on from the last version, or lists at once if that is forgotten",
    log="watch lost",
    metric=FAILURES,
    server={"process": True},
    takes_writes=False,
    prepare=directly,
    within=2.0 + MACHINE,
)
def killed(rig: Rig) -> Iterator[None]:
    rig.create("last")
    rig.process.kill()
    yield
    rig.process.start()


@strikes(
    many=CASES,
    name="Server killed, and started again with nothing",
    does="detects that the server does not know the last version, lists again, and drops missing objects",
    log="watch lost",
    metric=FAILURES,
    server={"process": True},
    takes_writes=False,
    prepare=directly,
    within=2.0 + 2 * 1.6 + MACHINE,
    real=UNKNOWN_VERSION,
    differs="client-go watches on from a version that the server will reach again one day; until then it hears nothing",
)
def emptied(rig: Rig) -> Iterator[None]:
    rig.process.kill()
    yield
    rig.wanted.clear()
    rig.process.forget()
    rig.process.start()


@strikes(
    many=CASES,
    name="Server restored from a backup: versions go backwards",
    does="asks, after each lost connection, whether the server knows its version; lists the newest state if not",
    log="watch lost|failed to list or watch",
    metric=FAILURES,
    server={"data": True},
    takes_writes=False,
    prepare=directly,
    within=2.0 + 2 * 1.6 + KEYS + MACHINE,
    real=UNKNOWN_VERSION,
    differs="client-go's watches stay silent until the server reaches the old version again",
)
def restored(rig: Rig) -> Iterator[None]:
    backup, then = undone(rig)
    port = int(rig.host.rpartition(":")[2])
    rig.server.stop()
    yield
    rig.wanted = then
    rig.environment.server = ApiServer(port=port, data_dir=backup)
    rig.server.start()


@strikes(
    many=CASES,
    name="Server restored from a backup, before a request failed",
    does="asks the same after the lost connection",
    log="failed to list or watch.*Too large resource version",
    metric=FAILURES,
    server={"data": True},
    takes_writes=False,
    within=2 * 1.6 + KEYS + MACHINE,
    real=UNKNOWN_VERSION,
    differs="client-go's watches stay silent until the server reaches the old version again",
)
def replaced(rig: Rig) -> Iterator[None]:
    backup, then = undone(rig)
    # Shorter ones count as failures when they end, and would cause a list anyway.
    rig.until(lambda: all(_age(informer.state()) > SHORT_WATCH_SECONDS for informer in rig.informers), 10)
    old, new = rig.server, ApiServer(data_dir=backup)
    new.start()
    rig.environment.server = new
    rig.administer(host=new.url)
    rig.wanted = then
    rig.proxy.aim(new.url)
    rig.proxy.reset()
    old.stop()
    yield


def _age(state: InformerState) -> float:
    return 0.0 if state.watching_since is None else SYSTEM_CLOCK.now() - state.watching_since


def undone(rig: Rig) -> tuple[Path, dict[tuple[str, str], int]]:
    """Back up the server, then change much; return the backup and the Foos wanted at that time."""
    backup = rig.folder / "backup"
    rig.server.backup(backup)
    then = dict(rig.wanted)
    for number in range(5):
        rig.create(f"undone-{number}")
    rig.scale("before", 3)
    rig.until(lambda: all(informer.size > 5 for informer in rig.informers), 10)
    return backup, then


@strikes(
    many=CASES,
    name="Server frozen (SIGSTOP): its machine answers, it does not",
    does="gives up requests and watches that were silent too long; later ones are answered when it thaws",
    log="watch was idle.*no data from",
    metric=FAILURES,
    server={"process": True, **IMPATIENT},
    takes_writes=False,
    within=SILENCE + 2 * SECONDS + MACHINE,
    real=REAL_SILENCE,
    differs="client-go's HTTP/2 pings notice within 45 s",
)
def frozen(rig: Rig) -> Iterator[None]:
    rig.process.signal(signal.SIGSTOP)
    yield
    rig.process.signal(signal.SIGCONT)


@strikes(
    many=CASES,
    name="Server's clock jumps an hour ahead, and two back",
    does="nothing: no delay goes by the server's time",
    itself=True,
    within=MACHINE,
    flags=("--leader-elect",),
)
def server_skewed(rig: Rig) -> Iterator[None]:
    rig.server.faults.skew(3600)
    rig.create("ahead")
    rig.server.faults.skew(-3600)
    yield
    rig.server.faults.skew(0)


@strikes(
    many=CASES,
    name="Controller's clock jumps an hour ahead, and two back",
    does="nothing: delays and the lease go by the monotonic clock",
    itself=True,
    within=MACHINE,
    flags=("--leader-elect",),
)
def skewed(rig: Rig) -> Iterator[None]:
    jump(rig, 3600)
    rig.create("ahead")
    jump(rig, -3600)
    yield
    jump(rig, 0)


def jump(rig: Rig, seconds: float) -> None:
    """Change this process' wall clock; the server's, in the same process, stays correct."""
    real = type(SYSTEM_CLOCK).time
    # The one clock of the process; nothing short of the machine's own could be set instead.
    vars(SYSTEM_CLOCK)["time"] = lambda: real(SYSTEM_CLOCK) + seconds
    rig.server.faults.skew(-seconds)
