"""Certificates for development: created, injected into the bundled server and rotated, with a fake clock."""

import ssl
import stat
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.envtest import BundledServer, Environment
from clientgo.errors import NotFound
from clientgo.meta.codec import encode_value
from clientgo.pki import CertificateAuthority
from clientgo.rest import RESTClient
from clientgo.rest.request import Request, Requester
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.webhook.injection import CRDS, MUTATING, VALIDATING, Targets, inject_ca, server_names
from clientgo.webhook.rotation import SelfSignedCertificates
from tests.definitions import custom_kind
from tests.fulldisk import contents, full_disk

pytestmark = pytest.mark.integration

TARGETS = Targets(mutating=("mutating",), validating=("validating",), crds=("homes.ajd.my.domain",))
SERVICE = {"namespace": "system", "name": "webhook-service", "path": "/x"}

Object = dict[str, Any]


def configuration(kind: str, *clients: Object) -> Object:
    hooks = [
        {
            "name": f"h{index}.example.com",
            "clientConfig": client,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        for index, client in enumerate(clients)
    ]
    name = kind.lower().removesuffix("webhookconfiguration")
    api_version = "admissionregistration.k8s.io/v1"
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "webhooks": hooks}


CONVERSION = {"clientConfig": {"service": SERVICE}, "conversionReviewVersions": ["v1"]}


@pytest.fixture(scope="module")
def client() -> Iterator[RESTClient]:
    with Environment(server=BundledServer()) as config, closing(RESTClient(config)) as client:
        yield client


@pytest.fixture
def installed(client: RESTClient) -> Iterator[Requester]:
    objects = (
        (MUTATING, configuration("MutatingWebhookConfiguration", {"service": SERVICE})),
        (VALIDATING, configuration("ValidatingWebhookConfiguration", {"service": SERVICE}, {"url": "https://h:1/x"})),
        (CRDS, custom_kind("Home", "ajd.my.domain", "v1", conversion={"strategy": "Webhook", "webhook": CONVERSION})),
    )
    for resource, obj in objects:
        client.do(Request(verb="create", resource=resource, body=encode_value(obj)))
    yield client
    for resource, obj in objects:
        client.do(Request(verb="delete", resource=resource, name=obj["metadata"]["name"]))


def bundles(requester: Requester) -> list[bytes]:
    """Return the CA bundle of each webhook."""
    matches = []
    for resource, name in TARGETS:
        obj = msgspec.json.decode(requester.do(Request(verb="get", resource=resource, name=name)))
        clients = [hook["clientConfig"] for hook in obj.get("webhooks", ())]
        if resource == CRDS:
            clients = [obj["spec"]["conversion"]["webhook"]["clientConfig"]]
        matches += [b64decode(item.get("caBundle", "")) for item in clients]
    return matches


def trusts(bundle: bytes, folder: Path, *names: str) -> bool:
    """Return whether a TLS handshake in memory succeeds between a client with the bundle and the folder's pair."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    trusting = ssl.create_default_context(cadata=bundle.decode())
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT  # as Python 3.13 is by default
    for name in names or ("webhook-service.system.svc",):
        up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
        ours = trusting.wrap_bio(down, up, server_hostname=name)
        theirs = context.wrap_bio(up, down, server_side=True)
        for side in (ours, theirs, ours):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError:
                return False
    return True


class LookingClock(FakeClock):
    """Clock that advances at once, and calls a function before each sleep."""

    def __init__(self) -> None:
        super().__init__(time=SYSTEM_CLOCK.time(), auto=True)
        self.look: Callable[[], object] = lambda: None

    def sleep(self, stop: threading.Event, seconds: float) -> bool:
        self.look()
        return super().sleep(stop, seconds)


@pytest.fixture
def clock() -> LookingClock:
    return LookingClock()


def keeper(requester: Requester, folder: Path, clock: Clock, **options: Any) -> SelfSignedCertificates:
    return SelfSignedCertificates(requester, folder, TARGETS, **{"lasts": 900.0, "clock": clock, **options})


def test_prepare_makes_every_webhook_trusted(installed: Requester, tmp_path: Path, clock: LookingClock) -> None:
    keeper(installed, tmp_path / "certs", clock, hosts=["127.0.0.1"]).prepare()
    assert len(bundles(installed)) == 4
    for bundle in bundles(installed):
        assert trusts(bundle, tmp_path / "certs", "webhook-service.system.svc", "h", "127.0.0.1")
    assert stat.S_IMODE((tmp_path / "certs" / "ca.key").stat().st_mode) == 0o600


def test_prepare_keeps_an_existing_authority(installed: Requester, tmp_path: Path, clock: LookingClock) -> None:
    keeper(installed, tmp_path, clock).prepare()
    before, files = bundles(installed), (tmp_path / "tls.crt").read_bytes()
    keeper(installed, tmp_path, clock).prepare()
    assert (bundles(installed), (tmp_path / "tls.crt").read_bytes()) == (before, files)


def test_certificate_for_other_hosts_or_of_another_authority_is_replaced(
    installed: Requester, tmp_path: Path, clock: LookingClock
) -> None:
    keeper(installed, tmp_path, clock).prepare()
    authority = (tmp_path / "ca.crt").read_bytes()
    keeper(installed, tmp_path, clock, hosts=["other.example.com"]).prepare()
    assert all(trusts(bundle, tmp_path, "other.example.com") for bundle in bundles(installed))
    for name, content in zip(("tls.crt", "tls.key"), CertificateAuthority.create("test-ca").server(["x"]), strict=True):
        (tmp_path / name).write_bytes(content)
    keeper(installed, tmp_path, clock).prepare()
    assert all(trusts(bundle, tmp_path) for bundle in bundles(installed))
    assert (tmp_path / "ca.crt").read_bytes() == authority


@pytest.mark.parametrize("damage", ["ca.crt", "ca.key"])
def test_invalid_authority_is_replaced(installed: Requester, tmp_path: Path, clock: LookingClock, damage: str) -> None:
    keeper(installed, tmp_path, clock).prepare()
    (tmp_path / damage).write_bytes(CertificateAuthority.create("test-ca").key)
    keeper(installed, tmp_path, clock).prepare()
    assert all(trusts(bundle, tmp_path) for bundle in bundles(installed))


@pytest.mark.feature("A-15")
def test_rotation_keeps_the_certificate_trusted(installed: Requester, tmp_path: Path, clock: LookingClock) -> None:
    certificates = keeper(installed, tmp_path, clock)
    certificates.prepare()
    states: list[tuple[int, bool, bytes]] = []

    def look() -> None:
        [bundle, *other_items] = bundles(installed)
        assert other_items == [bundle] * 3
        states.append((bundle.count(b"BEGIN"), trusts(bundle, tmp_path), (tmp_path / "tls.crt").read_bytes()))

    clock.look = look
    look()
    certificates.rotate(threading.Event())
    look()
    assert [count for count, _, _ in states] == [1, 2, 2, 1]
    assert all(trusted for _, trusted, _ in states)
    assert len({certificate for _, _, certificate in states[:2]}) == 1
    assert len({certificate for _, _, certificate in states[1:]}) == 2


def test_rotation_happens_after_two_thirds_of_the_lifetime(
    installed: Requester, tmp_path: Path, clock: LookingClock
) -> None:
    certificates = keeper(installed, tmp_path, clock, overlap_seconds=1.0)
    certificates.prepare()
    began, stop = clock.time(), threading.Event()
    replaced: list[float] = []
    first = (tmp_path / "tls.crt").read_bytes()

    def look() -> None:
        if (tmp_path / "tls.crt").read_bytes() != first:
            replaced.append(clock.time() - began)
            stop.set()

    clock.look = look
    certificates.start(stop)
    assert replaced[0] == pytest.approx(601.0, abs=2.0)


def test_failed_rotation_is_retried_after_a_minute(
    installed: Requester, tmp_path: Path, clock: LookingClock, caplog: pytest.LogCaptureFixture
) -> None:
    missing = SelfSignedCertificates(installed, tmp_path, Targets(crds=("none",)), clock=clock)
    with pytest.raises(NotFound):
        missing.prepare()
    stop = threading.Event()
    clock.look = lambda: stop.set() if len(caplog.records) == 2 else None
    missing.start(stop)
    assert clock.slept[0] == 60.0
    assert {record.msg for record in caplog.records} == {"cannot renew the webhook certificate; will retry"}


def test_full_disk_leaves_the_pair_and_one_further_authority_for_the_next_attempt(
    installed: Requester, tmp_path: Path, clock: LookingClock
) -> None:
    certificates = keeper(installed, tmp_path, clock)
    certificates.prepare()
    before = contents(tmp_path)
    for _ in range(3):
        with full_disk(), pytest.raises(OSError, match="File too large"):
            certificates.rotate(threading.Event())
        assert contents(tmp_path) == before
        assert [bundle.count(b"BEGIN") for bundle in bundles(installed)] == [2] * 4
    certificates.rotate(threading.Event())
    assert contents(tmp_path) != before
    for bundle in bundles(installed):
        assert (bundle.count(b"BEGIN"), trusts(bundle, tmp_path)) == (1, True)


def test_authority_from_the_future_is_replaced(installed: Requester, tmp_path: Path, clock: LookingClock) -> None:
    future = FakeClock(time=clock.time() + 365 * 24 * 3600.0)
    keeper(installed, tmp_path, future, lasts=3600.0).prepare()
    keeper(installed, tmp_path, clock).prepare()
    assert all(trusts(bundle, tmp_path) for bundle in bundles(installed))


def test_configuration_that_is_created_again_trusts_the_authority_again(
    installed: Requester, tmp_path: Path, clock: LookingClock
) -> None:
    certificates = keeper(installed, tmp_path, clock)
    certificates.prepare()
    again, stop = configuration("MutatingWebhookConfiguration", {"service": SERVICE}), threading.Event()
    seen: list[bool] = []

    def look() -> None:
        seen.append(trusts(bundles(installed)[0], tmp_path))
        if len(seen) == 1:
            installed.do(Request(verb="delete", resource=MUTATING, name="mutating"))
            installed.do(Request(verb="create", resource=MUTATING, body=encode_value(again)))
            assert bundles(installed)[0] == b""
        else:
            stop.set()

    clock.look = look
    certificates.start(stop)
    assert seen == [True, True]
    assert clock.slept[0] == 10.0


def test_another_replica_s_authority_stays_trusted(installed: Requester, tmp_path: Path, clock: LookingClock) -> None:
    first, other = (keeper(installed, tmp_path / name, clock) for name in "ab")
    first.prepare()
    other.prepare()
    first.rotate(threading.Event())
    for bundle in bundles(installed):
        assert trusts(bundle, tmp_path / "a")
        assert trusts(bundle, tmp_path / "b")
        assert bundle.count(b"BEGIN") == 2


def test_concurrent_change_is_not_lost(installed: Requester) -> None:
    """A write is based on the last read; a conflicting write is read first."""
    targets, seen = Targets(validating=("validating",)), []

    def bundle(now: bytes) -> bytes:
        seen.append(now)
        if len(seen) == 2:  # behind our back, once
            inject_ca(installed, targets, lambda now: b"theirs")
        return now + b" ours"

    inject_ca(installed, targets, bundle)
    assert bundles(installed)[1:3] == [b"theirs ours"] * 2
    assert seen == [b"", b"", b"theirs", b"theirs"]


def test_server_names_are_the_hosts_of_the_targets(installed: Requester) -> None:
    assert server_names(installed, TARGETS) == ["webhook-service.system.svc", "h"]
    assert server_names(installed, Targets()) == []


def test_without_targets_the_certificate_is_for_localhost(
    installed: Requester, tmp_path: Path, clock: LookingClock
) -> None:
    SelfSignedCertificates(installed, tmp_path, Targets(), clock=clock).prepare()
    assert trusts((tmp_path / "ca.crt").read_bytes(), tmp_path, "localhost")
    assert not trusts((tmp_path / "ca.crt").read_bytes(), tmp_path, "webhook-service.system.svc")


def test_threads_of_the_manager_can_run_it(installed: Requester, tmp_path: Path) -> None:
    certificates = keeper(installed, tmp_path, SYSTEM_CLOCK)
    certificates.prepare()
    with Group().ending_within(20) as group:
        group.start(certificates.start, group.stop_event, name=certificates.name)
    assert (certificates.stage, certificates.needs_leader_election) == ("webhooks", False)
