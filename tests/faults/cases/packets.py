"""Lost packets, dropped by a router in a network of namespaces."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clientgo.clock import SYSTEM_CLOCK
from tests.faults.case import MACHINE, Case, strikes
from tests.faults.cases.network import FAILURES, IMPATIENT, REAL_SILENCE, SILENCE, WATCHED_AGAIN, black_hole
from tests.faults.network import CLIENT, OTHER, SERVER, Network
from tests.faults.rig import SECONDS, Rig

CASES: list[Case] = []
SLOW: list[Case] = []
"""With the defaults instead of timeouts short enough for a test: minutes."""

DEAD_PEER = 90.0
"""Seconds within which a peer that is gone must be missed."""

SILENT = "watch lost|no data from|timed out"
GONE = "≤ 65 s: keep-alive, and what was sent and never acknowledged"
FORGETS = "gives connections that are silent too long up, one by one, and makes new ones"


class FarRig(Rig):
    """Rig whose controller is at the client's end of a network, everything else at the server's."""

    def __init__(self, folder: Path, *flags: str, network: Network, **options: Any) -> None:
        super().__init__(folder, *flags, secure=True, location=SERVER, **options)
        self.network = network
        self.reach(self.host)

    def start(self) -> None:
        """Start the controller in the client's namespace."""
        self.network.run("client", super().start)

    def metric(self, pattern: str) -> float:
        """Scrape the controller in the client's namespace."""
        return self.network.run("client", lambda: super(FarRig, self).metric(pattern))


def between(rig: Rig) -> Network:
    """Return the network between controller and server."""
    assert isinstance(rig, FarRig)
    return rig.network


def patient(rig: Rig) -> None:
    """Give the controller's requests the default timeouts."""
    rig.reach(rig.config.host, timeout=None)


def _lost(many: list[Case], name: str, **more: Any) -> None:
    @strikes(
        many=many,
        name=name,
        does="gives connections up that were silent too long, and tries to make new ones, with growing delays",
        log=SILENT,
        metric=FAILURES,
        **more,
    )
    def lost(rig: Rig) -> Iterator[None]:
        between(rig).lose(CLIENT, SERVER)
        yield
        between(rig).deliver(CLIENT, SERVER)


def _forgotten(many: list[Case], name: str, **more: Any) -> None:
    @strikes(many=many, name=name, does=FORGETS, log=SILENT, metric=FAILURES, itself=True, **more)
    def forgotten(rig: Rig) -> Iterator[None]:
        between(rig).lose(CLIENT)
        between(rig).move(OTHER)
        yield
        between(rig).move(CLIENT)
        between(rig).deliver(CLIENT)


_lost(CASES, "Packets lost, both ways: no answer and no reset", server=IMPATIENT, real=REAL_SILENCE)
_forgotten(
    CASES,
    "Connections forgotten by a router (NAT): their packets are lost, new ones work",
    server=IMPATIENT,
    within=SILENCE + 3 * SECONDS + MACHINE,
    real=GONE,
    differs="client-go's HTTP/2 pings notice within 45 s; on HTTP/1.1 it waits for TCP, up to 15 min",
)


@strikes(
    many=CASES, name="A cable that comes and goes, ten times, each 0.2 s", does="nothing: TCP sends again what was lost"
)
def flapping(rig: Rig) -> Iterator[None]:
    never = threading.Event()
    for number in range(10):
        between(rig).lose(CLIENT, SERVER)
        rig.create(f"lost-{number}")
        SYSTEM_CLOCK.sleep(never, 0.2)
        between(rig).deliver(CLIENT, SERVER)
        SYSTEM_CLOCK.sleep(never, 0.2)
    yield


_forgotten(SLOW, "Connections forgotten by a router (NAT), with the defaults", prepare=patient, within=DEAD_PEER)
_lost(SLOW, "Packets lost, both ways, with the defaults: missed within 90 s", prepare=patient, shows_within=DEAD_PEER)
NEAR = Case(
    name="Black-holed watch, with the defaults: the server's machine lives, and the watch is silent",
    does="ends it and watches again, from the last version",
    strike=black_hole,
    log="watch was idle.*no data from",
    metric=WATCHED_AGAIN,
    server={"bookmarks": 1.0},
    itself=True,
    prepare=patient,
    within=DEAD_PEER,
)
"""The one of them that takes no network but the proxy."""
