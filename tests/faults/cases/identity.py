"""Expired, revoked and renewed credentials and certificates."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from clientgo_apiserver.api.users import MASTERS, authenticated
from tests.faults.case import MACHINE, Case, strikes
from tests.faults.cases.network import FAILURES
from tests.faults.rig import Rig

CASES: list[Case] = []


def _token(rig: Rig, token: str) -> None:
    (rig.folder / "token").write_text(token)
    rig.server.add_user(token, authenticated("controller", MASTERS))


def _by_token_file(rig: Rig) -> None:
    _token(rig, "first")
    rig.config = replace(rig.config, token="", token_file=str(rig.folder / "token"))


def _by_authority_file(rig: Rig) -> None:
    _trust(rig)
    rig.config = replace(rig.config, ca_data="", ca_file=str(rig.folder / "ca.crt"))


def _trust(rig: Rig) -> None:
    assert rig.server.ca is not None
    (rig.folder / "ca.crt").write_bytes(rig.server.ca)


@strikes(
    many=CASES,
    name="Server's certificate expired, then renewed",
    does="refuses to connect, asks again with growing delays",
    log="is not trusted: certificate has expired",
    metric=FAILURES,
    server={"secure": True},
    takes_writes=False,
)
def expired(rig: Rig) -> Iterator[None]:
    rig.create("missed")
    rig.server.certificates.renew(lasts=timedelta(seconds=-1))
    rig.proxy.reset()
    yield
    rig.server.certificates.renew()


@strikes(
    many=CASES,
    name="Authority replaced, and its file later",
    does="rejects the connection until the file has the new authority; reads the file at each attempt",
    log="is not trusted",
    metric=FAILURES,
    server={"secure": True},
    prepare=_by_authority_file,
    takes_writes=False,
)
def replaced(rig: Rig) -> Iterator[None]:
    rig.server.certificates.replace_authority()
    rig.proxy.reset()
    yield
    _trust(rig)
    assert rig.server.ca is not None
    rig.administer(ca_data=rig.server.ca.decode())


@strikes(
    many=CASES,
    name="Token revoked, and its file later",
    does="reads the file again when it is answered 401, and tries again with growing delays",
    log="cannot reconcile.*Unauthorized|failed to list or watch.*Unauthorized",
    metric='rest_client_requests_total.*code="401"',
    server={"secure": True},
    prepare=_by_token_file,
)
def revoked(rig: Rig) -> Iterator[None]:
    rig.server.remove_user("first")
    rig.proxy.reset()
    yield
    _token(rig, "second")


@strikes(
    many=CASES,
    name="Token rotated in time, as the kubelet does it",
    does="reads the file again: nothing is noticed",
    itself=True,
    within=MACHINE,
    server={"secure": True},
    prepare=_by_token_file,
)
def rotated(rig: Rig) -> Iterator[None]:
    _token(rig, "second")
    rig.server.remove_user("first")
    yield
