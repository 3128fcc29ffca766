"""Webhooks called by the bundled server: generated manifests, kubectl and load."""

import threading
from collections.abc import Iterator

import pytest

from clientgo.errors import ApiError, InternalError, Invalid
from clientgo.manager import Manager, Options
from clientgo.meta import ObjectMeta
from clientgo.meta.codec import encode_value
from clientgo.rest.request import JSON_PATCH, Request
from clientgo.stop.lifecycle import Group
from clientgo.testing.eventually import eventually
from clientgo.webhook.injection import MUTATING, VALIDATING, Targets
from clientgo.webhook.rotation import SelfSignedCertificates
from tests.webhook.clustercases import (
    Cluster,
    cluster,
    kubectl,
    manifests,
    served,
    test_a_defaulted_field_appears_and_a_warning_is_printed,
    test_both_versions_are_read_and_written_and_nothing_is_lost,
    test_client_gets_the_causes_of_a_denial,
    test_dry_run_is_validated_and_defaulted_but_not_stored,
    test_kubectl_explains_each_version_of_a_kind_that_is_converted,
    test_kubectl_shows_the_validators_message,
    test_webhook_gets_the_user,
)
from tests.webhook.homes import GROUP, Home, HomeSpec, running

MUTATING_NAME, VALIDATING_NAME = "mutating-webhook-configuration", "validating-webhook-configuration"

# The fixtures and scenarios.
__all__ = [
    "manifests",
    "cluster",
    "served",
    "kubectl",
    "test_kubectl_shows_the_validators_message",
    "test_a_defaulted_field_appears_and_a_warning_is_printed",
    "test_dry_run_is_validated_and_defaulted_but_not_stored",
    "test_client_gets_the_causes_of_a_denial",
    "test_webhook_gets_the_user",
    "test_both_versions_are_read_and_written_and_nothing_is_lost",
    "test_kubectl_explains_each_version_of_a_kind_that_is_converted",
]

pytestmark = pytest.mark.e2e


@pytest.fixture
def unasked_of_deletions(cluster: Cluster) -> Iterator[None]:
    """Remove DELETE from the validating webhook's rules for the duration of a test."""

    def operations(*words: str) -> None:
        patch = encode_value([{"op": "replace", "path": "/webhooks/0/rules/0/operations", "value": words}])
        sent = Request(verb="patch", resource=VALIDATING, name=VALIDATING_NAME, body=patch, content_type=JSON_PATCH)
        cluster.client.do(sent)

    operations("CREATE", "UPDATE")
    yield
    operations("CREATE", "UPDATE", "DELETE")


@pytest.mark.feature("A-16")
@pytest.mark.usefixtures("unasked_of_deletions")
def test_deletion_is_validated_only_if_the_rules_include_it(served: Cluster) -> None:
    served.v1.create(Home(ObjectMeta(name="monument"), HomeSpec(owner="nobody")))
    served.v1.delete("monument")
    assert [request.operation for request in served.validator.asked] == ["CREATE"]


@pytest.fixture
def lenient(cluster: Cluster) -> Iterator[None]:
    """Set the webhooks' failurePolicy to Ignore for the duration of a test."""

    def policy(word: str) -> None:
        patch = encode_value([{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": word}])
        for resource, name in ((MUTATING, MUTATING_NAME), (VALIDATING, VALIDATING_NAME)):
            client = cluster.client
            client.do(Request(verb="patch", resource=resource, name=name, body=patch, content_type=JSON_PATCH))

    policy("Ignore")
    yield
    policy("Fail")


def test_unreachable_webhook_fails_the_write(cluster: Cluster) -> None:
    with pytest.raises(InternalError, match=r'failed calling webhook "mhome-v1.kb.io".*connection refused'):
        cluster.v1.create(Home(ObjectMeta(name="away"), HomeSpec(owner="eve")))


@pytest.mark.usefixtures("lenient")
def test_unreachable_webhook_is_ignored_with_failure_policy_ignore(cluster: Cluster) -> None:
    with running(cluster.server()):  # a server that answers 404 where the others should be
        built = cluster.v1.create(Home(ObjectMeta(name="away"), HomeSpec(owner="")))
        cluster.v1.delete("away")
    assert built.spec.rooms is None


@pytest.mark.feature("A-15")
def test_certificates_are_replaced_under_load_without_one_failed_admission(served: Cluster) -> None:
    targets = Targets(mutating=(MUTATING_NAME,), validating=(VALIDATING_NAME,), crds=(f"homes.{GROUP}",))
    # The bundled server heeds a new configuration with the next write; a real one is given some seconds.
    certificates = SelfSignedCertificates(served.client, served.install.cert_dir, targets, overlap_seconds=0.2)
    certificates.prepare()
    admitted, failed, clients = [0, 0, 0], list[ApiError](), Group()

    def load(number: int) -> None:
        while not clients.stop_event.is_set():
            try:
                built = served.v1.create(Home(ObjectMeta(generate_name="load-"), HomeSpec(owner="ann")))
                served.v2.delete(built.metadata.name)
                admitted[number] += 1
            except ApiError as error:
                failed.append(error)

    rendered = set()
    with clients.ending_within(20):
        for number in range(len(admitted)):
            clients.start(load, number, name=f"load-{number}")
        for _ in range(4):
            before = list(admitted)
            certificates.rotate(threading.Event())
            rendered.add((served.install.cert_dir / "tls.crt").read_bytes())
            # Each client creates objects meanwhile; on a busy machine a rotation takes less time than one object.
            eventually(lambda: all(now > then for now, then in zip(admitted, before, strict=True)))  # noqa: B023
    assert failed == []
    assert len(rendered) == 4
    # One whose kind's definition changes meanwhile is asked about again.
    assert len(served.validator.asked) >= 2 * sum(admitted)


def test_manager_runs_the_server_as_one_of_its_own(cluster: Cluster) -> None:
    manager = Manager(cluster.config, options=Options(name="homes", health_probe_bind_address="127.0.0.1:0"))
    server = cluster.webhooks()
    manager.add(server)
    manager.add_readyz_check("webhooks", server.started_checker())
    with Group().ending_within(20) as group:
        group.start(manager.run, group.stop_event, name="manager")
        assert server.ready.wait(10)
        with pytest.raises(Invalid, match="a home needs an owner"):
            cluster.v1.create(Home(ObjectMeta(name="x"), HomeSpec()))
    assert not server.ready.is_set()
