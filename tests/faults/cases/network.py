"""Faults of connections."""

import socket
from collections.abc import Iterator
from typing import Any

from clientgo.rest.bounds import MAX_FRAME
from tests.faults.case import MACHINE, Case, strikes
from tests.faults.oracle import MEGABYTES
from tests.faults.proxy import Direction, Mood
from tests.faults.rig import SECONDS, Rig

CASES: list[Case] = []

WATCHES = "watch="
SILENCE = 1.5
"""How long a watch may be silent in these cases."""

FAILURES = "reflector_failures_total"
IMPATIENT = {"silence": SILENCE, "bookmarks": SILENCE / 3}
REAL_SILENCE = "≤ 87 s: a watch may be silent for 85 s once a bookmark came, before that for its 5 to 10 min"
WATCHED_AGAIN = "reflector_watches_total"
BOTH_WAYS: frozenset[Direction] = frozenset(("up", "down"))
ANSWERS: frozenset[Direction] = frozenset(("down",))


def chunk(data: bytes) -> bytes:
    """Return a part of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


@strikes(
    many=CASES,
    name="Connection refused",
    does="asks again every 0.75 to 1.5 s, for as long as it takes",
    log="connection refused",
    metric=FAILURES,
    within=2.0 + MACHINE,
    differs="client-go's delays grow to 30 to 60 s, and it notices the return that late",
)
def refused(rig: Rig) -> Iterator[None]:
    rig.proxy.refuse()
    yield
    rig.proxy.listen()


@strikes(
    many=CASES,
    name="Every connection reset",
    does="watches again at once, from the last version",
    log="watch lost.*reset",
    metric=FAILURES,
    itself=True,
    within=1.0 + MACHINE,
)
def reset(rig: Rig) -> Iterator[None]:
    rig.proxy.reset()
    yield


@strikes(
    many=CASES,
    name="Half-open peer: packets are dropped without a reset",
    does="gives the connection up when it was silent too long, and makes a new one",
    log="no data from",
    metric=FAILURES,
    server=IMPATIENT,
    within=SILENCE + 2 * SECONDS + MACHINE,
    real=REAL_SILENCE + "; a machine that is gone is noticed after 60 s",
    differs="client-go's HTTP/2 pings notice within 45 s; on HTTP/1.1 it waits for TCP, up to 15 min",
)
def half_open(rig: Rig) -> Iterator[None]:
    rig.proxy.set(Mood(pause=BOTH_WAYS))
    yield
    rig.proxy.heal()


@strikes(
    many=CASES,
    name="Requests arrive, answers do not",
    does="gives each request up; what may have been carried out is looked up in the cache before it is tried again",
    log="no data from",
    metric=FAILURES,
    server=IMPATIENT,
    within=SILENCE + 2 * SECONDS + MACHINE,
    real=REAL_SILENCE + "; other requests: 75 s",
)
def answers_lost(rig: Rig) -> Iterator[None]:
    rig.proxy.set(Mood(pause=ANSWERS))
    yield
    rig.proxy.heal()


@strikes(
    many=CASES,
    name="Black-holed watch: open, and silent for ever",
    does="ends it and watches again, from the last version",
    log="watch was idle.*no data from",
    metric=WATCHED_AGAIN,
    server=IMPATIENT,
    itself=True,
    within=SILENCE + MACHINE,
    real=REAL_SILENCE,
    differs="client-go waits until the watch's own time is over, 5 to 10 min",
)
def black_hole(rig: Rig) -> Iterator[None]:
    rig.proxy.set(Mood(of=WATCHES, pause=BOTH_WAYS))
    rig.proxy.heal()
    yield


def _cut(number: int) -> None:
    @strikes(
        many=CASES,
        name=f"Watch cut off in the middle of a frame, after {number} bytes",
        does="drops the piece and watches again, from the last whole frame",
        log="watch lost.*in the middle of its response",
        metric=FAILURES,
    )
    def cut(rig: Rig) -> Iterator[None]:
        rig.proxy.set(Mood(of=WATCHES, cut=number))
        yield
        rig.proxy.heal()


for at in (1, 2, 100, 600):
    _cut(at)


@strikes(
    many=CASES,
    name="Garbled bytes: no HTTP any more",
    does="drops the connection and watches again on a new one",
    log="watch lost|failed to list or watch",
    metric=FAILURES,
)
def garbled(rig: Rig) -> Iterator[None]:
    rig.proxy.set(Mood(of=WATCHES, garble=40))
    yield
    rig.proxy.heal()


def _injected(name: str, frame: bytes, log: str, does: str, *, times: int = 1, **more: Any) -> None:
    @strikes(many=CASES, name=name, does=does, log=log, metric=FAILURES, itself=True, **more)
    def injected(rig: Rig) -> Iterator[None]:
        assert rig.proxy.inject([chunk(frame)] * times, WATCHES) == 2
        yield


_injected(
    "Garbled frame: HTTP, and no JSON",
    b'{"type":"ADDED","object":{"metadata":{"na\x00\xff\xfe}}\n',
    "watch lost.*invalid watch stream",
    "takes it for a broken connection: watches again, from the last good frame",
    within=2 * 1.6 + MACHINE,
)
_injected(
    "Frame of an unknown type",
    b'{"type":"RENAMED","object":{"kind":"Foo","metadata":{"name":"x","namespace":"default","resourceVersion":"1"}}}\n',
    "RENAMED|failed to list or watch|watch lost",
    "rejects it and lists again",
    within=2 * 1.6 + MACHINE,
)
_injected(
    "Gigantic frame: 65 MiB without an end",
    b" " * 2**18,
    "watch lost.*a frame is longer than",
    "ends the watch at 64 MiB, and watches again",
    times=MAX_FRAME // 2**18 + 4,
    grows=2 * MAX_FRAME / 2**20 + MEGABYTES,
    within=2 * 1.6 + 2 * MACHINE,
    differs="client-go reads on as long as memory lasts",
)
_injected(
    "410 in the middle of a watch",
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"too old resource version: 1 (2)","reason":"Expired","code":410}}\n',
    "watch expired; listing again",
    "lists again after the backoff's first step; the list has the missed changes",
    within=2 * 1.6 + MACHINE,
)
_injected(
    "Internal error in the middle of a watch",
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
    b'"message":"etcd event received with PrevKv=nil","reason":"InternalError","code":500}}\n',
    "failed to list or watch.*PrevKv",
    "lists again after the backoff's first step",
    within=2 * 1.6 + MACHINE,
)


@strikes(many=CASES, name="Frames split at every byte", does="puts them together", itself=True, within=MACHINE)
def split(rig: Rig) -> Iterator[None]:
    rig.proxy.set(Mood(piece=1))
    yield
    rig.proxy.heal()


@strikes(many=CASES, name="Slow answers: each 0.3 s late", does="waits", itself=True, within=6 * 0.3 + MACHINE)
def slow(rig: Rig) -> Iterator[None]:
    rig.proxy.set(Mood(delay=0.3))
    yield
    rig.proxy.heal()


@strikes(
    many=CASES,
    name="Answers later than the request's timeout",
    does="gives each request up and tries the Foo again, with growing delays",
    log="cannot reconcile.*no data from",
    metric='rest_client_requests_total.*code="<error>"',
    shows_within=SECONDS + 10,
    real="requests: 75 s",
)
def too_slow(rig: Rig) -> Iterator[None]:
    rig.proxy.set(Mood(of="HTTP", delay=SECONDS + 0.5))
    yield
    rig.proxy.heal()


class Resolver:
    """Replacement of getaddrinfo that resolves one more name, or fails to on request."""

    NAME = "apiserver.localhost"

    def __init__(self) -> None:
        self.fails = False
        self._real: Any = socket.getaddrinfo

    def __call__(self, host: bytes, *remainder: Any, **options: Any) -> Any:
        """Resolve like getaddrinfo."""
        if host != self.NAME.encode():
            return self._real(host, *remainder, **options)
        if self.fails:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return self._real("127.0.0.1", *remainder, **options)


_resolver = Resolver()


def _by_name(rig: Rig) -> None:
    rig.reach(f"http://{Resolver.NAME}:{rig.proxy.port}")


@strikes(
    many=CASES,
    name="DNS fails",
    does="goes on as long as its connections last; then asks again with growing delays",
    log="cannot resolve",
    metric=FAILURES,
    prepare=_by_name,
)
def no_names(rig: Rig) -> Iterator[None]:
    _resolver.fails = True
    rig.proxy.reset()
    yield
    _resolver.fails = False


def resolver() -> Resolver:
    """Return the replacement of `socket.getaddrinfo`, the only seam between a program and DNS."""
    return _resolver
