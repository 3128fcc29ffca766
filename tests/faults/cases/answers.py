"""Faults in the responses of servers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from clientgo_apiserver.faults import Fault
from tests.faults.case import MACHINE, Case, strikes
from tests.faults.rig import Rig

CASES: list[Case] = []

CONTROLLERS = (
    Fault(method="GET"),
    Fault(method="WATCH"),
    Fault(method="PUT"),
    Fault(method="POST", resource="deployments"),
    Fault(method="PATCH", resource="deployments"),
    Fault(method="POST", resource="events"),
)
"""Requests that the controller makes, and, but for reads, the test does not."""


WRITES = CONTROLLERS[2:]
GROWING = "comes back with growing delays"
FEWER = "asks for fewer requests"
TOLD = "retries after Retry-After, at most 10 times a request; then with growing delays"


@contextmanager
def struck(rig: Rig, requests: Sequence[Fault], **how: Any) -> Iterator[None]:
    """Let matching requests fail during the block."""
    active = [rig.server.faults.add(replace(request, **how)) for request in requests]
    yield
    for item in active:
        rig.server.faults.remove(item)


def _storm(code: int, *, wait: int | None = None, does: str, log: str) -> None:
    waits = "" if wait is None else f", Retry-After: {wait}"

    @strikes(
        many=CASES,
        name=f"{code} to every request{waits}",
        does=does,
        log=log,
        metric=f'rest_client_requests_total.*code="{code}"',
        shows_within=20.0,
        lasts=3.0,
    )
    def storm(rig: Rig) -> Iterator[None]:
        with struck(rig, CONTROLLERS, code=code, retry_after=wait):
            rig.proxy.reset()
            yield

    @strikes(
        many=CASES,
        name=f"{code} to every write{waits}",
        does=f"{does}, each Foo for itself",
        log=f"cannot reconcile.*injected fault: {code}",
        metric=f'rest_client_requests_total.*code="{code}"',
        shows_within=20.0,
    )
    def writes_refused(rig: Rig) -> Iterator[None]:
        with struck(rig, WRITES, code=code, retry_after=wait):
            yield


for each in (500, 503, 504):
    _storm(each, does=GROWING, log="failed to list or watch")
_storm(503, wait=1, does=TOLD, log="failed to list or watch")
_storm(429, does=GROWING, log=FEWER)
_storm(429, wait=1, does=TOLD, log=FEWER)


@strikes(
    many=CASES,
    name="410 to every list and watch, again and again",
    does="asks for the newest state, independent of any version, with growing delays",
    log="falling back to a regular list|failed to list or watch",
    metric='reflector_failures_total.*error="(Gone|Expired)"',
)
def gone(rig: Rig) -> Iterator[None]:
    with struck(rig, CONTROLLERS[:2], code=410):
        rig.proxy.reset()
        yield


@strikes(
    many=CASES,
    name="410 as a watch is opened: the server has forgotten",
    does="lists again after the backoff's first step; the list has the missed changes",
    log="watch expired; listing again",
    metric='reflector_failures_total.*error="(Gone|Expired)"',
    itself=True,
    within=2 * 1.6 + MACHINE,
)
def forgotten(rig: Rig) -> Iterator[None]:
    rig.proxy.refuse()
    rig.create("missed")
    rig.server.faults.compact()
    rig.proxy.listen()
    yield


@strikes(
    many=CASES,
    name="Connections closed after the request took effect",
    does="tries again, finds the Deployment made (AlreadyExists), and goes on",
    log="cannot reconcile",
    metric='rest_client_requests_total.*code="<error>"',
)
def dropped_after(rig: Rig) -> Iterator[None]:
    with struck(rig, WRITES, drop="after"):
        yield


@strikes(
    many=CASES,
    name="The server's disk is full",
    does="tries each Foo again, with growing delays; caches go on",
    log="cannot reconcile.*database space exceeded",
    metric="workqueue_retries_total",
    takes_writes=False,
)
def disk_full(rig: Rig) -> Iterator[None]:
    rig.proxy.refuse()
    rig.create("unheard")
    rig.server.faults.fill_disk()
    rig.proxy.listen()
    yield
    rig.server.faults.fill_disk(full=False)
