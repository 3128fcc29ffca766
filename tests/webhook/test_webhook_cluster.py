"""Webhooks called by the bundled server: generated manifests, kubectl and load."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from clientgo.envtest import BundledServer, Environment, Webhooks
from clientgo.errors import ApiError, InternalError, Invalid
from clientgo.lifecycle import Group
from clientgo.manager import Manager, Options
from clientgo.meta import GroupVersionResource, ObjectMeta, to_dict
from clientgo.meta.codec import encode_value
from clientgo.rest import Config, RESTClient
from clientgo.rest.request import JSON_PATCH, Request
from clientgo.testing.eventually import eventually
from clientgo.typed.client import StatusClient, TypedClient
from clientgo.webhook import WebhookServer, webhook_managed_by
from clientgo.webhook.injection import MUTATING, VALIDATING, Targets
from clientgo.webhook.rotation import SelfSignedCertificates
from tests.e2e.kubectl import Kubectl
from tests.webhook.homes import (
    GROUP,
    Home,
    HomeDefaulter,
    HomeSpec,
    HomeSpecV2,
    HomeV2,
    HomeValidator,
    grown,
    home,
    running,
    shrunk,
)

ROOT = Path(__file__).parent.parent.parent
MUTATING_NAME, VALIDATING_NAME = "mutating-webhook-configuration", "validating-webhook-configuration"

pytestmark = pytest.mark.e2e


class Homes(StatusClient[Home]):
    kind = Home
    resource = GroupVersionResource(GROUP, "v1", "homes")


class HomesV2(TypedClient[HomeV2]):
    kind = HomeV2
    resource = GroupVersionResource(GROUP, "v2", "homes")


class Cluster:
    """API server that calls webhooks of this process, and the requests they received."""

    def __init__(self, environment: Environment, config: Config, client: RESTClient) -> None:
        assert environment.webhooks is not None
        self.environment, self.config, self.client = environment, config, client
        self.install = environment.webhooks
        self.defaulter, self.validator = HomeDefaulter(), HomeValidator()
        self.v1, self.v2 = Homes(client, "default"), HomesV2(client, "default")

    def server(self) -> WebhookServer:
        """Run a server with conversion, at the address known to the API server."""
        install = self.install
        server = WebhookServer(port=install.port, host=install.host, cert_dir=install.cert_dir)
        webhook_managed_by(server).for_(HomeV2).with_conversion(Home, to_hub=grown, from_hub=shrunk).complete()
        return server

    def webhooks(self) -> WebhookServer:
        """Run a server with all webhooks of the kind."""
        server = self.server()
        webhook_managed_by(server).for_(Home).with_defaulter(self.defaulter).with_validator(self.validator).complete()
        return server


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the CRD and the webhook configurations generated from tests/webhook/homes.py."""
    folder = tmp_path_factory.mktemp("manifests")
    here = ("--crd-dir", "crd", "--webhook-dir", "webhook", "--generators", "crd,webhook", "--root", str(folder))
    module = ("--input-module", "tests.webhook.homes", "--declarations", "tests.webhook.homes")
    command = [sys.executable, "-m", "clientgo.codegen", *module, *here]
    subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, timeout=50)
    return folder


@pytest.fixture(scope="module")
def cluster(manifests: Path) -> Iterator[Cluster]:
    crds, hooks = manifests / "crd" / f"{GROUP}_homes.yaml", manifests / "webhook" / "manifests.yaml"
    kubeconfig = manifests / "kubeconfig"
    environment = Environment(crd_paths=[crds], webhooks=Webhooks([hooks]), server=BundledServer(kubeconfig=kubeconfig))
    with environment as config, closing(RESTClient(config)) as client:
        yield Cluster(environment, config, client)


@pytest.fixture
def served(cluster: Cluster) -> Iterator[Cluster]:
    """Run the cluster's webhooks, and delete all Homes afterwards."""
    cluster.defaulter.asked.clear()
    cluster.validator.asked.clear()
    with running(cluster.webhooks()):
        yield cluster
        cluster.v2.delete_collection()


@pytest.fixture
def kubectl(served: Cluster, manifests: Path, tmp_path: Path) -> Kubectl:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    environ = {**os.environ, "HOME": str(tmp_path), "KUBECONFIG": str(manifests / "kubeconfig")}
    return Kubectl(served.environment, environ, "default")


@pytest.mark.feature("A-16")
@pytest.mark.feature("A-35")
def test_kubectl_shows_the_validators_message(kubectl: Kubectl) -> None:
    said = kubectl.apply(home(rooms=0), code=1)
    # How kubectl prints a 422 with its causes.
    assert said == (
        'The Home "villa" is invalid: \n* spec.owner: Required value: a home needs an owner\n'
        "* spec.rooms: Invalid value: 0: must be at least 1\n"
    )
    assert kubectl.apply(home(owner="ann", rooms=2)) == "home.ajd.my.domain/villa created\n"
    said = kubectl.apply(home(owner="ann", rooms=1), code=1)
    assert 'admission webhook "vhome-v1.kb.io" denied the request: a home does not shrink' in said
    assert "Warning: build another one" in kubectl.apply(home(owner="ann", rooms=1), code=1)
    kubectl.apply(home("monument", owner="nobody"))
    assert "denied the request: this one is a monument" in kubectl.run("delete", "homes", "monument", code=1)
    # The hub's client asks for v2, which the webhooks see as v1 all the same.
    patch = '[{"op":"replace","path":"/spec/owners","value":["eve"]}]'
    kubectl.run("patch", "homes.v2.ajd.my.domain", "monument", "--type=json", "-p", patch)


@pytest.mark.feature("A-15")
@pytest.mark.feature("A-35")
def test_a_defaulted_field_appears_and_a_warning_is_printed(kubectl: Kubectl) -> None:
    kubectl.apply(home(owner="ann"))
    found = kubectl.read("homes.v1.ajd.my.domain", "villa")
    assert found["spec"] == {"owner": "ann", "rooms": 1, "heated": True}
    assert kubectl.apply(home(owner="ann")) == "home.ajd.my.domain/villa unchanged\n"
    assert "Warning: that is a large home" in kubectl.apply(home("palace", owner="ann", rooms=101))


@pytest.mark.feature("A-16")
def test_dry_run_is_validated_and_defaulted_but_not_stored(kubectl: Kubectl, served: Cluster) -> None:
    said = kubectl.apply(home(owner="ann"), "--dry-run=server", "-o", "jsonpath={.spec.rooms}")
    assert said == "1"
    assert "a home needs an owner" in kubectl.apply(home(), "--dry-run=server", code=1)
    assert "NotFound" in kubectl.run("get", "homes", "villa", code=1)
    assert {request.dry_run for request in served.validator.asked} == {True}


def test_client_gets_the_causes_of_a_denial(served: Cluster) -> None:
    with pytest.raises(Invalid) as caught:
        served.v1.create(Home(ObjectMeta(name="x"), HomeSpec(rooms=0)))
    assert [cause.field for cause in caught.value.details.causes] == ["spec.owner", "spec.rooms"]
    assert caught.value.code == 422


@pytest.mark.feature("A-15")
def test_webhook_gets_the_user(served: Cluster) -> None:
    served.v1.create(Home(ObjectMeta(name="x"), HomeSpec(owner="ann")))
    [request] = served.validator.asked
    assert (request.operation, request.name, request.namespace) == ("CREATE", "x", "default")
    assert request.user_info.username
    assert request.object["spec"]["rooms"] == 1  # the validator is asked about what the defaulter made


@pytest.mark.feature("A-18")
def test_both_versions_are_read_and_written_and_nothing_is_lost(served: Cluster) -> None:
    made = served.v1.create(Home(ObjectMeta(name="x", labels={"a": "b"}), HomeSpec(owner="ann & bob", heated=False)))
    as_v2 = served.v2.get("x")
    assert as_v2.spec == HomeSpecV2(owners=("ann", "bob"), rooms=1)
    assert to_dict(as_v2)["metadata"].items() >= {"uid": made.metadata.uid, "labels": {"a": "b"}}.items()
    assert served.v1.get("x") == made
    served.v2.create(HomeV2(ObjectMeta(name="y"), HomeSpecV2(owners=("eve",), rooms=3)))
    assert served.v1.get("y").spec == HomeSpec(owner="eve", rooms=3)
    assert [one.metadata.name for one in served.v1.list().items] == ["x", "y"]
    assert [one.spec.owners for one in served.v2.list().items] == [("ann", "bob"), ("eve",)]


def test_kubectl_explains_each_version_of_a_kind_that_is_converted(kubectl: Kubectl) -> None:
    assert "owners\t<[]string>" in kubectl.run("explain", "homes.spec", f"--api-version={GROUP}/v2")
    assert "owner\t<string>" in kubectl.run("explain", "homes.spec", f"--api-version={GROUP}/v1")


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
        made = cluster.v1.create(Home(ObjectMeta(name="away"), HomeSpec(owner="")))
        cluster.v1.delete("away")
    assert made.spec.rooms is None


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
                made = served.v1.create(Home(ObjectMeta(generate_name="load-"), HomeSpec(owner="ann")))
                served.v2.delete(made.metadata.name)
                admitted[number] += 1
            except ApiError as error:
                failed.append(error)

    shown = set()
    with clients.ending_within(20):
        for number in range(len(admitted)):
            clients.start(load, number, name=f"load-{number}")
        for _ in range(4):
            before = list(admitted)
            certificates.rotate(threading.Event())
            shown.add((served.install.cert_dir / "tls.crt").read_bytes())
            # Each client creates objects meanwhile; on a busy machine a rotation takes less time than one object.
            eventually(lambda: all(now > then for now, then in zip(admitted, before, strict=True)))  # noqa: B023
    assert failed == []
    assert len(shown) == 4
    # One whose kind's definition changes meanwhile is asked about again.
    assert len(served.validator.asked) >= 2 * sum(admitted)


def test_a_manager_runs_the_server_as_one_of_its_own(cluster: Cluster) -> None:
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
