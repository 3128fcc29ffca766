from datetime import UTC, datetime, timedelta
from pathlib import Path

from clientgo.clock import utc
from clientgo.envtest import Environment
from clientgo.kubernetes.types.core_v1 import ConfigMap, Event
from clientgo.manager import Manager, Options, Result
from clientgo.meta import ObjectMeta, ObjectName, replace
from clientgo.record import FakeRecorder
from clientgo.stop import Group
from clientgo.testing.client import FakeClient
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import eventually

from certs.types.certs_v1 import Certificate, CertificateSpec, CertificateStatus
from expiry import EXPIRES_SOON, NOTICE, ExpiryReconciler

NAME = ObjectName("default", "shop")
CLOCK = FakeClock()


def certificate(remaining: timedelta | None) -> Certificate:
    """Return a certificate that expires so long after `NOTICE`, or one that is not issued yet."""
    return Certificate(
        metadata=ObjectMeta(name="shop", namespace="default"),
        spec=CertificateSpec(secret_name="shop-tls", dns_names=["shop.example.com", "www.example.com"]),
        status=CertificateStatus(not_after=None if remaining is None else utc(CLOCK) + NOTICE + remaining),
    )


def annotations(client: FakeClient) -> dict[str, str]:
    return dict(client.get(Certificate, NAME).metadata.annotations)


def test_valid_certificate_is_reconciled_again_when_it_is_time_for_the_warning() -> None:
    client, recorder = FakeClient(certificate(timedelta(days=3))), FakeRecorder(10)
    assert ExpiryReconciler(client, recorder, clock=CLOCK).reconcile_request(NAME) == Result(requeue_after=3 * 86400)
    assert (annotations(client), recorder.drain()) == ({}, [])


def test_expiring_certificate_gets_one_event_and_an_annotation() -> None:
    client, recorder = FakeClient(certificate(timedelta())), FakeRecorder(10)
    for _ in range(2):
        ExpiryReconciler(client, recorder, clock=CLOCK).reconcile_request(NAME)
    [event] = recorder.drain()
    assert event.startswith("Warning ExpiresSoon not renewed, expires at")
    assert annotations(client).keys() == {EXPIRES_SOON}


def test_annotation_is_removed_after_the_renewal() -> None:
    client = FakeClient(certificate(timedelta()))
    ExpiryReconciler(client, clock=CLOCK).reconcile_request(NAME)
    renewed = certificate(timedelta(days=90)).status
    client.update_status(replace(client.get(Certificate, NAME), status=renewed))
    ExpiryReconciler(client, clock=CLOCK).reconcile_request(NAME)
    assert annotations(client) == {}


def test_config_map_has_the_hosts_of_a_certificate_that_is_not_issued_yet() -> None:
    client = FakeClient(certificate(None))
    assert ExpiryReconciler(client).reconcile_request(NAME) is None
    hosts = client.get(ConfigMap, ObjectName("default", "shop-hosts"))
    assert hosts.data == {"hosts": "shop.example.com\nwww.example.com"}


def test_warning_appears_in_a_cluster() -> None:
    with Environment(crd_paths=[Path(__file__).with_name("certificates.yaml")]) as config, Group() as group:
        manager = Manager(config, options=Options(name="expiry"))
        manager.add_reconciler(ExpiryReconciler)
        group.start(manager.run, group.stop_event, name="manager")
        assert manager.elected.wait(10)
        stored = manager.client.create(certificate(None))
        expired = CertificateStatus(not_after=datetime(2020, 1, 1, tzinfo=UTC))
        manager.client.update_status(replace(stored, status=expired))
        eventually(lambda: EXPIRES_SOON in manager.api_reader.get(Certificate, NAME).metadata.annotations)
        eventually(lambda: [event.reason for event in manager.api_reader.list(Event)], lambda r: r == ["ExpiresSoon"])
